"""Advice on trees whose best one is known: carried out on the simulator's cores, measured before and after.

Every link takes one round. Events are published one after the other, so that each waits for its own
acknowledgement alone; what a delivery waits are the rounds that it takes beyond the links of its way.
"""

from collections.abc import Mapping
from typing import Final

from attrs import define, field, frozen

from broker.advice import Advice, AdvisedStep, BrokerTraffic, advise
from broker.advice.steps import Tree
from broker.advice.traffic import Readership
from broker.routing import DEFAULT
from harness.reshaping.overlay import NINE
from harness.reshaping.trees import distance, join
from harness.simulator.interests import filter_of
from harness.simulator.world import World
from ordering.pairwise import Pairwise

EVENTS: Final = 4
"""Of each publisher of one kind, unless it publishes more."""


@frozen
class AdvisedCase:
    """A tree, the kinds that each broker's clients publish and read, and the best tree for that.

    `busy` brokers publish so many times as much as others.
    """

    name: str
    uplinks: Tree
    kinds: Mapping[str, str]
    best: Tree
    busy: Mapping[str, int] = {}


@frozen
class CaseFigures:
    """The links that a delivery travels and waits in the mean, in one tree; `traffic` is what was counted."""

    travelled: float
    waited: float
    traffic: list[BrokerTraffic]


@frozen
class AdvisedFigures:
    """What a case measured in its tree, in the one that was advised, and in the best one."""

    case: AdvisedCase
    advice: Advice
    before: CaseFigures
    after: CaseFigures
    best: CaseFigures


def star(root: str, *others: str) -> dict[str, str]:
    """Return the uplinks of brokers that are all below one."""
    return {root: "", **dict.fromkeys(others, root)}


def _named(*numbers: int) -> list[str]:
    return [f"B{number}" for number in numbers]


_SEVEN: Final = _named(*range(1, 8))
_EIGHT: Final = _named(*range(1, 9))
_LEAVES: Final = [name for name in NINE if name not in NINE.values()]

CASES: Final = (
    AdvisedCase(
        "a chain, everybody reads all",
        dict(zip(_SEVEN, ["", *_SEVEN], strict=False)),
        dict.fromkeys(_SEVEN, "a"),
        star(*_SEVEN),
    ),
    AdvisedCase(
        "a chain, two groups in turn",
        dict(zip(_EIGHT, ["", *_EIGHT], strict=False)),
        {name: "ab"[place % 2] for place, name in enumerate(_EIGHT)},
        {**star(*_named(1, 3, 5, 7)), **star(*_named(2, 4, 6, 8)), "B2": "B1"},
    ),
    AdvisedCase("two levels, everybody reads all", NINE, dict.fromkeys(NINE, "a"), star(*NINE)),
    AdvisedCase(
        "two levels, a busy leaf",
        NINE,
        dict.fromkeys(NINE, "a"),
        star("B9", *(name for name in NINE if name != "B9")),
        {"B9": 20},
    ),
    AdvisedCase("a star, everybody reads all", star(*_SEVEN), dict.fromkeys(_SEVEN, "a"), star(*_SEVEN)),
)


@define(eq=False)
class Rounds:
    """A world in which a message takes one round over each link."""

    world: World
    round: int = 0
    published: tuple[str, int] = ("", 0)
    arrived: list[tuple[str, int]] = field(factory=list)
    waited: dict[str, int] = field(factory=dict)
    """For how many rounds events were pending, by broker, all together."""

    def watch(self, place: str, text: str) -> None:
        """Take one line of the world's events: note when a subscription gets the event."""
        if place in self.world.record.streams and text.startswith(f"{self.published[0]}:"):
            self.arrived.append((place, self.round - self.published[1]))

    def publish(self, publisher: str, kind: str) -> list[tuple[str, int]]:
        """Publish an event; return the subscriptions that get it, and after how many rounds."""
        self.published, self.arrived = (publisher, self.round), []
        self.world.do(("publish", publisher, kind))
        ready = self.world.network.ready
        while ready.ports:
            self.round += 1
            for name, site in self.world.sites.items():
                self.waited[name] = self.waited.get(name, 0) + site.core.waiting_count
            for port, count in [(port, len(port.queue)) for port in ready.ports]:
                self.world.do(("deliver", port.label, count))
        return self.arrived


def built(case: AdvisedCase, uplinks: Tree) -> World:
    """Return a world at rest with the brokers in this tree, and the clients of a case."""
    world = World(Pairwise, DEFAULT)
    todo = [name for name, uplink in uplinks.items() if not uplink]
    for name in todo:
        join(world, name, uplinks[name])
        todo += [each for each, uplink in uplinks.items() if uplink == name]
    for name, kinds in case.kinds.items():
        _seat(world, name, kinds)
    return world


def _seat(world: World, name: str, kinds: str) -> None:
    """Let clients of a broker publish and read some kinds; their names are new at every start."""
    run = world.sites[name].core.name + f".{len(world.record.streams)}"
    world.do(("advertise", f"P{run[1:]}", name, kinds))
    world.do(("subscribe", f"S{run[1:]}", name, kinds))
    world.drain()


def measured(case: AdvisedCase, world: World) -> CaseFigures:
    """Publish the events of a case one by one, and return what was counted."""
    rounds = Rounds(world)
    world.watch = rounds.watch
    uplinks = tree_of(world)
    delivered: dict[str, int] = dict.fromkeys(uplinks, 0)
    travelled = took = 0
    for publisher in list(world.publishers.values()):
        broker = publisher.site.name
        for _ in range(EVENTS * case.busy.get(broker, 1)):
            for kind in publisher.kinds:
                for subscription, count in rounds.publish(publisher.name, kind):
                    reader = world.subscribers[subscription].site.name
                    delivered[reader] += 1
                    travelled += distance(broker, reader, uplinks)
                    took += count
    world.watch = None
    total = sum(delivered.values())
    traffic = [
        BrokerTraffic(
            name,
            uplink,
            tuple(each for each, above in uplinks.items() if above == name),
            world.sites[name].core.measures.deferred,
            float(rounds.waited.get(name, 0)),
            0,
            {str(filter_of(case.kinds[name])): EVENTS * case.busy.get(name, 1) * len(case.kinds[name])},
            {(str(filter_of(case.kinds[name])), True): Readership(1, delivered[name])},
        )
        for name, uplink in sorted(uplinks.items())
    ]
    return CaseFigures(travelled / total, (took - travelled) / total, traffic)


def tree_of(world: World) -> dict[str, str]:
    """Return the uplink of each broker, "" for the root."""
    uplinks = {name: site.core.uplink for name, site in world.sites.items()}
    return {name: uplink.name if uplink is not None else "" for name, uplink in uplinks.items()}


def carry_out(case: AdvisedCase, world: World, step: AdvisedStep) -> None:
    """Take one step of an advice; a broker that is drained is lost here, and its clients with it."""
    if step.verb == "move":
        world.do(("move", step.broker, step.uplink, "path", step.broker))
    elif step.verb == "drain":
        world.do(("crash", step.broker))
    else:
        join(world, step.broker, step.uplink)
        _seat(world, step.broker, case.kinds[step.broker])
    world.drain()


def advised(case: AdvisedCase) -> AdvisedFigures:
    """Measure a case, ask for advice, take its steps, and measure again."""
    world = built(case, case.uplinks)
    before = measured(case, world)
    advice = advise(before.traffic)
    for step in advice.steps:
        carry_out(case, world, step)
    after = measured(case, world)
    return AdvisedFigures(case, advice, before, after, measured(case, built(case, case.best)))
