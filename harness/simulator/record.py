"""The history of clients: each publication with what its publisher had read, and the deliveries, in order.

`operations` are the same as one trace, for the formal promises: every subscription and every publisher is a
client there, and a filter is the text of its kinds.

Sets of publications are whole numbers with one bit per publication, so that a causal past costs one number.
"""

from typing import Final

from attrs import Factory, define, evolve

from broker.messages import Publication
from ordering import promises
from ordering.verdicts import Key


@define(eq=False)
class PublishedEvent:
    """One publication. `past` are its causes, `owed` the subscriptions that must deliver it after all losses.

    `wanted` names the open subscriptions that match it, wherever they are: each delivers it or gets a gap.
    `read` says how much of which subscription its publisher had read.
    """

    publisher: str
    sequence: int
    broker: str
    kind: str
    ordered: bool
    past: int
    owed: tuple[str, ...]
    read: tuple[str, int] | None
    wanted: tuple[str, ...] = ()
    published_ns: int = 0

    def __str__(self) -> str:
        return f"{self.publisher}:{self.sequence}"


@define(eq=False)
class Stream:
    """The deliveries of one subscription. `known` are these and their causes.

    `gaps` are the positions of deliveries before which it got a gap. `faults` are deliveries that it should
    not have got, each with the number of its publication.
    """

    ordered: bool
    kinds: str
    broker: str
    delivered: list[int] = Factory(list)
    seen: int = 0
    replayed: int = 0
    known: int = 0
    gaps: list[int] = Factory(list)
    faults: list[tuple[int, str]] = Factory(list)

    def since(self, first: int) -> "Stream":
        """Return the stream of the deliveries from this publication on."""
        delivered = [number for number in self.delivered if number >= first]
        seen = sum(1 << number for number in set(delivered))
        faults = [(number, text) for number, text in self.faults if number >= first]
        replayed = self.replayed & seen
        return Stream(self.ordered, self.kinds, self.broker, delivered, seen, replayed, faults=faults)


REPLAYED: Final = 0x02
"""The bit for a replayed delivery in the flags of a frame."""


def is_replayed(publication: Publication) -> bool:
    """Return whether a delivery was replayed."""
    return bool(publication.frame) and bool(publication.frame[5] & REPLAYED)


@define(eq=False)
class Record:
    """The history of one schedule.

    `clocks_agree` unless a publisher's clock was set wrong, `caches_hold` unless a cache was small.
    """

    clocks_agree: bool = True
    caches_hold: bool = True
    publications: list[PublishedEvent] = Factory(list)
    streams: dict[str, Stream] = Factory(dict)
    operations: list[promises.Operation] = Factory(list)
    _index: dict[tuple[str, int], int] = Factory(dict)
    _known: dict[str, int] = Factory(dict)
    _last: dict[str, int] = Factory(dict)

    def publish(
        self, publisher: str, broker: str, kind: str, flags: tuple[bool, str | None], owed: tuple[str, ...]
    ) -> PublishedEvent:
        """Note a publication. The flags are whether it is ordered, and the subscription that was read."""
        ordered, reader = flags
        sequence = self._last[publisher] = self._last.get(publisher, 0) + 1
        number = len(self.publications)
        self._index[publisher, sequence] = number
        past = 0
        read = (reader, len(self.streams[reader].delivered)) if reader is not None else None
        if ordered:
            past = self._known.get(publisher, 0)
            if reader is not None:
                past |= self.streams[reader].known
            self._known[publisher] = past | 1 << number
        published = PublishedEvent(publisher, sequence, broker, kind, ordered, past, owed, read)
        self.publications.append(published)
        self.operations.append(promises.publish((publisher, sequence)))
        return published

    def deliver(self, subscription: str, publication: Publication) -> None:
        """Note a delivery."""
        stream = self.streams[subscription]
        key = publication.publisher, publication.sequence
        number = self._index[key]
        self.operations.append(promises.notify(subscription, key))
        published = self.publications[number]
        bit = 1 << number
        if stream.seen & bit:
            stream.faults.append((number, f"{subscription} got {published} twice"))
        if published.kind not in stream.kinds:
            stream.faults.append((number, f"{subscription} got {published}, which it does not match"))
        if is_replayed(publication):
            if stream.seen != stream.replayed:
                text = f"{subscription} got {published} of the past behind what is live"
                stream.faults.append((number, text))
            stream.replayed |= bit
        stream.delivered.append(number)
        stream.seen |= bit
        if published.ordered:
            stream.known |= published.past | bit

    def gap(self, subscription: str) -> None:
        """Note that a subscription got a gap."""
        stream = self.streams[subscription]
        stream.gaps.append(len(stream.delivered))

    def since(self, first: int) -> "Record":
        """Return the record as if nothing before this publication had been read, delivered, or owed."""
        before = [evolve(published, owed=(), read=None) for published in self.publications[:first]]
        streams = {name: stream.since(first) for name, stream in self.streams.items()}
        publications = [*before, *self.publications[first:]]
        return Record(self.clocks_agree, self.caches_hold, publications, streams)

    def matches(self, kinds: str, key: Key) -> bool:
        """Return whether a filter of these kinds matches a publication."""
        return self.publications[self._index[key]].kind in kinds

    @property
    def delivery_count(self) -> int:
        """Return the number of deliveries."""
        return sum(len(stream.delivered) for stream in self.streams.values())
