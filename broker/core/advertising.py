"""Which advertisements are announced to neighbours, and when a publisher may publish (R6).

Laws.

1. The advertisements announced to a neighbour are what the strategy makes of every advertisement that is
   known some other way than through it. A broker that has moved is for a moment known two ways (R9); since
   the tree has no cycles, this law alone makes all tables right again.
2. A replacement is announced before the advertisement that it replaces is withdrawn. So every publisher is at
   all times covered by an advertisement that every broker knows.
3. If an advertisement is lost and another one still covers it, the loss is announced all the same.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from attrs import Factory, define

from broker.core.announcements import Announcements, Difference
from broker.core.barrier import Awaited, Barrier, Passed
from broker.core.hops import Hop
from broker.core.tables import RoutingTables
from broker.filters import Filter
from broker.messages import AdvertisementAdded, AdvertisementWithdrawn, Control, PublishersLost
from broker.routing.strategy import RouteFilter, Strategy


@define(eq=False)
class Advertising:
    """The advertisements of one broker, as they are announced to its neighbours."""

    DERIVED: ClassVar = frozenset({"_strategy"})

    _broker: str
    _strategy: Strategy
    _tables: RoutingTables
    _send: Callable[[Hop, Control], None]
    barrier: Barrier = Factory(Barrier)
    announced: dict[Hop, Announcements] = Factory(dict)

    def add_link(self, link: Hop) -> None:
        """Add a neighbour; nothing has been announced to it."""
        self.announced[link] = Announcements.nothing(self._strategy, self._broker)

    def remove_link(self, link: Hop) -> None:
        """Remove a neighbour."""
        del self.announced[link]

    def everything(self, link: Hop) -> tuple[tuple[str, Filter], ...]:
        """Announce to a new neighbour every advertisement that is known some other way (R9)."""
        difference = self.flood(link, self._tables.advertisements_but(link).items())
        return tuple((route.id, route.filter) for route in difference.added)

    def flood(self, other: Hop, advertisements: Iterable[tuple[str, Filter]]) -> Difference:
        """Return which of these to announce to a neighbour, without sending each (R9).

        An announcement that covers several advertisements is acknowledged all the same: others depend on it.
        For one that covers only itself, nothing waits that does not wait for the flood.
        """
        if self._strategy.floods:
            return Difference()
        difference = self.announced[other].edit(
            add=[RouteFilter(each, content) for each, content in advertisements]
        )
        if not self._strategy.is_exact:
            for route in difference.added:
                self.barrier.announced(other, route.id)
        return difference

    def rebuild(self) -> None:
        """Restore what no snapshot contains."""
        for link, announced in self.announced.items():
            known = self._tables.advertisements_but(link)
            announced.rebuild(
                self._strategy, {each: RouteFilter(each, content) for each, content in known.items()}
            )

    def announce(self, route: RouteFilter, came_by: Hop | None, subscriptions: Iterable[str]) -> list[Passed]:
        """Announce the route to every other neighbour, and return the barriers that are passed by it."""
        passed: list[Passed] = []
        for link, announced in self.announced.items():
            if link is not came_by:
                passed += self._announce(link, announced.edit(add=[route]))
        return passed + self.await_others(route, came_by, subscriptions)

    def await_others(
        self, route: RouteFilter, came_by: Hop | None, subscriptions: Iterable[str]
    ) -> list[Passed]:
        """Wait until every other neighbour has acknowledged an announcement that covers this route."""
        others = [link for link in self.announced if link is not came_by]
        awaited = [each for link in others for each in self.awaited(link, route)]
        return self.barrier.start(route, came_by, awaited, subscriptions)

    def awaited(self, link: Hop, route: RouteFilter) -> list[Awaited]:
        """Return the announcement that a neighbour has to acknowledge before it knows this route."""
        standing = self.announced[link].covers_of(route)
        if all(self.barrier.is_unanswered(link, each) for each in standing):
            return [(link, each) for each in standing[:1]]
        return []

    def take_back(self, route: RouteFilter, came_by: Hop | None, *, is_lost: bool = False) -> list[Passed]:
        """Withdraw a route that was withdrawn here; return the barriers that are passed by it."""
        passed: list[Passed] = []
        for link, announced in self.announced.items():
            if link is not came_by and not self._tables.is_advertised(route.id, link):
                difference = announced.edit(remove=[route.id])
                passed += self._announce(link, difference, is_lost=is_lost)
                if is_lost and not difference.removed:
                    self._send(link, PublishersLost(route.filter))
        return passed + self.barrier.withdrawn(route.id, came_by)

    def announce_anew(self, link: Hop, candidates: Mapping[str, RouteFilter]) -> list[Passed]:
        """Choose among these anew, and send the difference; return the barriers that are passed by it."""
        difference, changed = self.announced[link].remake(candidates)
        passed = self.withdraw(link, changed)
        removed = tuple(each for each in difference.removed if each not in changed)
        return passed + self._announce(link, Difference(difference.added, removed))

    def adopt_known(self, link: Hop, known: frozenset[str], is_lost: Callable[[str], bool]) -> None:
        """Announce the rest to a neighbour that knows these already, and withdraw what has ended (R6)."""
        candidates = self._tables.advertisements_but(link).items()
        difference = self.announced[link].edit(add=[RouteFilter(*each) for each in candidates])
        for route in difference.added:
            if route.id not in known:
                self._send(link, AdvertisementAdded(route.id, route.filter))
                self.barrier.announced(link, route.id)
                self.barrier.await_too(link, route.id)
        for each in sorted(known - self.announced[link].routes.keys()):
            self._send(link, AdvertisementWithdrawn(each, is_lost(each)))

    def _announce(self, link: Hop, difference: Difference, *, is_lost: bool = False) -> list[Passed]:
        for route in difference.added:
            self._send(link, AdvertisementAdded(route.id, route.filter))
            self.barrier.announced(link, route.id)
        return self.withdraw(link, difference.removed, is_lost=is_lost)

    def withdraw(self, link: Hop, removed: Iterable[str], *, is_lost: bool = False) -> list[Passed]:
        """Withdraw these from a neighbour: they have ended, or others cover them."""
        gone = tuple(removed)
        for each in gone:
            self._send(link, AdvertisementWithdrawn(each, is_lost))
        return self.barrier.replaced(link, gone, lambda route: self.awaited(link, route)) if gone else []
