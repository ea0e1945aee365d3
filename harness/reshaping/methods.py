"""What a move costs by each method, `path` and `reattach`, counted on the simulator's cores.

A world is a random tree in which each broker has a publisher of one kind of event, and a subscription to each
kind with a chance, the density. One broker moves so many links away while everybody publishes, and clients
come and go if there is churn. Messages arrive by chance from the seed, so both methods meet the same world.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final

from attrs import define, field, frozen

from broker.routing import DEFAULT
from harness.reshaping.trees import ancestry, distance, join
from harness.simulator.world import World
from ordering.pairwise import Pairwise

METHODS: Final = ("path", "reattach")
KINDS: Final = "abcdefghij"

DELIVERIES: Final = 4
"""For each event that is published: as many as keep links from filling."""

EVENTS: Final = 2
"""Of each broker, while the move goes on."""

TRIES_MAX: Final = 1000


@frozen
class MoveCase:
    """One kind of move: `links` are those between the old uplink and the new one."""

    brokers: int
    links: int
    density: float
    churn: float


@frozen
class MoveCost:
    """The cost of a move: messages about routes and moves, brokers whose tables changed, and how often.

    `late` are deliveries that came later than nearly all did before the move, `late_by` so many deliveries of
    messages in the mean.
    """

    messages: int
    touched: int
    changes: int
    late: int
    late_by: float
    gaps: int


@define(eq=False)
class MoveMeter:
    """Counts what brokers send, and how many steps each delivery took."""

    world: World
    steps: int = 0
    messages: int = 0
    published: dict[str, int] = field(factory=dict)
    counts: dict[str, int] = field(factory=dict)
    lateness: list[int] = field(factory=list)

    def watch(self, place: str, text: str) -> None:
        """Take one line of the world's events."""
        item = text.rpartition(" ")[2].rstrip("?~")
        if text.startswith(">"):
            self.messages += item not in self.published and item != "ack" and " ack " not in text
        elif item in self.published and place in self.world.record.streams:
            self.lateness.append(self.steps - self.published[item])

    def versions(self) -> dict[str, int]:
        """Return the version of each broker's tables."""
        return {name: site.core.tables.version for name, site in self.world.sites.items()}


def measure(case: MoveCase, method: str, seed: int) -> MoveCost:
    """Let one broker move; return the cost of that."""
    random = Random(f"{case} {seed}")  # noqa: S311 - repeatable, not secret
    uplinks, moved, target = _tree(case, random)
    world = World(Pairwise, DEFAULT)
    meter = MoveMeter(world)
    _set_up(world, uplinks, case.density, random)
    world.watch = meter.watch
    _go_on(meter, Random(seed), 0.0)  # noqa: S311 - as above
    world.drain()
    usual = sorted(meter.lateness)[int(0.99 * len(meter.lateness))] if meter.lateness else 0
    before, gaps = meter.versions(), _gaps(world)
    meter.messages, meter.lateness = 0, []
    world.do(("move", moved, target, method, moved))
    _go_on(meter, Random(seed), case.churn)  # noqa: S311 - as above
    world.drain()
    changes = {name: version - before[name] for name, version in meter.versions().items()}
    late = [each - usual for each in meter.lateness if each > usual]
    return MoveCost(
        messages=meter.messages,
        touched=sum(map(bool, changes.values())),
        changes=sum(changes.values()),
        late=len(late),
        late_by=sum(late) / max(len(late), 1),
        gaps=_gaps(world) - gaps,
    )


def _gaps(world: World) -> int:
    return sum(len(stream.gaps) for stream in world.record.streams.values())


def _tree(case: MoveCase, random: Random) -> tuple[dict[str, str], str, str]:
    """Return a tree, a broker of it, and an uplink that is so many links away from its present one."""
    for _ in range(TRIES_MAX):
        uplinks = {"B1": ""}
        for number in range(2, case.brokers + 1):
            uplinks[f"B{number}"] = f"B{random.randint(max(1, number // 4), number - 1)}"
        moved = f"B{random.randint(2, case.brokers)}"
        found = [
            each
            for each in uplinks
            if moved not in ancestry(each, uplinks) and distance(each, uplinks[moved], uplinks) == case.links
        ]
        if found:
            return uplinks, moved, random.choice(found)
    raise ValueError(f"no tree of {case.brokers} brokers has a way of {case.links} links")


def _set_up(world: World, uplinks: Mapping[str, str], density: float, random: Random) -> None:
    for name, uplink in uplinks.items():
        join(world, name, uplink)
    for name in uplinks:
        world.do(("advertise", f"P{name[1:]}", name, random.choice(KINDS)))
        if kinds := "".join(kind for kind in KINDS if random.random() < density):
            world.do(("subscribe", f"S{name[1:]}", name, kinds))
    world.drain()


def _go_on(meter: MoveMeter, random: Random, churn: float) -> None:
    """Let everybody publish, messages arrive, and clients come and go."""
    world, counts = meter.world, meter.counts
    names = list(world.sites) * EVENTS
    random.shuffle(names)
    for number, name in enumerate(names):
        publisher = world.publishers[f"P{name[1:]}"]
        counts[publisher.name] = counts.get(publisher.name, 0) + 1
        meter.published[f"{publisher.name}:{counts[publisher.name]}"] = meter.steps
        world.do(("publish", publisher.name, publisher.kinds))
        if random.random() < churn:
            world.do(("subscribe", f"S{name[1:]}.{meter.steps}.{number}", name, random.choice(KINDS)))
        for _ in range(DELIVERIES):
            ports = world.network.ready.ports
            if ports:
                meter.steps += 1
                world.do(("deliver", ports[int(random.random() * len(ports))].label))


def costs(cases: Sequence[MoveCase], seeds: int) -> Iterator[tuple[MoveCase, str, list[MoveCost]]]:
    """Yield the costs of each case by each method."""
    for case in cases:
        for method in METHODS:
            yield case, method, [measure(case, method, seed) for seed in range(seeds)]
