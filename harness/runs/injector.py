"""The targets of faults, and what faults do to a run, and when; each is noted in the trace.

Names in faults are looked up in the plan of a run. `random` is any target, and a name with `*` any that it
fits: drawn anew each time the fault happens, by the scenario's seed.
"""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from random import Random
from time import time_ns
from typing import Final

import attrs
import trio
from attrs import define, field

from broker.trace import RowFiles
from harness.faults import (
    BROKER,
    CLIENT,
    LINK,
    RANDOM,
    SUBSCRIPTION,
    FaultError,
    InjectedFault,
    LinkTarget,
    kind_of,
    parse,
)
from harness.runs.brokers import Fleet
from harness.runs.crews import Crews
from harness.runs.plan import Plan
from harness.runs.wiring import Wiring

_SHOWN: int = 8

FOR_EVER_S: Final = 1e9
"""Beyond the end of any run."""

FINAL: Final = "crash"
"""The kind of fault behind which a broker stays dead."""


@attrs.frozen
class Targeted:
    """A fault, with all its possible targets."""

    fault: InjectedFault
    candidates: tuple[str | LinkTarget, ...]

    def draw(self, random: Random) -> str | LinkTarget:
        """Return whom it hits this time."""
        return self.candidates[0] if len(self.candidates) == 1 else random.choice(self.candidates)


def read_faults(texts: Sequence[str], plan: Plan) -> tuple[Targeted, ...]:
    """Read faults and look up their targets. Raises `FaultError`."""
    return tuple(_targeted(parse(text), plan) for text in texts)


def spoilt_links(faults: Iterable[Targeted]) -> set[LinkTarget]:
    """Return the links that faults may hit."""
    return {each for fault in faults for each in fault.candidates if isinstance(each, LinkTarget)}


def _targeted(fault: InjectedFault, plan: Plan) -> Targeted:
    target = kind_of(fault).target
    first = fault.targets[0]
    if target == BROKER:
        return Targeted(fault, tuple(_fitting(fault, 0, list(plan.uplinks), "broker")))
    if target == SUBSCRIPTION:
        names = [
            role for job in plan.jobs if job.role == "subscriber" for seat in job.seats for role in seat.roles
        ]
        return Targeted(fault, tuple(_fitting(fault, 0, names, "subscription")))
    if target == CLIENT:
        seats = plan.seats
        names = _fitting(fault, 0, list(seats), "client")
        return Targeted(fault, tuple(LinkTarget(seats[each].name, seats[each].broker) for each in names))
    assert target == LINK
    if len(fault.targets) == 1:
        lower = [name for name, above in plan.uplinks.items() if above is not None]
        return Targeted(
            fault,
            tuple(LinkTarget(each, plan.uplinks[each] or "") for each in _fitting(fault, 0, lower, "link")),
        )
    return Targeted(fault, (_link_between(fault, first, fault.targets[1], plan),))


def _link_between(fault: InjectedFault, one: str, other: str, plan: Plan) -> LinkTarget:
    """The link between two brokers, whichever is above."""
    for place, name in enumerate((one, other)):
        _fitting(fault, place, list(plan.uplinks), "broker")
        if name not in plan.uplinks:
            raise _error(fault, place, "expected the name of one broker")
    for lower, upper in ((one, other), (other, one)):
        if plan.uplinks[lower] == upper or upper in plan.fallbacks(lower):
            return LinkTarget(lower, upper)
    raise _error(fault, 1, f"there is no link between {one} and {other}")


def _fitting(fault: InjectedFault, place: int, names: Sequence[str], what: str) -> list[str]:
    wanted = fault.targets[place]
    pattern = "*" if wanted == RANDOM else wanted
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise _error(fault, place, f"no {what} is called that; there are {shown or 'none'}")
    return found


def _error(fault: InjectedFault, place: int, text: str) -> FaultError:
    word = len(fault.words) + place + 1
    return FaultError(f"fault {fault.text!r}: at word {word}, {fault.targets[place]!r}: {text}")


@define(eq=False)
class Injector:
    """Injects faults into real processes; `report` is called with each, in words."""

    fleet: Fleet
    wiring: Wiring
    crews: Crews
    rows: RowFiles
    random: Random
    report: Callable[[str], None]
    count: int = 0
    _owed: dict[str, str] = field(factory=dict)

    async def follow(self, targeted: Targeted) -> None:
        """Let one fault happen at its time, or again and again at its times."""
        fault = targeted.fault
        if fault.at_s is not None:
            await trio.sleep(fault.at_s)
            await self._inject(targeted)
            return
        assert fault.every_s is not None
        begun_s = trio.current_time()
        due_s = fault.from_s or fault.every_s
        async with trio.open_nursery() as nursery:
            while fault.until_s is None or due_s <= fault.until_s:
                await trio.sleep_until(begun_s + due_s)
                nursery.start_soon(self._inject, targeted)
                due_s += fault.every_s

    async def _inject(self, targeted: Targeted) -> None:
        target = targeted.draw(self.random)
        await kind_of(targeted.fault).inject(self, targeted.fault, target)

    def note(self, kind: str, target: str, detail: str) -> None:
        """Record a fault at the time of the call."""
        self.count += 1
        self.rows.append(time_ns(), kind, target, detail)
        self.rows.flush()
        self.report(f"{kind} {target}: {detail}" if detail else f"{kind} {target}")

    async def relent(self) -> None:
        """Undo every fault: messages on their way must arrive before a run can be judged."""
        for name, broker in self.fleet.brokers.items():
            if broker.is_paused:
                await self.resume(name)
        for link in self.wiring.cut_links():
            await self.restore(link, "cut link", link.name)
        for name, kind in list(self._owed.items()):
            await self.fleet.brokers[name].ended.wait()
            await self.start(name, kind)

    async def sleep(self, seconds: float | None) -> None:
        """Wait so long; for None, for ever."""
        await trio.sleep(FOR_EVER_S if seconds is None else seconds)

    async def kill(self, broker: str, kind: str, detail: str) -> bool:
        """End a broker as a crash does; False if it is not running."""
        if not self.fleet.kill(broker):
            return False
        if kind != FINAL:
            self._owed[broker] = kind
        self.note(kind, broker, detail)
        await self.fleet.brokers[broker].ended.wait()
        return True

    async def start(self, broker: str, kind: str) -> None:
        """Start a broker again, unless another fault has done so."""
        self._owed.pop(broker, None)
        if self.fleet.brokers[broker].pid is None:
            self.note(kind, broker, "started again")
            await self.fleet.start(broker)

    async def pause(self, broker: str) -> None:
        """Stop a broker where it is."""
        if self.fleet.pause(broker):
            self.note("pause", broker, "SIGSTOP")

    async def resume(self, broker: str) -> None:
        """Let a stopped broker go on."""
        if self.fleet.resume(broker):
            self.note("resume", broker, "SIGCONT")

    async def cut(self, link: LinkTarget, kind: str, target: str) -> None:
        """Reset the connections of a link, now and until it is restored."""
        await self.wiring.cut(link)
        self.note(kind, target, "cut")

    async def restore(self, link: LinkTarget, kind: str, target: str) -> None:
        """Let a cut link work again."""
        await self.wiring.restore(link)
        self.note(kind, target, "mended")

    async def shape(self, link: LinkTarget, delay_s: float | None, mbit: float | None) -> None:
        """Change a link's delay and bandwidth, or restore those of the scenario."""
        await self.wiring.shape(link, delay_s, mbit)
        is_back = delay_s is None and mbit is None
        words = [f"{1000 * delay_s:g} ms" if delay_s is not None else "", f"{mbit:g} mbit" if mbit else ""]
        self.note("slow link", link.name, "as before" if is_back else " ".join(filter(None, words)))

    async def slow(self, subscription: str, per_second: float, for_s: float | None) -> None:
        """Let a subscriber read so slowly."""
        order = [subscription, per_second, FOR_EVER_S if for_s is None else for_s]
        await self.crews.order("subscriber", slow=order)
        lasts = "" if for_s is None else f" for {for_s:g} s"
        self.note("slow subscriber", subscription, f"{per_second:g} deliveries a second{lasts}")
