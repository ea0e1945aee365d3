"""Routing tables: advertisements and subscriptions by hop, and the routes of publications that follow.

Laws.

1. A route is computed when tables change, never while a publication waits: `route` combines what every
   matching filter already knows.
2. Entries with the same filter share one `InterestView`; the matching index has each filter once.
3. An interest is exposed while an advertisement known through the uplink overlaps it (protocol, section 3).
   Exposure counts advertisements, so that adding and removing one does not touch the others. A change is
   noted, and counted for an interest before its routes are worked out again, at the latest.
4. An entry serves publications from a link only while its gate for that link is open (R7).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar, Final

from attrs import Factory, define, field, frozen

from broker.core.demand import Demand
from broker.core.hops import Hop
from broker.core.interest import InterestWatch
from broker.filters import Filter
from broker.filters.constraints import Value
from broker.matching import MatchingIndex
from broker.messages import Publication
from broker.routing import PART_COUNT
from broker.routing.strategy import RouteFilter
from ordering.interface import Advertisement, Event, Hops, Route, Subscription

NOWHERE = Route(0, 0)

CHANGES_PER_PART: Final = 16
"""Of so many changes of exposure a part of the interests is counted in a step; of more, a smaller one."""

EntryKey = tuple[int, str]
"""The key of an entry: the number of its hop, and its id there."""


@define(eq=False)
class RouteEntry:
    """One subscription as known through one hop. `closed` names the links whose gate is still closed (R7).

    `since` is for local ones: how many losses there were before it (`broker.core.losses`). It `is_answered`
    once its hop has been sent an acknowledgement, as no gate was closed.
    """

    id: str
    filter: Filter
    ordered: bool
    hop: Hop
    closed: Hops = 0
    since: int = 0
    is_answered: bool = False


def entry_key(entry: RouteEntry) -> EntryKey:
    """Return the key of an entry."""
    return entry.hop.number, entry.id


def route_filter_of(entry: RouteEntry) -> RouteFilter:
    """Return the entry as a strategy sees it."""
    return RouteFilter(entry.id, entry.filter, entry.ordered)


@define(eq=False)
class InterestView:
    """All entries with one filter, and the routes that follow from them, by the publication's origin.

    `exposures` counts what is advertised above, up to the change with the number `counted`.
    """

    filter: Filter
    exposures: int
    counted: int
    entries: dict[EntryKey, RouteEntry] = Factory(dict)
    routes: dict[Hops, Route] = field(factory=dict, repr=False)


def _key_in(item: tuple[EntryKey, RouteEntry]) -> EntryKey:
    return item[0]


@define(eq=False)
class Advertisements:
    """The advertisements that came through one link, or of local publishers."""

    filters: dict[str, Filter] = Factory(dict)
    _distinct: Counter[Filter] = Factory(Counter)

    def add(self, advertisement: str, content: Filter) -> None:
        """Add an advertisement under its id."""
        self.filters[advertisement] = content
        self._distinct[content] += 1

    def remove(self, advertisement: str) -> Filter | None:
        """Remove an advertisement; return its filter, if it was known."""
        content = self.filters.pop(advertisement, None)
        if content is not None:
            self._distinct[content] -= 1
            if not self._distinct[content]:
                del self._distinct[content]
        return content

    def distinct(self) -> list[Filter]:
        """Return every advertised filter once."""
        return list(self._distinct)

    def overlap(self, content: Filter) -> bool:
        """Return whether any of them overlaps this filter."""
        return any(known.overlaps(content) for known in self._distinct)

    def count_overlapping(self, content: Filter) -> int:
        """Return how many of them overlap this filter."""
        return sum(count for known, count in self._distinct.items() if known.overlaps(content))


@define(eq=False)
class RoutingTables:
    """Subscriptions by filter with their routes, advertisements by hop.

    `synchronising` are the new links across which subscriptions may not be sent yet (R9).
    `version` counts changes of the advertisements known through links and of the entries. `offered` are the
    advertisements that came, changed or went since the core's effects were taken, with their filters before.
    """

    DERIVED: ClassVar = frozenset(
        {"_part_count", "changes", "_change_count", "_uncounted", "_counting", "_are_routes_known"}
    )

    _part_count: int = PART_COUNT
    local: Advertisements = Factory(Advertisements)
    demand: Demand = Factory(Demand)
    _interests: dict[Filter, InterestView] = Factory(dict)
    _index: MatchingIndex[InterestView] = Factory(MatchingIndex)
    _entries: dict[Hop, dict[str, RouteEntry]] = Factory(dict)
    _named: dict[str, tuple[RouteEntry, ...]] = Factory(dict)
    _advertised: dict[Hop, Advertisements] = Factory(dict)
    synchronising: set[Hop] = Factory(set)
    _uplink: Hop | None = None
    version: int = 0
    offered: dict[str, Filter | None] = Factory(dict)
    changes: dict[int, tuple[Filter | None, int]] = Factory(dict)
    """What has changed above and is not counted for every interest, by number; None: all of it has gone."""
    _change_count: int = 0
    _uncounted: list[InterestView] = Factory(list)
    """The interests for which changes up to the number `_counting` are still to be counted."""
    _counting: int = 0
    _are_routes_known: bool = False

    # --- links ---

    def open_link(self, link: Hop) -> None:
        """Add a link."""
        self._advertised[link] = Advertisements()
        self._entries[link] = {}

    def close_link(self, link: Hop) -> None:
        """Remove a link of which everything has been withdrawn."""
        assert not self._entries[link]
        assert not self._advertised[link].filters
        del self._advertised[link], self._entries[link]
        self._forget_routes()

    def set_uplink(self, uplink: Hop | None) -> None:
        """Compute again what is exposed: all of it depends on what the uplink advertises."""
        self._uplink = uplink
        self._change(None, 0)
        for content in self._advertised[uplink].filters.values() if uplink is not None else ():
            self._change(content, 1)

    def is_uplink(self, link: Hop) -> bool:
        """Return whether this link is the uplink."""
        return link is self._uplink

    # --- advertisements ---

    def add_local_advertisement(self, publisher: str, content: Filter) -> None:
        """Add a local publisher's advertisement."""
        self._note(publisher)
        self.local.add(publisher, content)
        self.demand.advertised(publisher, content, self._interests)

    def remove_local_advertisement(self, publisher: str) -> Filter | None:
        """Remove a local publisher's advertisement; return its filter, if it was known."""
        self._note(publisher)
        self.demand.withdrawn(publisher)
        return self.local.remove(publisher)

    def restore_local_advertisements(self, publishers: Mapping[str, Filter]) -> int:
        """Make the local advertisements these; return how many were wrong."""
        known = self.local.filters
        wrong = [each for each in {**known, **publishers} if known.get(each) != publishers.get(each)]
        for each in wrong:
            self._note(each)
            self.local.remove(each)
            if each in publishers:
                self.local.add(each, publishers[each])
        return len(wrong)

    def watch_interest(self, publisher: str) -> InterestWatch:
        """Follow the filters that overlap a local publisher's advertisement."""
        return self.demand.watch(publisher, self._interests)

    def advertisements(self, link: Hop) -> Advertisements:
        """Return the advertisements that came through a link."""
        return self._advertised[link]

    def advertised(self) -> Iterator[tuple[Hop, str, Filter]]:
        """Yield every advertisement that came through a link."""
        for link, advertised in self._advertised.items():
            for advertisement, content in advertised.filters.items():
                yield link, advertisement, content

    def advertisements_but(self, link: Hop | None) -> dict[str, Filter]:
        """Return every advertisement that is known some other way than through this link."""
        known = dict(self.local.filters)
        for hop, advertised in self._advertised.items():
            if hop is not link:
                known.update(advertised.filters)
        return known

    def advertisement(self, advertisement: str) -> Filter | None:
        """Return the filter of an advertisement, local or of a neighbour, or None if it is not known."""
        known = (self.local, *self._advertised.values())
        return next((each.filters[advertisement] for each in known if advertisement in each.filters), None)

    def take_offered(self) -> list[tuple[str, Filter | None]]:
        """Return what has become of advertisements since the last call, with their filters before."""
        if not self.offered:
            return []
        offered, self.offered = self.offered, {}
        return list(offered.items())

    def _note(self, advertisement: str) -> None:
        """Note that an advertisement is about to change, with its filter before."""
        if advertisement not in self.offered:
            self.offered[advertisement] = self.advertisement(advertisement)

    def is_advertised(self, advertisement: str, but: Hop) -> bool:
        """Return whether an advertisement is known some other way than through this link."""
        return advertisement in self.local.filters or any(
            advertisement in advertised.filters
            for hop, advertised in self._advertised.items()
            if hop is not but
        )

    def add_advertisement(self, link: Hop, advertisement: str, content: Filter) -> None:
        """Add a neighbour's advertisement; one with the same id is replaced."""
        self.remove_advertisement(link, advertisement)
        self._advertised[link].add(advertisement, content)
        self.version += 1
        if link is self._uplink:
            self._expose(content, 1)

    def remove_advertisement(self, link: Hop, advertisement: str) -> Filter | None:
        """Remove a neighbour's advertisement; return its filter, if it was known."""
        self._note(advertisement)
        content = self._advertised[link].remove(advertisement)
        self.version += 1
        if content is not None and link is self._uplink:
            self._expose(content, -1)
        return content

    def _expose(self, content: Filter, change: int) -> None:
        self._change(content, change)

    # --- exposure ---

    def _change(self, content: Filter | None, change: int) -> None:
        """Note what has changed above, and forget all routes; if filters are few, count it at once."""
        self._change_count += 1
        self.changes[self._change_count] = content, change
        self._forget_routes()
        if len(self._interests) <= self._part_count:
            self.count_changes()

    def _forget_routes(self) -> None:
        if self._are_routes_known:
            self._are_routes_known = False
            for interest in self._interests.values():
                interest.routes.clear()

    def count_changes(self) -> None:
        """Count what has changed for a part of the interests; forget the changes counted for all of them."""
        if not self._uncounted:
            self._uncounted, self._counting = list(self._interests.values()), self._change_count
        count = max(1, self._part_count // (1 + len(self.changes) // CHANGES_PER_PART))
        part, self._uncounted[-count:] = self._uncounted[-count:], []
        for interest in part:
            self._count(interest)
        if not self._uncounted:
            self.changes = {n: each for n, each in self.changes.items() if n > self._counting}

    def _count(self, interest: InterestView) -> None:
        for number in range(interest.counted + 1, self._change_count + 1):
            content, change = self.changes[number]
            if content is None:
                interest.exposures = 0
            elif content.overlaps(interest.filter):
                interest.exposures += change
        interest.counted = self._change_count

    # --- subscriptions ---

    def add_entry(self, entry: RouteEntry) -> None:
        """Add a subscription; one with the same id on the same hop is replaced."""
        self.remove_entry(entry.hop, entry.id)
        self._entries.setdefault(entry.hop, {})[entry.id] = entry
        self.version += 1
        interest = self._interests.get(entry.filter)
        if interest is None:
            above = self._advertised.get(self._uplink) if self._uplink is not None else None
            interest = self._new_interest(
                entry.filter, above.count_overlapping(entry.filter) if above is not None else 0
            )
            self.demand.interest_came(entry.filter)
        self._enter(entry, interest)

    def _new_interest(self, content: Filter, exposures: int) -> InterestView:
        interest = self._interests[content] = InterestView(content, exposures, self._change_count)
        self._index.add(interest, content)
        return interest

    def _enter(self, entry: RouteEntry, interest: InterestView) -> None:
        self._named[entry.id] = (*self.named(entry.id), entry)
        interest.entries[entry.hop.number, entry.id] = entry
        interest.routes.clear()

    def remove_entry(self, hop: Hop, subscription: str) -> RouteEntry | None:
        """Remove a subscription; return its entry, if it was known."""
        entry = self._entries.get(hop, {}).pop(subscription, None)
        if entry is None:
            return None
        self.version += 1
        if not hop.is_link and not self._entries[hop]:
            del self._entries[hop]
        self._named[subscription] = tuple(other for other in self._named[subscription] if other is not entry)
        if not self._named[subscription]:
            del self._named[subscription]
        interest = self._interests[entry.filter]
        del interest.entries[hop.number, subscription]
        interest.routes.clear()
        if not interest.entries:
            del self._interests[entry.filter]
            self._index.remove(interest)
            self.demand.interest_went(entry.filter)
        return entry

    def entries(self) -> Iterator[RouteEntry]:
        """Return every entry, hop by hop in the order in which the hops came."""
        return chain.from_iterable(map(dict.values, self._entries.values()))

    @property
    def entry_count(self) -> int:
        """Return how many subscriptions there are, by id."""
        return len(self._named)

    def entries_of(self, hop: Hop) -> Mapping[str, RouteEntry]:
        """Return the entries of one hop, by id."""
        return self._entries.get(hop, {})

    def named(self, subscription: str) -> tuple[RouteEntry, ...]:
        """Return every entry of that id: one, but for moments in which a broker has moved (R9)."""
        return self._named.get(subscription, ())

    def is_wanted(self, subscription: str, but: Hop) -> bool:
        """Return whether a subscription is known some other way than through this link."""
        return any(entry.hop is not but for entry in self.named(subscription))

    def subscription_ids(self) -> frozenset[str]:
        """Return the ids of all subscriptions."""
        return frozenset(self._named)

    def has(self, entry: RouteEntry) -> bool:
        """Return whether the entry is still in the tables."""
        return self._entries.get(entry.hop, {}).get(entry.id) is entry

    def close_gate(self, entry: RouteEntry, link: Hop) -> None:
        """Close a gate: the entry serves nothing that comes from this link (R7)."""
        entry.closed |= link.bit
        self._interests[entry.filter].routes.clear()

    def open_gate(self, entry: RouteEntry, link: Hop) -> None:
        """Open a gate: the entry serves what comes from this link (R7)."""
        entry.closed &= ~link.bit
        self._interests[entry.filter].routes.clear()

    # --- publications ---

    def route(self, attributes: Mapping[str, Value], origin: Hops) -> Route:
        """Return the route of a publication that came from this hop (0: a local publisher)."""
        matching = self._index.match(attributes)
        if len(matching) == 1:
            interest = matching[0]
            return interest.routes.get(origin) or self._work_out(interest, origin)
        targets = exposed = free = 0
        for interest in matching:
            route = interest.routes.get(origin) or self._work_out(interest, origin)
            targets |= route[0]
            exposed |= route[1]
            free |= route[2] or 0
        return Route(targets, exposed, free & ~exposed if free and exposed else free) if targets else NOWHERE

    def matching(self, attributes: Mapping[str, Value], origin: Hops) -> Iterator[RouteEntry]:
        """Yield every entry that a publication from this hop is routed by."""
        # By hop and id: the history of the index must not show.
        found = [each for interest in self._index.match(attributes) for each in interest.entries.items()]
        for _, entry in sorted(found, key=_key_in):
            if entry.hop.bit != origin and not entry.closed & origin:
                yield entry

    def _work_out(self, interest: InterestView, origin: Hops) -> Route:
        targets = exposed = below = 0
        self._count(interest)
        self._are_routes_known = True
        for entry in interest.entries.values():
            if entry.hop.bit == origin or entry.closed & origin:
                continue
            targets |= entry.hop.bit
            if entry.hop is not self._uplink:
                below |= entry.hop.bit
                if interest.exposures and entry.ordered:
                    exposed |= entry.hop.bit
        route = interest.routes[origin] = Route(targets, exposed, below & ~exposed)
        return route

    # --- snapshots ---

    def exposures(self) -> dict[Filter, int]:
        """Return how exposed each filter is that is exposed at all; counting again would take long."""
        for interest in self._interests.values():
            self._count(interest)
        exposed = {entry.filter: self._interests[entry.filter].exposures for entry in self.entries()}
        return {content: exposures for content, exposures in exposed.items() if exposures}

    def rebuild(self, exposures: Mapping[Filter, int]) -> None:
        """Restore what follows from the entries and is in no snapshot."""
        for entry in self.entries():
            interest = self._interests.get(entry.filter)
            if interest is None:
                interest = self._new_interest(
                    entry.filter, exposures.get(entry.filter, 0) if exposures else 0
                )
            self._enter(entry, interest)

    def counts(self) -> dict[str, int]:
        """Return the sizes of the tables."""
        return {
            "advertisements": len(self.local.filters)
            + sum(len(a.filters) for a in self._advertised.values()),
            "subscriptions": sum(len(entries) for entries in self._entries.values()),
            "filters": len(self._interests),
        }


# --- what plugins see ---------------------------------------------------------------------------------


@frozen
class TableView:
    """The tables as a plugin may see them: hops are bits, filters are compared, and nothing is changed."""

    _tables: RoutingTables

    @property
    def version(self) -> int:
        """Return a number that changes whenever the tables do."""
        return self._tables.version

    def advertisements(self) -> Iterator[Advertisement]:
        """Yield the advertisements link by link, in the order in which they came."""
        for link, advertisement, content in self._tables.advertised():
            yield Advertisement(advertisement, content, link.bit)

    def subscriptions(self) -> Iterator[Subscription]:
        """Yield the subscriptions hop by hop, in the order in which the hops came."""
        return map(_seen, self._tables.entries())

    def matching(self, event: Event, origin: Hops) -> Sequence[Subscription]:
        """Return the subscriptions that the route of this event was computed from."""
        assert isinstance(event, Publication), "a plugin asks about what it was given"
        return [_seen(entry) for entry in self._tables.matching(event.attributes, origin)]


def _seen(entry: RouteEntry) -> Subscription:
    return Subscription(entry.id, entry.filter, entry.ordered, entry.hop.bit)
