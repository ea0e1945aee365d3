"""Recovery from corrupted tables, in a simulated world that has a clock: how long it takes, and that it does.

Brokers in a random tree renew and sweep by clocks of their own, links delay each message at random, clients
come and go and publish. Meanwhile tables are corrupted again and again, and local entries. After the last
corruption clients only publish; from `Terms.recovery_s` on all tables have to be as from scratch, nothing
waits, and later publications are delivered to exactly the subscriptions that match, in one order. Earlier
ones may be missing, delivered too often, or in another order.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random
from typing import Final

from attrs import Factory, define, field, frozen

from broker.leases import Terms
from broker.routing import DEFAULT, Routing
from harness.simulator.corruption import corrupt, corrupt_local
from harness.simulator.interests import KINDS
from harness.simulator.leasing import clients_of
from harness.simulator.liveness import wrong_at_rest
from harness.simulator.network import Port, Site
from harness.simulator.record import Stream
from harness.simulator.world import World
from ordering.interface import OrderingFactory

BROKERS: Final = (2, 6)
KINDS_COUNT: Final = 3
CLIENTS: Final = 6
CORRUPTIONS: Final = 6
LOCAL: Final = 0.3
"""The part of corruptions that are of what a broker has for its own clients."""

CORRUPTED_S: Final = 30.0
"""How long tables are corrupted while clients come and go."""

TERMS: Final = Terms(lease_s=20.0, delay_max_s=3.0, delay_min_s=0.1)


@frozen
class RecoveryResult:
    """The result of one seed: when its tables were right again after the last corruption, and its faults."""

    took_s: float
    bound_s: float
    printed_s: float
    corruptions: tuple[str, ...]
    faults: tuple[str, ...]


@define(eq=False)
class Recovery:
    """One world with a clock."""

    random: Random
    world: World
    terms: Terms
    now_s: float = 0.0
    corruptions: list[str] = Factory(list)
    _timers: list[tuple[float, int, Callable[[], None]]] = Factory(list)
    _due: dict[Port, deque[float]] = Factory(dict)
    _count: int = 0
    _names: Iterator[int] = field(factory=lambda: iter(range(1, 10**9)))

    def at(self, time_s: float, what: Callable[[], None]) -> None:
        """Call this at that time."""
        self._count += 1
        heapq.heappush(self._timers, (time_s, self._count, what))

    def every(self, interval_s: float, what: Callable[[], object]) -> None:
        """Call this at every interval, from a random moment on."""

        def happen() -> None:
            what()
            self.at(self.now_s + interval_s, happen)

        self.at(self.now_s + self.random.uniform(0, interval_s), happen)

    def run_until(self, end_s: float, look: Callable[[], None] = lambda: None) -> None:
        """Run timers and deliver messages, each after its delay, up to that time."""
        while True:
            self._note_sent()
            ports = [(due[0], port.label) for port, due in self._due.items() if due]
            arrival = min(ports, default=(end_s, ""))
            timer_s = self._timers[0][0] if self._timers else end_s
            if min(arrival[0], timer_s) >= end_s:
                self.now_s = end_s
                return
            if arrival[0] <= timer_s:
                self.now_s = arrival[0]
                port = self.world.network.port(arrival[1])
                assert port is not None
                self._due[port].popleft()
                self.world.arrive(port, 1)
            else:
                self.now_s, _, what = heapq.heappop(self._timers)
                what()
            look()

    def _note_sent(self) -> None:
        for port in self.world.network.ready.ports:
            due = self._due.setdefault(port, deque())
            while len(due) < len(port.queue):
                delay_s = self.random.uniform(self.terms.delay_min_s, self.terms.delay_max_s)
                due.append(max(due[-1] if due else 0.0, self.now_s + delay_s))

    # --- what happens ---

    def begin(self) -> None:
        """Start brokers in a tree, with leases."""
        for number in range(1, self.random.randint(*BROKERS) + 1):
            self.world.do(("start", f"B{number}"))
            if number > 1:
                self.world.do(("dial", f"B{number}", f"B{self.random.randint(1, number - 1)}"))
                self.world.do(("drain",))
        for site in self.world.sites.values():
            self.every(self.terms.refresh_s, lambda site=site: self.refresh(site))  # type: ignore[misc]  # this site
            self.every(self.terms.sweep_s, lambda site=site: self.sweep(site))  # type: ignore[misc]  # this site

    def refresh(self, site: Site) -> None:
        """Let a broker renew its announcements."""
        site.core.refresh(clients_of(self.world, site))
        self.world.collect(site)

    def sweep(self, site: Site) -> None:
        """Let a broker sweep."""
        site.core.sweep(self.terms.missed_renewals_max)
        self.world.collect(site)

    def corrupt(self) -> None:
        """Corrupt the memory of some broker."""
        site = self.random.choice(list(self.world.sites.values()))
        text = (corrupt_local if self.random.random() < LOCAL else corrupt)(site.core, self.random)
        if text:
            self.corruptions.append(f"{self.now_s:.2f} s: {text}")
        self.world.collect(site)

    def churn(self) -> None:
        """A client comes, goes, or publishes."""
        name, broker = next(self._names), self.random.choice(list(self.world.sites))
        kinds = "".join(sorted(self.random.sample(KINDS[:KINDS_COUNT], self.random.randint(1, 2))))
        match self.random.randrange(5):
            case 0 if len(self.world.subscribers) < CLIENTS:
                self.world.do(("subscribe", f"S{name}", broker, kinds))
            case 1 if len(self.world.publishers) < CLIENTS:
                self.world.do(("advertise", f"P{name}", broker, kinds))
            case 2 if self.world.subscribers:
                self.world.do(("unsubscribe", self.random.choice(list(self.world.subscribers))))
            case 3 if self.world.publishers:
                self.world.do(("unadvertise", self.random.choice(list(self.world.publishers))))
            case _:
                self.publish()

    def publish(self) -> None:
        """Let a publisher publish."""
        ready = [each for each in self.world.publishers.values() if each.is_ready]
        if ready:
            publisher = self.random.choice(ready)
            self.world.do(("publish", publisher.name, self.random.choice(publisher.kinds)))


def recover(
    seed: int, ordering: OrderingFactory, routing: Routing = DEFAULT, terms: Terms = TERMS
) -> RecoveryResult:
    """Corrupt one world, and let it recover."""
    random = Random(seed)  # noqa: S311 - chance here is repeatable, not secret
    made = Recovery(random, World(ordering, routing), terms)
    made.begin()
    for _ in range(4 * CLIENTS):
        made.at(random.uniform(0, CORRUPTED_S), made.churn)
    for _ in range(random.randint(1, CORRUPTIONS)):
        made.at(random.uniform(0, CORRUPTED_S), made.corrupt)
    made.run_until(CORRUPTED_S)
    hops = _diameter(made.world)
    right_since_s: list[float] = []

    def look() -> None:
        if wrong_at_rest(made.world):
            right_since_s.clear()
        elif not right_since_s:
            right_since_s.append(made.now_s)

    look()
    made.run_until(CORRUPTED_S + terms.recovery_s(hops), look)
    faults = [text for _, text in wrong_at_rest(made.world)]
    took_s = right_since_s[0] - CORRUPTED_S if right_since_s else float("inf")
    if not faults:
        faults += _wrong_afterwards(made)
    bounds = terms.recovery_s(hops), terms.printed_s(hops)
    return RecoveryResult(took_s, *bounds, tuple(made.corruptions), tuple(faults))


def _diameter(world: World) -> int:
    """Return the number of links of the longest path."""
    sites = list(world.sites.values())
    return max(_farthest(site) for site in sites)


def _farthest(site: Site, came_from: Site | None = None) -> int:
    others = [site.outgoing[hop].site for hop in site.core.neighbours.values()]
    return max((1 + _farthest(other, site) for other in others if other is not came_from), default=0)


def _wrong_afterwards(made: Recovery) -> list[str]:
    """Let publishers publish; return what is not delivered once, to each subscription, in one order."""
    world, record = made.world, made.world.record
    begun, had = len(record.publications), {name: len(s.delivered) for name, s in record.streams.items()}
    for _ in range(20):
        made.at(made.now_s + made.random.uniform(0, 10), made.publish)
    made.run_until(made.now_s + 100)
    new = range(begun, len(record.publications))
    faults = []
    for name, subscriber in world.subscribers.items():
        expected = {each for each in new if record.publications[each].kind in subscriber.kinds}
        got = record.streams[name].delivered[had[name] :]
        if sorted(each for each in got if each >= begun) != sorted(expected):
            faults.append(f"{name} got {got}, not {sorted(expected)}")
    streams = [(name, record.streams[name]) for name in world.subscribers]
    for (one, ours), (other, theirs) in combinations(streams, 2):
        if _common(ours, theirs, begun) != _common(theirs, ours, begun):
            faults.append(f"{one} and {other} disagree about the order")
    return faults


def _common(ours: Stream, theirs: Stream, begun: int) -> list[int]:
    both = set(ours.delivered) & set(theirs.delivered)
    return [each for each in ours.delivered if each in both and each >= begun]
