"""Which deliveries are owed, in a world in which brokers and links may be lost.

Laws.

1. A publication is owed to a subscription that is open, if the path between their two brokers was at rest
   once (everything had arrived), and no broker or link of that path has been lost since. The rest of the
   overlay does not matter.
2. It is owed no more when a broker or a link of the path is lost before it was delivered: it may have been on
   that link, or pending at that broker.
3. A loss excuses nothing that was published before the last moment of rest: by then it had to be delivered.

So after a loss every publication within a part that is still connected is owed again; and within the whole
tree once that has healed and come to rest, when all gates and barriers are open.
"""

from collections.abc import Iterable

from attrs import Factory, define, field

from harness.simulator.network import Site
from harness.simulator.record import Record


@define(eq=False)
class Owing:
    """The links that were at rest and are not lost, as pairs of sites, and the publications in flight."""

    _record: Record
    _links: dict[Site, dict[Site, None]] = Factory(dict)
    _reached: dict[Site, frozenset[Site]] = Factory(dict)
    _first_in_flight: int = field(default=0, init=False)
    _origins: list[Site] = Factory(list)
    _destinations: dict[str, Site] = Factory(dict)

    def at_rest(self, sites: Iterable[Site]) -> None:
        """Note that everything has arrived (law 3)."""
        self._links = {site: _neighbours(site) for site in sites}
        self._reached.clear()
        self._first_in_flight = len(self._record.publications)
        self._origins.clear()

    def published_at(self, site: Site, wanted_by: Iterable[tuple[str, Site]]) -> tuple[str, ...]:
        """Return the subscriptions to which a publication at this site is owed now (law 1)."""
        self._origins.append(site)
        reached = self._reached_from(site)
        owed = [(name, at) for name, at in wanted_by if at in reached]
        self._destinations.update(owed)
        return tuple(name for name, _ in owed)

    def meet(self, one: Site, other: Site) -> bool:
        """Return whether there is a path at rest between two sites."""
        return other in self._reached_from(one)

    def link_lost(self, one: Site, other: Site) -> None:
        """Excuse what has a path over this link and has not been delivered (law 2)."""
        if other not in self._links.get(one, ()):
            return
        del self._links[one][other], self._links[other][one]
        self._excuse()

    def _excuse(self) -> None:
        """Excuse what is in flight and has lost its path."""
        self._reached.clear()
        for number, origin in enumerate(self._origins, self._first_in_flight):
            published = self._record.publications[number]
            published.owed = tuple(name for name in published.owed if self._is_owed(number, origin, name))

    def moved(self, child: Site, parent: Site, above: Site) -> None:
        """Note that a link has taken the place of another one, and that nothing is lost by that.

        The new one was at rest if its upper end was. What is in flight and has no path at rest any more is
        excused: it may go over links that have come since.
        """
        if parent not in self._links.get(child, ()):
            return
        del self._links[child][parent], self._links[parent][child]
        if above in self._links:
            self._links[child][above] = self._links[above][child] = None
        self._excuse()

    def _is_owed(self, number: int, origin: Site, name: str) -> bool:
        is_delivered = bool(self._record.streams[name].seen >> number & 1)
        return is_delivered or self._destinations[name] in self._reached_from(origin)

    def reaches(self, one: Site, other: Site) -> bool:
        """Return whether the path between two sites was at rest and is whole."""
        return one in self._links and other in self._reached_from(one)

    def _reached_from(self, site: Site) -> frozenset[Site]:
        """Return all sites to which a path is at rest."""
        found = self._reached.get(site)
        if found is None:
            found = self._reached[site] = frozenset(self._walk(site))
        return found

    def _walk(self, site: Site) -> dict[Site, None]:
        found, todo = {site: None}, [site]
        while todo:
            for other in self._links.get(todo.pop(), ()):
                if other not in found:
                    found[other] = None
                    todo.append(other)
        return found


def _neighbours(site: Site) -> dict[Site, None]:
    """Return the sites with a link to this one that both ends count as attached."""
    found: dict[Site, None] = {}
    for hop in site.core.neighbours.values():
        port = site.outgoing[hop]
        if port.site.core.attached(port.hop):
            found[port.site] = None
    return found
