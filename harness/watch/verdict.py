"""Counts in how many pairs of events two subscriptions disagree, while events come. No Spark in here.

Laws:

1. An event counts for a pair of subscriptions when both have delivered it; two such events are a disagreement
   if the two subscriptions delivered them in opposite orders. Each is counted once, when its last part comes.
2. Memory has a limit: an event is remembered until `EVENTS_KEPT` newer ones have come, and compared with the
   `COMMON_KEPT` common ones before it. Disagreements across more than that are not seen.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np
from attrs import define, field, frozen

from harness.analysis.kernels.permutations import Int64s, inversions, ranks_of

EVENTS_KEPT: Final = 1 << 18
"""Some 50 MB; at 10,000 events a second a subscription may be 26 s behind the others."""

COMMON_KEPT: Final = 1 << 15
"""Counting takes 5 ms for each pair and batch."""

EventKey = tuple[str, int]
"""A publisher, and a number among its events."""


@frozen
class Witness:
    """Two events that one subscription delivered in this order, and the other in the opposite one."""

    first: EventKey
    second: EventKey

    def text(self) -> str:
        """Return them in words."""
        return f"{_named(self.first)} before {_named(self.second)}, and the other way round"


def _named(key: EventKey) -> str:
    return f"{key[0]} {key[1]}"


@define(eq=False)
class WatchedSubscription:
    """What has come of one subscription."""

    name: str
    delivered_count: int = 0
    gap_count: int = 0


@define(eq=False)
class WatchedPair:
    """Two subscriptions, and the events that both have delivered: where, in each one's order."""

    one: str
    other: str
    common_count: int = 0
    disagreement_count: int = 0
    witness: Witness | None = None
    _keys: list[EventKey] = field(factory=list)
    _places: list[tuple[int, int]] = field(factory=list)
    _kept_inversions: int = 0

    def add(self, key: EventKey, place: int, other_place: int) -> None:
        """Add an event that both have delivered by now."""
        self._keys.append(key)
        self._places.append((place, other_place))
        self.common_count += 1

    def settle(self) -> None:
        """Count the disagreements that were added."""
        order = sorted(range(len(self._places)), key=self._places.__getitem__)
        self._keys = [self._keys[each] for each in order]
        self._places = [self._places[each] for each in order]
        found = _inversions(self._places)
        self.disagreement_count += found - self._kept_inversions
        if found and self.witness is None:
            self.witness = next(self._witnesses())
        if len(self._places) > COMMON_KEPT:
            self._keys, self._places = self._keys[-COMMON_KEPT:], self._places[-COMMON_KEPT:]
            found = _inversions(self._places)
        self._kept_inversions = found

    def _witnesses(self) -> Iterator[Witness]:
        for at in range(1, len(self._places)):
            if self._places[at - 1][1] > self._places[at][1]:
                yield Witness(self._keys[at - 1], self._keys[at])


def _inversions(places: list[tuple[int, int]]) -> int:
    others: Int64s = np.array([other for _, other in places], np.int64)
    bounds = np.array([0, len(places)], np.int64)
    return int(inversions(ranks_of(others, bounds), bounds)[0])


class LiveVerdict:
    """All subscriptions that are watched, and all pairs of them."""

    def __init__(self, names: list[str]) -> None:
        self.subscriptions = {name: WatchedSubscription(name) for name in names}
        self.pairs = {pair: WatchedPair(*pair) for pair in combinations(names, 2)}
        self._rank = {name: rank for rank, name in enumerate(names)}
        self._events: dict[EventKey, dict[str, int]] = {}

    @property
    def delivered_count(self) -> int:
        """How many deliveries have come, over all subscriptions."""
        return sum(each.delivered_count for each in self.subscriptions.values())

    @property
    def disagreement_count(self) -> int:
        """How many disagreements there are, over all pairs."""
        return sum(each.disagreement_count for each in self.pairs.values())

    def deliver(self, name: str, key: EventKey) -> None:
        """A subscription has delivered its next event."""
        subscription = self.subscriptions[name]
        place = subscription.delivered_count
        subscription.delivered_count += 1
        places = self._events.get(key)
        if places is None:
            self._events[key] = {name: place}
            if len(self._events) > EVENTS_KEPT:
                del self._events[next(iter(self._events))]
            return
        for other, other_place in places.items():
            if self._rank[name] < self._rank[other]:
                self.pairs[name, other].add(key, place, other_place)
            elif name != other:
                self.pairs[other, name].add(key, other_place, place)
        places[name] = place

    def miss(self, name: str) -> None:
        """A subscription has a gap."""
        self.subscriptions[name].gap_count += 1

    def settle(self) -> None:
        """Count the disagreements that have come since last time."""
        for pair in self.pairs.values():
            pair.settle()
