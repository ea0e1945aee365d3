"""How far deliveries travel and how long they wait in a tree, in links, by the rules of `pairwise`.

An event climbs from its publisher's broker as far as a subscription above wants it, and down from there. At
each broker of its way up it is *late* for the hops behind which an ordered subscription wants it that is
exposed, that is, which an advertisement overlaps that comes from above (R2). There it waits for the
acknowledgement: to the highest broker that it climbs to, and back.

Laws.

1. The tree decides nothing about who publishes and who reads what: so what was counted in one tree gives
   the cost of every other one.
2. A subscription gets the same part of the events of each publisher that it overlaps. Whether subscriptions
   with different filters want the same event is as if by chance; those with one filter want the same ones.
3. Every link takes as long as every other one. What waits behind something that waits (R3) is left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import define, field, frozen

from broker.advice.traffic import BrokerTraffic, TrafficError
from broker.filters import Filter, FilterError, parse

Uplinks = Sequence[int]
"""The place of each broker's uplink; that of the root is -1."""

ROOT: Final = -1


@frozen
class TreeCost:
    """The links that all deliveries travel and wait, and those that events wait at brokers, once at each."""

    deliveries: float
    travelled: float
    waited: float
    held: float

    @property
    def total(self) -> float:
        """Return the links from publishing to delivery, over all deliveries."""
        return self.travelled + self.waited


@frozen
class _ReaderGroup:
    """The subscriptions of a broker with one filter, and the chance that they want an event of a source."""

    broker: int
    chance: float
    count: int
    is_ordered: bool
    advertisers: int
    """The brokers with an advertisement that overlaps, as bits."""


@frozen
class _SourceGroup:
    """The publishers of a broker with one advertisement, and what wants their events."""

    broker: int
    events: int
    readers: Sequence[_ReaderGroup]


@define(eq=False)
class _Levels:
    """What readers a source has at each broker of its way up, from its own broker on."""

    readers: list[list[_ReaderGroup]]
    round_trips: list[float]
    """How many links an event that is late at a level waits in the mean."""


@define(eq=False)
class WaitingModel:
    """The traffic of an overlay, and the cost of any tree of its brokers."""

    names: Sequence[str]
    size: int = field(init=False)
    """How many pairs of a source and a reader each cost goes through."""
    _sources: Sequence[_SourceGroup]

    def __attrs_post_init__(self) -> None:
        self.size = sum(len(source.readers) for source in self._sources) + len(self.names)

    @classmethod
    def of(cls, traffic: Sequence[BrokerTraffic]) -> "WaitingModel":
        """Make the model of what brokers have counted.

        Raises:
            TrafficError: a filter cannot be read here.
        """
        return cls([each.broker for each in traffic], list(_sources(traffic)))

    def partners(self) -> list[list[int]]:
        """Return for each broker its partners in deliveries, first those that have most of theirs with it."""
        shares: dict[tuple[int, int], float] = {}
        totals = [0.0] * len(self.names)
        for source in self._sources:
            for reader in source.readers:
                deliveries = source.events * reader.chance * reader.count
                for pair in {(source.broker, reader.broker), (reader.broker, source.broker)}:
                    shares[pair] = shares.get(pair, 0.0) + deliveries
                    totals[pair[0]] += deliveries
        return [
            sorted(
                (other for other in range(len(totals)) if other != broker and (broker, other) in shares),
                key=lambda other: -shares[broker, other] / totals[other],
            )
            for broker in range(len(totals))
        ]

    def cost(self, uplinks: Uplinks) -> TreeCost:
        """Return the cost of a tree."""
        below = _below(uplinks)
        sums = [0.0, 0.0, 0.0, 0.0]
        for source in self._sources:
            for place, value in enumerate(_cost(source, uplinks, below)):
                sums[place] += value
        return TreeCost(*sums)


def _sources(traffic: Sequence[BrokerTraffic]) -> Iterator[_SourceGroup]:
    """Yield every advertisement under which events were published, with what wants them."""
    filters = _parsed({text for each in traffic for text in _texts(each)})
    offers = [
        (broker, text, events)
        for broker, each in enumerate(traffic)
        for text, events in each.advertised.items()
    ]
    readers: dict[str, list[_ReaderGroup]] = {text: [] for _, text, _ in offers}
    for broker, each in enumerate(traffic):
        for (text, is_ordered), reading in each.subscribed.items():
            overlapping = {offer for offer in readers if filters[offer].overlaps(filters[text])}
            possible = sum(events for _, offer, events in offers if offer in overlapping)
            if not possible or not reading.deliveries:
                continue
            chance = min(reading.deliveries / (reading.count * possible), 1.0)
            advertisers = sum({1 << place for place, offer, _ in offers if offer in overlapping})
            reader = _ReaderGroup(broker, chance, reading.count, is_ordered, advertisers)
            for offer in overlapping:
                readers[offer].append(reader)
    for broker, text, events in offers:
        if events and readers[text]:
            yield _SourceGroup(broker, events, readers[text])


def _texts(traffic: BrokerTraffic) -> Iterator[str]:
    yield from traffic.advertised
    yield from (text for text, _ in traffic.subscribed)


def _parsed(texts: Iterable[str]) -> Mapping[str, Filter]:
    try:
        return {text: parse(text) for text in texts}
    except FilterError as error:
        raise TrafficError(f"a filter of the overlay cannot be read here: {error}") from error


def _below(uplinks: Uplinks) -> list[int]:
    """Return for each broker the brokers below it, itself included, as bits."""
    below = [0] * len(uplinks)
    for broker in range(len(uplinks)):
        bit, above = 1 << broker, broker
        while above != ROOT:
            below[above] |= bit
            above = uplinks[above]
    return below


def _cost(source: _SourceGroup, uplinks: Uplinks, below: Sequence[int]) -> tuple[float, float, float, float]:
    """Return the deliveries of a source, and their links: travelled, waited, and held by brokers."""
    path = _path(source.broker, uplinks)
    levels = _levels(source, path, below)
    deliveries = travelled = waited = held = requested = 0.0
    for place, broker in enumerate(path):
        round_trip, missed = levels.round_trips[place], 1.0
        for hop, (distance, readers) in _by_hop(levels.readers[place], broker, uplinks).items():
            exposed = [each.is_ordered and each.advertisers & ~below[broker] for each in readers]
            late = 1.0
            for reader, is_exposed in zip(readers, exposed, strict=True):
                late *= 1 - reader.chance if is_exposed else 1.0
            missed *= late
            for reader, is_exposed in zip(readers, exposed, strict=True):
                count = reader.chance * reader.count
                deliveries += count
                travelled += count * (place + distance[reader.broker])
                # What a link gets for an exposed subscription waits for the others behind it as well.
                waited += count * round_trip * (1.0 if is_exposed else 1 - late if hop >= 0 else 0.0)
        requested = 1 - missed * (1 - requested)
        held += requested * round_trip
    events = source.events
    return events * deliveries, events * travelled, events * waited, events * held


def _path(broker: int, uplinks: Uplinks) -> list[int]:
    """Return a broker and those above it."""
    path = []
    while broker != ROOT:
        path.append(broker)
        broker = uplinks[broker]
    return path


def _levels(source: _SourceGroup, path: Sequence[int], below: Sequence[int]) -> _Levels:
    """Return which readers an event reaches from which broker of its way up, and the waiting there."""
    readers: list[list[_ReaderGroup]] = [[] for _ in path]
    missed = [1.0] * len(path)
    for reader in source.readers:
        place = 0
        while not below[path[place]] >> reader.broker & 1:
            place += 1
        readers[place].append(reader)
        missed[place] *= 1 - reader.chance
    round_trips = [0.0] * len(path)
    unwanted = 1.0
    for place in range(len(path) - 1, 0, -1):
        unwanted *= missed[place]
        round_trips[place - 1] = round_trips[place] + 2 * (1 - unwanted)
    return _Levels(readers, round_trips)


def _by_hop(
    readers: Sequence[_ReaderGroup], broker: int, uplinks: Uplinks
) -> Mapping[int, tuple[dict[int, int], list[_ReaderGroup]]]:
    """Return readers by the child that leads to them, with their distances; local ones each for itself.

    Local subscriptions have the hops -1, -2 and so on.
    """
    found: dict[int, tuple[dict[int, int], list[_ReaderGroup]]] = {}
    for number, reader in enumerate(readers, 1):
        hop, at, distance = -number, reader.broker, 0
        while at != broker:
            hop, at, distance = at, uplinks[at], distance + 1
        distances, group = found.setdefault(hop, ({}, []))
        distances[reader.broker] = distance
        group.append(reader)
    return found
