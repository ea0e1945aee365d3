"""The history of programs, seen through the client's API: publications with their causes, and deliveries.

A publication that a client sends again under a new id, because its broker has lost its memory, is another
one. A durable subscription is one stream, however many inboxes read it: a delivery that is repeated there is
the same at the same position, or it is a fault.
"""

from collections.abc import Iterator
from itertools import chain

from attrs import define, field

from broker.client.delivery import FORGOTTEN, Delivery, Gap
from harness.simulator.record import PublishedEvent, Record, Stream
from ordering import promises

Memory = tuple[str, int]
"""A broker, and how often it has lost its memory: events read at one are no causes at another."""


@define(eq=False)
class SubscriptionHistory:
    """One subscription, as its program sees it. `id` is its last id at a broker.

    Where its program resumes at another broker it begins anew behind a gap, as another subscription:
    `earlier` has the streams of the brokers before.
    """

    name: str
    stream: Stream
    earlier: list[Stream] = field(factory=list, init=False)
    durable: str = ""
    is_open: bool = False
    is_ended: bool = False
    gaps: list[tuple[int, Gap]] = field(factory=list)
    at: dict[int, int] = field(factory=dict)
    """The publication at each position, since the broker began to count."""
    id: str = ""
    acknowledged: int = 0
    """The last position that its programs have acknowledged."""
    is_contested: bool = False
    """Whether several processes have wanted it at the same time."""

    @property
    def streams(self) -> Iterator[Stream]:
        """Return its stream at each of its brokers, one after the other."""
        return chain(self.earlier, (self.stream,))

    @property
    def delivered(self) -> list[int]:
        """Return all deliveries to its program."""
        return [number for stream in self.streams for number in stream.delivered]

    def begin_anew(self, broker: str) -> None:
        """Note that its broker counts from zero; another broker has another stream."""
        self.at = {}
        self.acknowledged = 0
        if self.stream.broker != broker:
            self.earlier.append(self.stream)
            self.stream = Stream(self.stream.ordered, self.stream.kinds, broker)


@define(eq=False)
class WholeHistory:
    """The history of one schedule."""

    publications: list[PublishedEvent] = field(factory=list)
    subscriptions: dict[str, SubscriptionHistory] = field(factory=dict)
    faults: list[tuple[str, str]] = field(factory=list)
    dead: set[str] = field(factory=set)
    """Ids of publishers that have ended."""
    returned: set[str] = field(factory=set)
    """Ids of publishers that were away for longer than they are advertised."""
    moved: set[int] = field(factory=set)
    """Calls that were published again at another broker, or after an absence that was too long."""
    _operations: list[promises.Operation] = field(factory=list)
    _index: dict[tuple[str, int], int] = field(factory=dict)
    _known: dict[str, int] = field(factory=dict)
    _read: dict[Memory, int] = field(factory=dict)

    def publish(self, key: tuple[str, int], memory: Memory, kind: str, *, ordered: bool) -> PublishedEvent:
        """Note a publication at a broker; the events that were read there are its causes."""
        number = len(self.publications)
        self._index[key] = number
        publisher, sequence = key
        past = 0
        wanted = tuple(
            subscription.name
            for subscription in self.subscriptions.values()
            if subscription.is_open and not subscription.is_ended and kind in subscription.stream.kinds
        )
        if ordered:
            past = self._read.get(memory, 0) | self._known.get(publisher, 0)
            self._known[publisher] = past | 1 << number
        published = PublishedEvent(publisher, sequence, memory[0], kind, ordered, past, wanted, None, wanted)
        self.publications.append(published)
        self._operations.append(promises.publish(key))
        return published

    def deliver(self, subscription: SubscriptionHistory, delivery: Delivery, memory: Memory) -> None:
        """Note a delivery to a program, and the memory of the broker that it came from."""
        key = delivery.publisher, delivery.sequence
        number = self._index.get(key)
        if number is None and delivery.publisher.startswith(("H", "hostile/")):
            return  # It comes from a hostile peer, which may publish.
        if number is None:
            self.faults.append(("duplicate", f"{subscription.name} got {key}, which nobody published"))
            return
        published = self.publications[number]
        if delivery.attributes["n"] != published.published_ns:
            self.faults.append(("duplicate", f"{subscription.name} got {published} with another content"))
        if published.ordered:
            self._read[memory] = self._read.get(memory, 0) | published.past | 1 << number
        known = subscription.at.get(delivery.position)
        if known is not None:
            if known != number:
                text = f"{subscription.name} got {published} at {delivery.position}, where {known} was"
                self.faults.append(("duplicate", text))
            return
        subscription.at[delivery.position] = number
        self._add(subscription, delivery, number)

    def _add(self, subscription: SubscriptionHistory, delivery: Delivery, number: int) -> None:
        """Append a delivery that is not a repetition."""
        stream, published, bit = subscription.stream, self.publications[number], 1 << number
        if stream.seen & bit:
            stream.faults.append((number, f"{subscription.name} got {published} twice"))
        if published.kind not in stream.kinds:
            text = f"{subscription.name} got {published}, which it does not match"
            stream.faults.append((number, text))
        if delivery.replayed:
            if stream.seen != stream.replayed:
                text = f"{subscription.name} got {published} of the past behind what is live"
                stream.faults.append((number, text))
            stream.replayed |= bit
        stream.delivered.append(number)
        stream.seen |= bit
        self._operations.append(promises.notify(subscription.name, (published.publisher, published.sequence)))
        if published.ordered:
            stream.known |= published.past | bit

    def gap(self, subscription: SubscriptionHistory, gap: Gap, broker: str) -> None:
        """Note a gap for a program; behind one for a forgotten subscription, positions begin anew."""
        if gap.reason == FORGOTTEN:
            subscription.begin_anew(broker)
        subscription.stream.gaps.append(len(subscription.stream.delivered))
        subscription.gaps.append((len(subscription.delivered), gap))

    @property
    def delivery_count(self) -> int:
        """Return the number of deliveries."""
        return sum(len(subscription.delivered) for subscription in self.subscriptions.values())

    def record(self) -> Record:
        """Return the history as the simulator's verdicts read it.

        An event that is published again keeps its time, by which it is replayed: its causes may have a later
        one.
        """
        streams = {
            f"{name} at {stream.broker}, {place}" if subscription.earlier else name: stream
            for name, subscription in self.subscriptions.items()
            for place, stream in enumerate(subscription.streams, 1)
        }
        calls = {each.published_ns for each in self.publications}
        return Record(
            publications=self.publications,
            streams=streams,
            operations=self._operations,
            index=self._index,
            clocks_agree=len(calls) == len(self.publications),
            caches_hold=True,
        )
