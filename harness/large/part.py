"""The brokers of one process: their cores, and what is on its way between them.

Law: what happens in a tick depends on what arrives in it alone. Messages are taken in the order of receiver
and sender, so it does not matter which brokers share a process.
"""

import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from broker.core import BrokerCore, Hop
from broker.filters import parse
from broker.messages import LinkMessage, OrderingMessage, Publication
from broker.routing import parse as parse_routing
from harness.large.shape import LargeShape
from ordering import plugins

Sent = tuple[int, int, list[LinkMessage]]
"""The receiver, the sender, and what was sent in one tick."""

EVERYTHING: Final = parse("price >= 0")
_KIB: Final = 1024


@attrs.define
class LargeCounts:
    """What happened since the counts were taken last; `delivered` is by links on the way and ticks waited."""

    events: int = 0
    acknowledgements: int = 0
    control: int = 0
    delivered: Counter[tuple[int, int]] = attrs.field(factory=Counter)
    received: Counter[int] = attrs.field(factory=Counter)
    core_s: float = 0.0

    def add(self, other: "LargeCounts") -> None:
        """Add the counts of another part."""
        self.events += other.events
        self.acknowledgements += other.acknowledgements
        self.control += other.control
        self.delivered += other.delivered
        self.received += other.received
        self.core_s += other.core_s


@attrs.frozen
class BrokerSize:
    """One broker: its level, its own subscriptions, and the entries that came over links."""

    level: int
    subscriptions: int
    entries: int
    advertisements: int


@attrs.define(eq=False)
class LargePart:
    """Some brokers. `_links` has the hop of each neighbour, `_neighbours` the neighbour of each hop."""

    shape: LargeShape
    number: int
    parts: int
    _cores: dict[int, BrokerCore] = attrs.Factory(dict)
    _links: dict[int, dict[int, Hop]] = attrs.Factory(dict)
    _neighbours: dict[int, dict[Hop, int]] = attrs.Factory(dict)
    _due: list[Sent] = attrs.Factory(list)
    _touched: set[int] = attrs.Factory(set)
    _unfinished: set[int] = attrs.Factory(set)
    """Brokers with a new neighbour that is to learn more."""
    _counts: LargeCounts = attrs.Factory(LargeCounts)
    _published: dict[tuple[str, int], tuple[int, int]] = attrs.Factory(dict)
    _distances: dict[tuple[int, int], int] = attrs.Factory(dict)
    _tick: int = 0

    def __attrs_post_init__(self) -> None:
        factory, routing = plugins.load(self.shape.ordering), parse_routing(self.shape.routing)
        for broker in range(self.shape.brokers):
            if self._is_here(broker):
                self._cores[broker] = BrokerCore(f"B{broker}", factory, routing=routing)
                self._links[broker], self._neighbours[broker] = {}, {}

    def _is_here(self, broker: int) -> bool:
        return self.shape.part(broker, self.parts) == self.number

    # --- orders: each is given to all parts, which do what is theirs ---

    def open(self, level: int) -> None:
        """Attach the brokers of a level to those above them."""
        for broker in range(1, self.shape.brokers):
            above = self.shape.uplink(broker)
            if above is not None and self.shape.level(broker) == level:
                self._join(above, broker, uplink=False)
                self._join(broker, above, uplink=True)

    def _join(self, broker: int, neighbour: int, *, uplink: bool) -> None:
        if broker in self._cores:
            hop = self._cores[broker].open_link(f"B{neighbour}", uplink=uplink)
            self._links[broker][neighbour], self._neighbours[broker][hop] = hop, neighbour
            self._touched.add(broker)

    def advertise(self) -> None:
        """Let every publisher advertise everything."""
        for publisher in range(self.shape.publishers):
            broker = self.shape.broker_of_publisher(publisher)
            if broker in self._cores:
                self._cores[broker].advertise(f"P{publisher}", EVERYTHING)
                self._touched.add(broker)

    def subscribe(self, first: int, last: int) -> None:
        """Let some subscriptions begin."""
        for subscription in range(first, last):
            broker = self.shape.broker_of(subscription)
            if broker in self._cores:
                wanted = self.shape.wanted(subscription)
                self._cores[broker].subscribe(f"S{subscription}", wanted, ordered=True)
                self._touched.add(broker)

    def unsubscribe(self, subscription: int) -> None:
        """Let a subscription end."""
        broker = self.shape.broker_of(subscription)
        if broker in self._cores:
            self._cores[broker].unsubscribe(f"S{subscription}")
            self._touched.add(broker)

    def publish(self, numbers: Sequence[int]) -> None:
        """Let publishers publish events with these numbers, at this tick."""
        for number in numbers:
            publisher, sequence = number % self.shape.publishers, number // self.shape.publishers + 1
            broker, name = self.shape.broker_of_publisher(publisher), f"P{publisher}"
            self._published[name, sequence] = broker, self._tick
            if broker in self._cores:
                event = Publication(name, sequence, self.shape.event(number), ordered=True, frame=b"")
                self._cores[broker].publish(name, [event])
                self._touched.add(broker)

    # --- time ---

    def tick(self, arriving: Iterable[Sent]) -> tuple[list[Sent], bool]:
        """Let everything arrive that was sent a tick ago; return what leaves, and if more is on its way."""
        due = sorted([*self._due, *arriving], key=lambda sent: sent[:2])
        self._due = []
        touched, self._touched = self._touched, set()
        unfinished, self._unfinished = self._unfinished, set()
        begun_s = time.process_time()
        for receiver, sender, messages in due:
            self._counts.received[receiver] += sum(isinstance(each, Publication) for each in messages)
            self._cores[receiver].receive(self._links[receiver][sender], messages)
            touched.add(receiver)
        for broker in sorted(unfinished):
            self._cores[broker].continue_crossing()
        touched |= unfinished
        leaving = [sent for broker in sorted(touched) for sent in self._collect(broker)]
        self._counts.core_s += time.process_time() - begun_s
        self._tick += 1
        away = [sent for sent in leaving if not self._is_here(sent[0])]
        self._due = [sent for sent in leaving if self._is_here(sent[0])]
        return away, bool(leaving or self._unfinished)

    def _collect(self, broker: int) -> Iterable[Sent]:
        effects = self._cores[broker].take()
        if effects.is_unfinished:
            self._unfinished.add(broker)
        for hop, messages in effects.outgoing:
            neighbour = self._neighbours[broker].get(hop)
            if neighbour is None:
                self._deliver(broker, messages)
            else:
                self._count(messages)
                yield neighbour, broker, list(messages)

    def _count(self, messages: Iterable[LinkMessage]) -> None:
        for each in messages:
            if isinstance(each, Publication):
                self._counts.events += 1
            elif isinstance(each, OrderingMessage):
                self._counts.acknowledgements += 1
            else:
                self._counts.control += 1

    def _deliver(self, broker: int, messages: Iterable[object]) -> None:
        for each in messages:
            if isinstance(each, Publication):
                origin, at = self._published[each.publisher, each.sequence]
                hops = self._distance(origin, broker)
                self._counts.delivered[hops, self._tick - at - hops] += 1

    def _distance(self, one: int, other: int) -> int:
        key = one, other
        if key not in self._distances:
            self._distances[key] = self.shape.distance(one, other)
        return self._distances[key]

    # --- what it came to ---

    def take(self) -> LargeCounts:
        """Return the counts since the last call."""
        counts, self._counts = self._counts, LargeCounts()
        return counts

    def sizes(self) -> list[BrokerSize]:
        """Return the sizes of all brokers."""
        return [self._size(broker) for broker in sorted(self._cores)]

    def _size(self, broker: int) -> BrokerSize:
        core = self._cores[broker]
        links = list(core.neighbours.values())
        entries = sum(len(core.tables.entries_of(link)) for link in links)
        own = len(range(broker, self.shape.subscriptions, self.shape.brokers))
        return BrokerSize(self.shape.level(broker), own, entries, sum(1 for _ in core.tables.advertised()))

    def memory_bytes(self) -> int:
        """Return the most memory that this process has had."""
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used * _KIB
