"""Routing configurations judged as G. Mühl defines them: what each table lets through, by trying every event.

`nu(B, D)` is what broker B sends towards a destination D: the kinds of events that some entry for it takes.
The kinds that D needs are found by brute force, over all kinds that simulated events have.

| a configuration is | if on every directed link |
|---|---|
| valid | `nu` has at least the kinds subscribed to behind the link and published on this side |
| perfect | `nu` has exactly the kinds subscribed to behind it that overlap an advertisement known here |
| weakly valid | the same as valid, for subscriptions and advertisements that have been acknowledged |

Towards a local client `nu` is exactly what its subscriptions match, always and at once.

With gates (R7) an entry lets events of one link through and not yet those of another. So weak validity is
checked for every publisher, on the path from it to every subscription, broker by broker.
"""

from collections.abc import Iterator

from attrs import Factory, define

from broker.core import Hop
from harness.simulator.interests import attributes_of, kinds_of
from harness.simulator.network import Site, sites_beyond
from harness.simulator.world import SimulatedPublisher, SimulatedSubscriber, World

Kinds = frozenset[str]


def nu(site: Site, hop: Hop) -> Kinds:
    """Return the kinds that the broker sends towards a neighbour, from whichever link they come."""
    return frozenset().union(*(kinds_of(entry.filter) for entry in site.core.tables.entries_of(hop).values()))


def needed(site: Site, hop: Hop) -> Kinds:
    """Return the kinds that a neighbour has to send here: wanted through other hops, and advertised there."""
    advertised = site.core.tables.advertisements(hop)
    return frozenset().union(
        *(
            kinds_of(entry.filter)
            for entry in site.core.tables.entries()
            if entry.hop is not hop and advertised.overlap(entry.filter)
        )
    )


def invalid(world: World) -> Iterator[str]:
    """Yield every link of a world at rest that sends less than it must."""
    for site in world.sites.values():
        for hop in site.core.neighbours.values():
            beyond = sites_beyond(site, hop)
            for subscriber in world.subscribers.values():
                for publisher in world.publishers.values():
                    common = frozenset(subscriber.kinds) & frozenset(publisher.kinds)
                    apart = subscriber.site in beyond and publisher.site not in beyond
                    missing = common - nu(site, hop)
                    if apart and missing:
                        yield f"{_link(site, hop)} lacks {_listed(missing)} for {subscriber.name}"


def imperfect(world: World) -> Iterator[str]:
    """Yield every link of a world at rest that sends more than it must."""
    for site in world.sites.values():
        for hop in site.core.neighbours.values():
            port = site.outgoing[hop]
            more = nu(site, hop) - needed(port.site, port.hop)
            if more:
                yield f"{_link(site, hop)} sends {_listed(more)}, which nobody asks for"


def inexact(world: World, site: Site) -> Iterator[str]:
    """Yield what is wrong between a broker and its own clients."""
    has = {entry.id: entry.filter for entry in site.core.tables.entries() if not entry.hop.is_link}
    should = {each.name: each.filter for each in world.subscribers.values() if each.site is site}
    if has != should:
        yield f"{site.name} serves the clients {sorted(has)}, not {sorted(should)}"


@define(eq=False)
class PossibleWays:
    """The tree of a world that does not change any more, to ask for weak validity after every step."""

    _world: World
    _next: dict[tuple[Site, Site], Hop] = Factory(dict)
    _acknowledged: set[str] = Factory(set)

    def __attrs_post_init__(self) -> None:
        for site in self._world.sites.values():
            for hop in site.core.neighbours.values():
                self._next.update({(site, other): hop for other in sites_beyond(site, hop)})

    def weakly_invalid(self, changed: Site) -> Iterator[str]:
        """Yield the gaps on paths between acknowledged publishers and subscriptions, after a step.

        If one of the two has just been acknowledged the whole path is checked, otherwise this broker alone.
        """
        subscribers = [each for each in self._world.subscribers.values() if each.is_open]
        publishers = [each for each in self._world.publishers.values() if each.is_ready]
        for subscriber in subscribers:
            for publisher in publishers:
                is_new = not {subscriber.name, publisher.name} <= self._acknowledged
                way = self._way(publisher.site, subscriber.site)
                for place, site in enumerate(way):
                    if is_new or site is changed:
                        before = way[place - 1] if place else None
                        yield from self._gaps(site, before, publisher, subscriber)
        self._acknowledged.update(each.name for each in subscribers)
        self._acknowledged.update(each.name for each in publishers)

    def _way(self, start: Site, end: Site) -> list[Site]:
        way = [start]
        while way[-1] is not end:
            site = way[-1]
            way.append(site.outgoing[self._next[site, end]].site)
        return way

    def _gaps(
        self, site: Site, before: Site | None, publisher: SimulatedPublisher, subscriber: SimulatedSubscriber
    ) -> Iterator[str]:
        tables, common = site.core.tables, sorted(set(publisher.kinds) & set(subscriber.kinds))
        origin = 0 if before is None else self._next[site, before].bit
        if site is subscriber.site:
            towards = tables.named(subscriber.name)[0].hop
        else:
            towards = self._next[site, subscriber.site]
        for kind in common:
            if not tables.route(attributes_of(kind), origin).targets & towards.bit:
                way = f"from {publisher.name} to {subscriber.name}"
                yield f"{site.name} lets no {kind} through {way}, and both are acknowledged"


def _link(site: Site, hop: Hop) -> str:
    return f"{site.name} towards {hop.name}"


def _listed(kinds: Kinds) -> str:
    return ", ".join(sorted(kinds))
