"""A scenario in the simulator: the same overlay, clients and faults, as whole brokers in simulated time.

Time is that of the scenario. Connections are as slow as drawn from its seed, up to a tenth of a second, so
that much is under way at once; no two runs of one seed differ.

What has no meaning there is left out: rates of subscribers, delays, payloads, and what is paused or slow.
"""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Final

from attrs import define, field, frozen

from harness.faults import BROKER, LINK, FaultError, InjectedFault, LinkTarget, kind_of
from harness.runs.directory import SCHEDULE_FILE
from harness.runs.injector import Targeted, read_faults
from harness.runs.plan import Plan, due_times, plan_of, publisher_seats, subscriber_seats
from harness.scenarios import Scenario, ScenarioError
from harness.scenarios.interests import groups
from harness.simulator.interests import KINDS
from harness.whole.cables import CableShape
from harness.whole.scenario import Stage
from ordering import plugins

FAR: Final = CableShape(
    latency_s=0.005,
    slow_part=0.3,
    slow_factor=10.0,
    cuts=0.0,
    crumbs=0.0,
    partial=0.0,
    capacity_bytes=1 << 20,
)
"""Most connections take a few milliseconds, some ten times as long: what is published at one time crosses."""

PUBLICATIONS_MAX: Final = 2_000
"""The verdict compares every pair of subscriptions; beyond this a real run is quicker."""


@frozen
class Simulated:
    """The result of a simulated run. Its schedule is a scenario file of the simulator."""

    publications: int
    deliveries: int
    faults: int
    violations: tuple[tuple[str, str], ...]
    schedule: Path


def simulate(scenario: Scenario, ordering: str, folder: Path) -> Simulated:
    """Perform a scenario in the simulator, judge it, and write its schedule down.

    Raises:
        ScenarioError: it cannot be performed there.
        FaultError: a fault has no meaning there.
    """
    if scenario.filters.kind != "overlap" or scenario.publishers.rate == "flood":
        raise ScenarioError('the simulator takes filters.kind = "overlap", and any rate but "flood"')
    plan = plan_of(scenario)
    options = {"sequencer": plan.root} if ordering == "sequencer" else {}
    stage = Stage(plugins.load(ordering, options), str(scenario.seed), FAR)
    performance = _Performance(scenario, plan, stage)
    performance.run()
    faults = stage.judged()
    path = folder / SCHEDULE_FILE
    path.write_text("".join(f"{line}\n" for line in stage.lines), encoding="utf-8")
    history = stage.world.history
    violations = tuple(dict.fromkeys(faults))
    return Simulated(len(history.publications), history.delivery_count, performance.faults, violations, path)


@define(eq=False)
class _Performance:
    """One scenario on its way through a world."""

    scenario: Scenario
    plan: Plan
    stage: Stage
    faults: int = 0
    _random: Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = Random(f"{self.scenario.seed}/simulated")  # noqa: S311 - repeatable, not secret

    def run(self) -> None:
        """Set everything up, then let everything happen in its order."""
        self._set_up()
        faults = read_faults(self.scenario.faults, self.plan)
        events = merge(self._publications(), *map(self._injections, faults), key=lambda event: event[0])
        now_s = 0.0
        for due_s, verb, names in events:
            if due_s > now_s:
                self.stage.do("pass", f"{due_s - now_s:.6f}")
                now_s = due_s
            _VERBS[verb](self, names)

    def _set_up(self) -> None:
        do = self.stage.do
        journal = ("journal",) if self.scenario.journal else ()
        for broker, above in self.plan.uplinks.items():
            below = [] if above is None else ["below", above, *self.plan.fallbacks(broker)]
            do("start", broker, *journal, *below)
        do("settle")
        number = groups(self.scenario.filters, "scenario")
        for seat in publisher_seats(self.scenario):
            do("program", seat.name, seat.broker)
            do("advertise", seat.name, KINDS[seat.place % number])
        for seat in subscriber_seats(self.scenario):
            do("program", seat.name, seat.broker)
            for name in seat.roles:
                do("subscribe", seat.name, name, KINDS[seat.place % number])
        do("settle")

    def _publications(self) -> Iterator["_Event"]:
        """Every publication with its time, as many as are taken."""
        seats = list(publisher_seats(self.scenario))
        number, duration_s = groups(self.scenario.filters, "scenario"), self.scenario.duration_s
        found = []
        for seat in seats:
            chance = Random(f"{self.scenario.seed}/{seat.name}/times")  # noqa: S311 - repeatable, not secret
            times = takewhile(lambda due_s: due_s < duration_s, due_times(self.scenario.publishers, chance))
            found += [(due_s, "publish", (seat.name, KINDS[seat.place % number])) for due_s in times]
            if len(found) > PUBLICATIONS_MAX * len(seats):
                break
        yield from sorted(found)[:PUBLICATIONS_MAX]

    def _injections(self, targeted: Targeted) -> Iterator["_Event"]:
        """Every time a fault happens, and every time it is over."""
        fault = targeted.fault
        verbs = _MEANINGS.get(fault.words)
        if verbs is None:
            known = ", ".join(" ".join(words) for words in _MEANINGS)
            raise FaultError(f"fault {fault.text!r}: the simulator knows {known}")
        found = []
        for due_s in self._times(fault):
            target = targeted.draw(self._random)
            names = (target.lower, target.upper) if isinstance(target, LinkTarget) else (target,)
            lasts_s = fault.values.get("after", fault.values.get("for"))
            if isinstance(target, LinkTarget) and lasts_s is not None:
                names = (*names, f"{lasts_s:g}")
            found.append((due_s, verbs[0], names))
            if verbs[1] and lasts_s is not None:
                found.append((due_s + lasts_s, verbs[1], names))
        assert kind_of(fault).target in {BROKER, LINK}
        yield from sorted(found)

    def _times(self, fault: InjectedFault) -> Iterator[float]:
        if fault.at_s is not None:
            yield fault.at_s
            return
        assert fault.every_s is not None
        due_s = fault.from_s or fault.every_s
        until_s = min(self.scenario.duration_s, fault.until_s or self.scenario.duration_s)
        while due_s <= until_s:
            yield due_s
            due_s += fault.every_s

    # --- what happens ---

    def publish(self, names: tuple[str, ...]) -> None:
        """Publish, if the publisher may."""
        self.stage.do("publish", *names)

    def die(self, names: tuple[str, ...]) -> None:
        """Crash a broker that will restart."""
        self.faults += self.stage.do("kill", *names)

    def end(self, names: tuple[str, ...]) -> None:
        """A broker dies for good, and its clients with it."""
        self.faults += self.stage.do("lose", *names)

    def live(self, names: tuple[str, ...]) -> None:
        """Start a broker again."""
        self.stage.do("start", *names)

    def cut(self, names: tuple[str, ...]) -> None:
        """A connection is lost, if it is there; the lower end makes it again as soon as it can."""
        self.faults += self.stage.do("cut" if len(names) == 2 else "part", *names)  # noqa: PLR2004 - the ends


_Event = tuple[float, str, tuple[str, ...]]

_VERBS: Final = {
    "publish": _Performance.publish,
    "die": _Performance.die,
    "end": _Performance.end,
    "live": _Performance.live,
    "cut": _Performance.cut,
}

_MEANINGS: Final[Mapping[tuple[str, ...], tuple[str, str]]] = {
    ("crash",): ("end", ""),
    ("restart",): ("die", "live"),
    ("kill",): ("die", "live"),
    ("cut", "link"): ("cut", ""),
}
"""What a kind of fault is there, and what its end is."""
