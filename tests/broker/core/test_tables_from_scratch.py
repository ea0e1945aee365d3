"""After any churn, once everything has arrived, the tables are those a computation from scratch gives."""

from random import Random

from attrs import Factory, define
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.filters import Filter, parse
from ordering.fifo import Fifo
from ordering.interface import OrderingFactory
from ordering.pairwise import Pairwise
from tests.broker.core.network import Network

FILTERS = ["c == 1", "c in (1, 2)", "c > 1", "c == 3", "c < 3 and exists(x)", "x == 'a'", "True"]
ACTIONS = [
    "advertise",
    "unadvertise",
    "subscribe",
    "unsubscribe",
    "cut",
    "attach",
    "arrive",
    "arrive",
    "arrive",
]


@define
class World:
    """A network under churn, and what its clients hold at this moment."""

    random: Random
    network: Network
    uplinks: dict[str, str] = Factory(dict)
    publishers: dict[str, tuple[str, Filter]] = Factory(dict)
    subscribers: dict[str, tuple[str, Filter]] = Factory(dict)
    count: int = 0

    def side(self, broker: str, without: str) -> set[str]:
        """All brokers reachable from one of them without passing another."""
        links = {frozenset(pair) for pair in self.uplinks.items()}
        found, todo = {broker}, [broker]
        while todo:
            at = todo.pop()
            for name in self.network.cores:
                if name not in found and name != without and frozenset((at, name)) in links:
                    found.add(name)
                    todo.append(name)
        return found

    def advertise(self) -> None:
        self.count += 1
        broker, text = self.random.choice(sorted(self.network.cores)), self.random.choice(FILTERS)
        self.publishers[f"p{self.count}"] = broker, parse(text)
        self.network.advertise(broker, f"p{self.count}", text)

    def subscribe(self) -> None:
        self.count += 1
        broker, text = self.random.choice(sorted(self.network.cores)), self.random.choice(FILTERS)
        self.subscribers[f"s{self.count}"] = broker, parse(text)
        self.network.subscribe(broker, f"s{self.count}", text)

    def unadvertise(self) -> None:
        if self.publishers:
            publisher = self.random.choice(sorted(self.publishers))
            self.network.unadvertise(self.publishers.pop(publisher)[0], publisher)

    def unsubscribe(self) -> None:
        if self.subscribers:
            subscription = self.random.choice(sorted(self.subscribers))
            self.network.unsubscribe(self.subscribers.pop(subscription)[0], subscription)

    def cut(self) -> None:
        if self.uplinks and self.random.random() < 0.3:
            child = self.random.choice(sorted(self.uplinks))
            self.network.cut(child, self.uplinks.pop(child))

    def attach(self) -> None:
        tops = [name for name in self.network.cores if name not in self.uplinks]
        child = self.random.choice(tops)
        others = sorted(set(self.network.cores) - self.side(child, ""))
        if others:
            parent = self.random.choice(others)
            self.uplinks[child] = parent
            self.network.dial(child, parent)

    def arrive(self) -> None:
        self.network.step_any()

    def heal(self) -> None:
        """Bring everything into one tree: tops attach until there is one."""
        self.network.settle()
        while len(self.side("A", "")) < len(self.network.cores):
            self.attach()
            self.network.settle()


def run(ordering: OrderingFactory, seed: int) -> World:
    random = Random(seed)
    world = World(random, Network(ordering, random))
    world.network.add(*"ABCDE"[: random.randint(2, 5)])
    for _ in range(random.randint(5, 60)):
        getattr(world, random.choice(ACTIONS))()
    world.heal()
    return world


def check(world: World) -> None:
    for name, core in world.network.cores.items():
        tables = core._routing.tables
        for link in core.neighbours.values():
            beyond = world.side(link.name, without=name)
            advertised = {p: f for p, (b, f) in world.publishers.items() if b in beyond}
            here = [f for b, f in world.publishers.values() if b not in beyond]
            wanted = {
                s: f
                for s, (b, f) in world.subscribers.items()
                if b in beyond and any(f.overlaps(a) for a in here)
            }
            assert tables.advertisements(link).filters == advertised
            assert {e.id: e.filter for e in tables.entries_of(link).values()} == wanted
        for publisher, (broker, content) in world.publishers.items():
            is_wanted = any(content.overlaps(f) for _, f in world.subscribers.values())
            if broker == name:
                assert tables.demand.is_wanted(publisher) is is_wanted
                assert (publisher in world.network.wanted) is is_wanted
        assert core.waiting_count == 0
        assert core.counts()["closed_gates"] == core.counts()["open_barriers"] == 0
        assert not len(core._synchronisation)
    assert set(world.publishers) <= set(world.network.advertised)
    assert set(world.subscribers) <= set(world.network.subscribed)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([Fifo, Pairwise]))
def test_tables_after_churn_equal_those_computed_from_scratch(seed: int, ordering: OrderingFactory) -> None:
    check(run(ordering, seed))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_nothing_is_left_after_all_clients_withdrew(seed: int) -> None:
    world = run(Pairwise, seed)
    while world.publishers:
        world.unadvertise()
    while world.subscribers:
        world.unsubscribe()
    world.network.settle()
    for core in world.network.cores.values():
        counts = core.counts()
        assert counts["advertisements"] == counts["subscriptions"] == counts["filters"] == 0
