"""Faults: failures that a run injects on purpose, at known times.

    crash edge-3 at 10s
    kill random every 3s from 5s until 60s

First the kind, one or two words; then its targets; then clauses, each a word and a value, in any order. An
error says which word it is about, and what may stand there. Adding a kind is adding a function that injects
it into a running overlay, and an entry to `KINDS`.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

import attrs

from broker.errors import ConcordError

RANDOM: Final = "random"
"""As a target: whichever chance, from the scenario's seed, points to."""

BROKER: Final = "broker"
LINK: Final = "link"
CLIENT: Final = "client"
SUBSCRIPTION: Final = "subscription"
RESTART_AFTER_S: Final = 1.0
"""What a supervisor takes to notice and act."""

KILL_AFTER_S: Final = 0.5
"""Shorter than a supervisor takes, so that under `every 1s` brokers are up about half of the time."""

DISCONNECT_FOR_S: Final = 0.2
"""Long enough for both ends to notice."""

SLOW_LINK_DELAY_S: Final = 0.1
"""Across an ocean."""

SLOW_PER_SECOND: Final = 10.0
"""A program that waits for a remote database with each delivery."""

_SECONDS: Final[Mapping[str, float]] = {"ms": 1e-3, "s": 1.0, "m": 60.0}
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)([a-z/]*)")


class FaultError(ConcordError):
    """A fault that cannot be read; the text shows the word."""


@attrs.frozen
class Clause:
    """A clause that a kind knows: its unit as it is read, and its value if it is left out."""

    unit: str
    default: float | None = None


@attrs.frozen
class FaultForm:
    """What a kind's fault looks like: how many targets it may have, and which clauses beside the time."""

    words: tuple[str, ...]
    targets: tuple[int, int]
    clauses: Mapping[str, Clause] = attrs.field(factory=dict)


@attrs.frozen
class InjectedFault:
    """A fault as it was asked for. It happens at one time, or every so often between two."""

    text: str
    words: tuple[str, ...]
    targets: tuple[str, ...]
    at_s: float | None
    every_s: float | None
    from_s: float
    until_s: float | None
    values: Mapping[str, float | None]

    def value(self, clause: str) -> float | None:
        """Return what a clause says, or what it says if it is left out."""
        return self.values[clause]


def _seconds(word: str) -> float | None:
    found = _NUMBER.fullmatch(word)
    if found is None or found[2] not in _SECONDS:
        return None
    return float(found[1]) * _SECONDS[found[2]]


def _measured(unit: str) -> Callable[[str], float | None]:
    def read(word: str) -> float | None:
        found = _NUMBER.fullmatch(word)
        return float(found[1]) if found is not None and found[2] == unit else None

    return read


_UNITS: Final[Mapping[str, tuple[Callable[[str], float | None], str]]] = {
    "seconds": (_seconds, "a time such as 10s, 500ms or 2m"),
    "mbit": (_measured("mbit"), "a bandwidth such as 1mbit"),
    "rate": (_measured("/s"), "a rate such as 10/s"),
}
_TIMES: Final[Mapping[str, Clause]] = {name: Clause("seconds") for name in ("at", "every", "from", "until")}


def _parse(text: str, forms: Sequence[FaultForm]) -> InjectedFault:
    """Read a fault. Raises `FaultError`."""
    words = text.split()
    form = _form(text, words, forms)
    clauses = {**_TIMES, **form.clauses}
    place = len(form.words)
    targets: list[str] = []
    while place < len(words) and words[place] not in clauses and len(targets) < form.targets[1]:
        targets.append(words[place])
        place += 1
    if len(targets) < form.targets[0]:
        raise _error(text, words, place, "expected a name")
    values = _clauses(text, words, place, clauses)
    _check_times(text, words, values)
    return InjectedFault(
        text,
        form.words,
        tuple(targets),
        values.get("at"),
        values.get("every"),
        values.get("from", 0.0),
        values.get("until"),
        {name: values.get(name, clause.default) for name, clause in form.clauses.items()},
    )


def _form(text: str, words: Sequence[str], forms: Sequence[FaultForm]) -> FaultForm:
    for form in forms:
        if tuple(words[: len(form.words)]) == form.words:
            return form
    known = ", ".join(" ".join(form.words) for form in forms)
    begun = [form for form in forms if words and form.words[0] == words[0]]
    raise _error(text, words, 1 if begun else 0, f"expected one of: {known}")


def _clauses(text: str, words: Sequence[str], place: int, clauses: Mapping[str, Clause]) -> dict[str, float]:
    values: dict[str, float] = {}
    while place < len(words):
        name = words[place]
        if name not in clauses:
            raise _error(text, words, place, f"expected one of: {', '.join(clauses)}")
        if name in values:
            raise _error(text, words, place, f"expected {name!r} only once")
        read, allowed = _UNITS[clauses[name].unit]
        value = read(words[place + 1]) if place + 1 < len(words) else None
        if value is None:
            raise _error(text, words, place + 1, f"expected {allowed}")
        values[name] = value
        place += 2
    return values


def _check_times(text: str, words: Sequence[str], values: Mapping[str, float]) -> None:
    if ("at" in values) == ("every" in values):
        raise _error(text, words, len(words), "expected either 'at' or 'every' with a time")
    if values.get("every") == 0:
        raise _error(text, words, words.index("every") + 1, "expected a time of more than 0")
    for name in ("from", "until"):
        if name in values and "at" in values:
            raise _error(text, words, words.index(name), f"{name!r} belongs to 'every', not to 'at'")


def _error(text: str, words: Sequence[str], place: int, expected: str) -> FaultError:
    found = f"word {place + 1}, {words[place]!r}" if place < len(words) else "the end"
    return FaultError(f"fault {text!r}: at {found}: {expected}")


LASTS: Final[Mapping[str, Clause]] = {"for": Clause("seconds")}
"""`for 2s`; left out, a fault lasts to the end of the run."""


@attrs.frozen
class LinkTarget:
    """A link that faults can be done to: from the lower end, a broker or a client, to the upper one."""

    lower: str
    upper: str

    @property
    def name(self) -> str:
        """As the trace and the shaper know it."""
        return f"{self.lower}>{self.upper}"


class FaultField(Protocol):
    """What faults may do to a run. Every action is noted in the trace with its time."""

    async def sleep(self, seconds: float | None) -> None:
        """Wait so long; for None, for ever."""

    async def kill(self, broker: str, kind: str, detail: str) -> bool:
        """End a broker as a crash does; False if it is not running."""

    async def start(self, broker: str, kind: str) -> None:
        """Start a broker again."""

    async def pause(self, broker: str) -> None:
        """Stop a broker where it is."""

    async def resume(self, broker: str) -> None:
        """Let a stopped broker go on."""

    async def cut(self, link: LinkTarget, kind: str, target: str) -> None:
        """Reset the connections of a link, now and until it is restored."""

    async def restore(self, link: LinkTarget, kind: str, target: str) -> None:
        """Let a cut link work again."""

    async def shape(self, link: LinkTarget, delay_s: float | None, mbit: float | None) -> None:
        """Change a link's delay and bandwidth; None for both restores those of the scenario."""

    async def slow(self, subscription: str, per_second: float, for_s: float | None) -> None:
        """Let a subscriber read so slowly."""


Inject = Callable[[FaultField, InjectedFault, "str | LinkTarget"], Awaitable[None]]
"""A fault is injected into a broker or subscription by its name, and into a link or a client's link."""


@attrs.frozen
class Kind:
    """One kind of fault. `target` describes its target, `example` is a whole fault."""

    words: tuple[str, ...]
    about: str
    example: str
    target: str
    inject: Inject = attrs.field(repr=False)
    clauses: Mapping[str, Clause] = attrs.field(factory=dict)

    @property
    def form(self) -> FaultForm:
        """Return the form of a fault. A link may be named by both its ends."""
        return FaultForm(self.words, (1, 2 if self.target == LINK else 1), self.clauses)

    @property
    def usage(self) -> str:
        """Return the form of a fault with its units, for people."""
        targets = {BROKER: "BROKER", LINK: "BROKER [BROKER]", CLIENT: "CLIENT", SUBSCRIPTION: "SUBSCRIPTION"}
        values = {"seconds": "TIME", "mbit": "N'mbit'", "rate": "N/s"}
        words = [*self.words, targets[self.target], "at TIME"]
        return " ".join([*words, *(f"[{name} {values[each.unit]}]" for name, each in self.clauses.items())])


async def _crash(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    del fault
    assert isinstance(target, str)
    await field.kill(target, "crash", "SIGKILL")


async def _restart(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    assert isinstance(target, str)
    after_s = fault.value("after")
    await field.kill(target, "restart", f"SIGKILL, again after {after_s:g} s")
    await field.sleep(after_s)
    await field.start(target, "restart")


async def _kill(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    assert isinstance(target, str)
    after_s = fault.value("after")
    if await field.kill(target, "kill", f"SIGKILL, again after {after_s:g} s"):
        await field.sleep(after_s)
        await field.start(target, "kill")


async def _pause(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    assert isinstance(target, str)
    await field.pause(target)
    if fault.value("for") is not None:
        await field.sleep(fault.value("for"))
        await field.resume(target)


async def _resume(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    del fault
    assert isinstance(target, str)
    await field.resume(target)


async def _cut_link(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    assert isinstance(target, LinkTarget)
    await field.cut(target, "cut link", target.name)
    if fault.value("for") is not None:
        await field.sleep(fault.value("for"))
        await field.restore(target, "cut link", target.name)


async def _slow_link(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    assert isinstance(target, LinkTarget)
    await field.shape(target, fault.value("to"), fault.value("limit"))
    if fault.value("for") is not None:
        await field.sleep(fault.value("for"))
        await field.shape(target, None, None)


async def _slow_subscriber(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    assert isinstance(target, str)
    per_second = fault.value("to")
    assert per_second is not None
    await field.slow(target, per_second, fault.value("for"))


async def _disconnect_client(field: FaultField, fault: InjectedFault, target: str | LinkTarget) -> None:
    assert isinstance(target, LinkTarget)
    await field.cut(target, "disconnect client", target.lower)
    await field.sleep(fault.value("for"))
    await field.restore(target, "disconnect client", target.lower)


KINDS: Final[tuple[Kind, ...]] = (
    Kind(("crash",), "kill a broker; it stays dead", "crash edge-3 at 10s", BROKER, _crash),
    Kind(
        ("restart",),
        "kill a broker and start it again, with the same name, port and journal",
        "restart core-2 at 10s after 5s",
        BROKER,
        _restart,
        {"after": Clause("seconds", RESTART_AFTER_S)},
    ),
    Kind(
        ("kill",),
        "kill a broker if it is running, and start it again; for faults that come `every` so often",
        "kill random every 3s",
        BROKER,
        _kill,
        {"after": Clause("seconds", KILL_AFTER_S)},
    ),
    Kind(
        ("pause",), "stop a broker where it is (SIGSTOP)", "pause edge-2 at 5s for 3s", BROKER, _pause, LASTS
    ),
    Kind(("resume",), "let a paused broker go on (SIGCONT)", "resume edge-2 at 8s", BROKER, _resume),
    Kind(
        ("cut", "link"),
        "reset a link between two brokers, and keep it from coming back",
        "cut link edge-3 at 10s for 2s",
        LINK,
        _cut_link,
        LASTS,
    ),
    Kind(
        ("slow", "link"),
        "give a link another delay and, if asked for, a bandwidth",
        "slow link core-1 core-2 at 5s to 80ms limit 1mbit for 10s",
        LINK,
        _slow_link,
        {"to": Clause("seconds", SLOW_LINK_DELAY_S), "limit": Clause("mbit"), **LASTS},
    ),
    Kind(
        ("slow", "subscriber"),
        "let a subscriber read only so many deliveries a second; 0/s is none",
        "slow subscriber sub-3 at 5s to 10/s for 20s",
        SUBSCRIPTION,
        _slow_subscriber,
        {"to": Clause("rate", SLOW_PER_SECOND), **LASTS},
    ),
    Kind(
        ("disconnect", "client"),
        "reset the connection of a publisher or subscriber, and keep it away for a while",
        "disconnect client pub-4 at 6s for 2s",
        CLIENT,
        _disconnect_client,
        {"for": Clause("seconds", DISCONNECT_FOR_S)},
    ),
)
"""In the order in which `concord harness faults` lists them."""

_BY_WORDS: Final[Mapping[tuple[str, ...], Kind]] = {kind.words: kind for kind in KINDS}


def parse(text: str) -> InjectedFault:
    """Read a fault, as `--fault` and scenarios have it. Raises `FaultError`."""
    return _parse(text, [kind.form for kind in KINDS])


def kind_of(fault: InjectedFault) -> Kind:
    """Return the kind that a fault is of."""
    return _BY_WORDS[fault.words]
