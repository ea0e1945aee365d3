"""A scenario in the simulator: the same overlay, clients and faults, with steps instead of seconds.

How time becomes steps: publications and faults happen in the order of their times in the scenario. Between
two of them, `STEPS_PER_MS` messages arrive for each millisecond that lies between, at places drawn from the
seed; then every broker without an uplink takes a step to find one. So a message is under way for about as
many steps as there are others, and no two runs of one seed differ.

What has no meaning there is left out: rates of subscribers, delays, payloads, and what is paused or slow.
"""

from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Final

from attrs import define, field, frozen

from harness.faults import BROKER, LINK, Fault, FaultError, Link, kind_of
from harness.runs.directory import SCHEDULE_FILE
from harness.runs.injector import Targeted, read_faults
from harness.runs.plan import Plan, due_times, plan_of, publisher_seats, subscriber_seats
from harness.scenarios import Scenario, ScenarioError
from harness.scenarios.interests import groups
from harness.simulator.interests import KINDS
from harness.simulator.outcome import Outcome, of_actions
from harness.simulator.world import World
from ordering import plugins

STEPS_PER_MS: Final = 2
"""Messages that arrive in a millisecond, all links together: a few hops each, as in a small real overlay."""

PUBLICATIONS_MAX: Final = 2_000
"""The verdict compares every pair of subscriptions; beyond this a real run is quicker."""

STEPS_MAX: Final = 2_000
"""Between two events; after so many nothing is on its way any more."""


@frozen
class Simulated:
    """What a simulated run came to. Its schedule is a scenario file of the simulator."""

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
    options = {"sequencer": plan.top} if ordering == "sequencer" else {}
    factory = plugins.load(ordering, options)
    performance = _Performance(scenario, plan, World(factory))
    performance.run()
    outcome = of_actions(tuple(performance.world.actions), factory)
    path = folder / SCHEDULE_FILE
    path.write_text(
        "".join(" ".join(map(str, action)) + "\n" for action in outcome.actions), encoding="utf-8"
    )
    return _told(outcome, performance.faults, path)


def _told(outcome: Outcome, faults: int, path: Path) -> Simulated:
    record = outcome.world.record
    violations = tuple(dict.fromkeys(outcome.faults))
    return Simulated(len(record.publications), record.delivery_count, faults, violations, path)


@define(eq=False)
class _Performance:
    """One scenario on its way through a world."""

    scenario: Scenario
    plan: Plan
    world: World
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
            self._pass(due_s - now_s)
            now_s = due_s
            _VERBS[verb](self, names)

    def _set_up(self) -> None:
        flags = ("journal",) if self.scenario.journal else ()
        for broker, above in self.plan.uplinks.items():
            self.world.do(("start", broker, *flags))
            if above is not None:
                self.world.do(("dial", broker, above))
                self.world.do(("drain",))
            if not flags:
                self.world.do(
                    ("reach", broker, *([] if above is None else [above, *self.plan.fallbacks(broker)]))
                )
        number = groups(self.scenario.filters, "scenario")
        for seat in publisher_seats(self.scenario):
            self.world.do(("advertise", seat.name, seat.broker, KINDS[seat.place % number]))
        for seat in subscriber_seats(self.scenario):
            for name in seat.roles:
                self.world.do(("subscribe", name, seat.broker, KINDS[seat.place % number]))
        self.world.do(("drain",))

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
            names = (target.lower, target.upper) if isinstance(target, Link) else (target,)
            found.append((due_s, verbs[0], names))
            lasts_s = fault.values.get("after", fault.values.get("for"))
            if verbs[1] and lasts_s is not None:
                found.append((due_s + lasts_s, verbs[1], names))
        assert kind_of(fault).target in {BROKER, LINK}
        yield from sorted(found)

    def _times(self, fault: Fault) -> Iterator[float]:
        if fault.at_s is not None:
            yield fault.at_s
            return
        assert fault.every_s is not None
        due_s = fault.from_s or fault.every_s
        until_s = min(self.scenario.duration_s, fault.until_s or self.scenario.duration_s)
        while due_s <= until_s:
            yield due_s
            due_s += fault.every_s

    def _pass(self, seconds: float) -> None:
        """Let messages arrive for so long, and brokers look for uplinks."""
        ready = self.world.network.ready.ports
        for _ in range(min(round(seconds * 1000 * STEPS_PER_MS), STEPS_MAX)):
            if not ready:
                break
            self.world.do(("deliver", ready[int(self._random.random() * len(ready))].label))
        for name in list(self.world.sites):
            self.world.do(("heal", name))

    def publish(self, names: tuple[str, ...]) -> None:
        """Publish, if the publisher may."""
        self.world.do(("publish", *names))

    def die(self, names: tuple[str, ...]) -> None:
        """A broker dies, with a journal or for good."""
        self.faults += 1
        self.world.do(("kill", names[0], 0) if self.scenario.journal else ("crash", names[0]))

    def live(self, names: tuple[str, ...]) -> None:
        """It starts again."""
        above = self.plan.uplinks[names[0]]
        if self.world.do(("start", names[0])) and not self.scenario.journal:
            self.world.do(("reach", names[0], *([] if above is None else [above])))

    def cut(self, names: tuple[str, ...]) -> None:
        """A connection is lost, if it is there."""
        site = self.world.sites.get(names[0])
        hop = site.link_to(names[1]) if site is not None else None
        if site is not None and hop is not None:
            self.faults += 1
            self.world.do(("cut", site.outgoing[hop].label, 0, 0))

    def mend(self, names: tuple[str, ...]) -> None:
        """It is made again; without journals the lower end finds its way itself."""
        site = self.world.sites.get(names[0])
        hop = site.link_to(names[1]) if site is not None else None
        if site is not None and hop is not None and self.scenario.journal:
            self.world.do(("resume", site.outgoing[hop].label))


_Event = tuple[float, str, tuple[str, ...]]

_VERBS: Final = {
    "publish": _Performance.publish,
    "die": _Performance.die,
    "live": _Performance.live,
    "cut": _Performance.cut,
    "mend": _Performance.mend,
}

_MEANINGS: Final[Mapping[tuple[str, ...], tuple[str, str]]] = {
    ("crash",): ("die", ""),
    ("restart",): ("die", "live"),
    ("kill",): ("die", "live"),
    ("cut", "link"): ("cut", "mend"),
}
"""What a kind of fault is there, and what its end is."""
