"""Random overlays at rest, and the paths through them: what the paper's theorems speak about."""

from collections.abc import Iterator
from itertools import combinations
from random import Random

from attrs import frozen

from broker.messages import Publication
from broker.routing import SIMPLE
from harness.simulator.interests import attributes_of
from harness.simulator.network import Site
from harness.simulator.world import SimulatedPublisher, SimulatedSubscriber, World
from ordering.interface import Context, Hops, Subscription
from ordering.published import Published
from ordering.published.detection import Lookup

KINDS = "abc"


@frozen
class Overlay:
    """A world and, by broker, what its plugin was made with."""

    world: World
    contexts: dict[str, Context]

    def potential_conflicts(
        self,
    ) -> Iterator[
        tuple[SimulatedPublisher, str, SimulatedSubscriber, SimulatedSubscriber, SimulatedPublisher]
    ]:
        """An event of p and its kind, two that want it, and a publisher whose events both may want as well.

        Only where the four paths share no broker: there FIFO links do not settle the order (Theorem 3).
        """
        for p in self.world.publishers.values():
            for kind in p.kinds:
                wanting = [s for s in self.world.subscribers.values() if kind in s.kinds]
                for one, other in combinations(wanting, 2):
                    for q in self.world.publishers.values():
                        common = set(q.kinds) & set(one.kinds) & set(other.kinds)
                        if q is not p and common and not share_a_broker(p, q, one, other):
                            yield p, kind, one, other, q

    def matching(
        self, at: Site, publisher: SimulatedPublisher, kind: str
    ) -> tuple[dict[Hops, list[Subscription]], Hops]:
        """The subscriptions that an event of this publisher matches at a broker, and where it comes from."""
        towards = path(at, publisher.site)
        origin = hop_to(at, towards[1]) if len(towards) > 1 else 0
        event = Publication(publisher.name, 1, attributes_of(kind), True, b"")
        by_hop: dict[Hops, list[Subscription]] = {}
        for subscription in self.contexts[at.name].tables.matching(event, origin):
            by_hop.setdefault(subscription.hop, []).append(subscription)
        return by_hop, origin

    def lookup(self, at: Site) -> Lookup:
        """The hash tables of the detection at a broker."""
        lookup = Lookup(self.contexts[at.name].tables)
        lookup.refresh()
        return lookup


def overlay(seed: int) -> Overlay:
    """Draw a tree with clients, everything settled."""
    random = Random(seed)
    contexts: dict[str, Context] = {}

    def ordering(context: Context) -> Published:
        contexts[context.broker] = context
        return Published(context)

    world = World(ordering, SIMPLE)
    names = [f"B{number}" for number in range(1, random.randint(3, 7))]
    for number, name in enumerate(names):
        world.do(("start", name))
        if number:
            world.do(("dial", name, random.choice(names[:number])))
            world.do(("drain",))
    for number in range(1, random.randint(3, 7)):
        world.do(("subscribe", f"S{number}", random.choice(names), draw_kinds(random)))
    for number in range(1, random.randint(3, 5)):
        world.do(("advertise", f"P{number}", random.choice(names), draw_kinds(random)))
    world.do(("drain",))
    return Overlay(world, contexts)


def draw_kinds(random: Random) -> str:
    return "".join(sorted(random.sample(KINDS, random.randint(1, 2))))


def path(start: Site, end: Site) -> list[Site]:
    """The brokers from one to another, both ends among them."""
    found = {start: [start]}
    todo = [start]
    while todo:
        at = todo.pop()
        for hop in at.core.neighbours.values():
            other = at.outgoing[hop].site
            if other not in found:
                found[other] = [*found[at], other]
                todo.append(other)
    return found[end]


def hop_to(at: Site, other: Site) -> Hops:
    """The bit of the link from a broker to its neighbour."""
    return at.core.neighbours[other.name].bit


def share_a_broker(
    p: SimulatedPublisher, q: SimulatedPublisher, one: SimulatedSubscriber, other: SimulatedSubscriber
) -> bool:
    """Whether one broker is on all four paths from two publishers to two subscribers."""
    paths = [set(map(id, path(each.site, to.site))) for each in (p, q) for to in (one, other)]
    return bool(set.intersection(*paths))
