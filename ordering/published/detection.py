"""Algorithm 1: which next hops of a publication are in conflict, from what is advertised and subscribed.

A conflict is a pair of hops: events may come from publishers behind the hop to be asked (`asked`) to
subscribers there and to those behind the other hop (`waits`) without passing this broker both times.

`all_conflicts` is printed in the paper, nested loops and all, because its cost is one of the paper's figures.
`hop_pairs` is its fast form: it stops looking at a pair of hops when the pair is found.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from attrs import Factory, define

from ordering.interface import Advertisement, Hops, Subscription, Tables

Matching = Mapping[Hops, Sequence[Subscription]]
"""The subscriptions that match one publication, by hop; its keys are next(p)."""


class Conflict(NamedTuple):
    """A hop to ask, a hop that waits, and a subscription behind the latter."""

    asked: Hops
    waits: Hops
    subscription: Subscription


@define(eq=False)
class Lookup:
    """The paper's hash tables pubs(h, s) and nhs(a), computed on demand after the routing tables change."""

    _tables: Tables
    _version: int = -1
    _pubs: dict[tuple[Hops, str], tuple[Advertisement, ...]] = Factory(dict)
    _nhs: dict[tuple[Hops, str], Hops] = Factory(dict)
    _advertisements: dict[Hops, list[Advertisement]] = Factory(dict)

    def refresh(self) -> None:
        """Clear the hash tables if the routing tables have changed."""
        if self._version == self._tables.version:
            return
        self._version = self._tables.version
        self._pubs.clear()
        self._nhs.clear()
        self._advertisements.clear()
        for advertisement in self._tables.advertisements():
            self._advertisements.setdefault(advertisement.hop, []).append(advertisement)

    def prepare(self) -> None:
        """Compute the hash tables in full now."""
        self.refresh()
        for subscription in self._tables.subscriptions():
            for advertisement in self.pubs(subscription):
                self.nhs(advertisement)

    def pubs(self, subscription: Subscription) -> tuple[Advertisement, ...]:
        """Return the advertisements that overlap a subscription and have the same next hop."""
        key = subscription.hop, subscription.id
        found = self._pubs.get(key)
        if found is None:
            there = self._advertisements.get(subscription.hop, ())
            found = tuple(a for a in there if a.filter.overlaps(subscription.filter))
            self._pubs[key] = found
        return found

    def nhs(self, advertisement: Advertisement) -> Hops:
        """Return the next hops of the subscriptions that overlap an advertisement."""
        key = advertisement.hop, advertisement.id
        found = self._nhs.get(key)
        if found is None:
            found = 0
            for subscription in self._tables.subscriptions():
                if subscription.ordered and advertisement.filter.overlaps(subscription.filter):
                    found |= subscription.hop
            self._nhs[key] = found
        return found


Detect = Callable[[Matching, Hops, Lookup], Iterable[Conflict]]


def all_conflicts(matching: Matching, origin: Hops, lookup: Lookup) -> Iterator[Conflict]:
    """Yield every conflict: each advertisement is compared with each pair of subscriptions."""
    if len(matching) == 1:
        return
    next_hops = union(matching)
    for asked, subscriptions in matching.items():
        for subscription in subscriptions:
            for advertisement in lookup.pubs(subscription):
                across = lookup.nhs(advertisement) & next_hops & ~(asked | origin)
                if not across:
                    continue
                for waits, others in matching.items():
                    if waits & across:
                        for other in others:
                            if advertisement.filter.overlaps(other.filter):
                                yield Conflict(asked, waits, other)


def hop_pairs(matching: Matching, origin: Hops, lookup: Lookup) -> Iterator[Conflict]:
    """Yield one conflict for each pair of hops that has any."""
    if len(matching) == 1:
        return
    next_hops = union(matching)
    for asked, subscriptions in matching.items():
        unpaired = next_hops & ~(asked | origin)
        for advertisement in _advertisements(subscriptions, lookup):
            across = lookup.nhs(advertisement) & unpaired
            for waits in members(across):
                for other in matching[waits]:
                    if advertisement.filter.overlaps(other.filter):
                        yield Conflict(asked, waits, other)
                        unpaired &= ~waits
                        break
            if not unpaired:
                break


def _advertisements(subscriptions: Iterable[Subscription], lookup: Lookup) -> Iterator[Advertisement]:
    for subscription in subscriptions:
        yield from lookup.pubs(subscription)


def union(matching: Matching) -> Hops:
    """Return every hop with a matching subscription."""
    hops: Hops = 0
    for hop in matching:
        hops |= hop
    return hops


def members(hops: Hops) -> Iterator[Hops]:
    """Yield the hops of a set, lowest first."""
    while hops:
        lowest = hops & -hops
        yield lowest
        hops ^= lowest
