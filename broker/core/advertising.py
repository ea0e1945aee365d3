"""Which advertisements are announced to neighbours, and when a publisher may publish (R6).

Laws.

1. What has been announced to a neighbour is what the strategy makes of everything that is known some other
   way than through it. A broker that has moved is for a moment known two ways (R9); since the tree has no
   cycles, this law alone brings all tables to the truth again.
2. What comes into the place of something is announced before that is withdrawn. So whoever publishes is
   covered by something that everybody knows, all the time.
3. If an advertisement is lost and something else still stands for it, the loss is announced all the same.
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
        """A neighbour has come; nothing has been announced to it."""
        self.announced[link] = Announcements.nothing(self._strategy, self._broker)

    def remove_link(self, link: Hop) -> None:
        """A neighbour is gone."""
        del self.announced[link]

    def everything(self, link: Hop) -> tuple[tuple[str, Filter], ...]:
        """Announce to a new neighbour all that is known some other way (R9)."""
        difference = self.flood(link, self._tables.advertisements_but(link).items())
        return tuple((route.id, route.filter) for route in difference.added)

    def flood(self, other: Hop, advertisements: Iterable[tuple[str, Filter]]) -> Difference:
        """Return what of these is to be announced to a neighbour, without sending each (R9).

        What stands for several is answered all the same: others ride on it. For what stands only for itself,
        nobody waits who does not wait for the flood.
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
        """Make again what is in no snapshot."""
        for link, announced in self.announced.items():
            known = self._tables.advertisements_but(link)
            announced.rebuild(
                self._strategy, {each: RouteFilter(each, content) for each, content in known.items()}
            )

    def announce(self, route: RouteFilter, came_by: Hop | None, subscriptions: Iterable[str]) -> list[Passed]:
        """Announce it to every other neighbour, and return which barriers are passed by it."""
        passed: list[Passed] = []
        for link, announced in self.announced.items():
            if link is not came_by:
                passed += self._announce(link, announced.edit(add=[route]))
        return passed + self.await_others(route, came_by, subscriptions)

    def await_others(
        self, route: RouteFilter, came_by: Hop | None, subscriptions: Iterable[str]
    ) -> list[Passed]:
        """Wait until every other neighbour has answered what stands for this there."""
        others = [link for link in self.announced if link is not came_by]
        awaited = [each for link in others for each in self.awaited(link, route)]
        return self.barrier.start(route, came_by, awaited, subscriptions)

    def awaited(self, link: Hop, route: RouteFilter) -> list[Awaited]:
        """What a neighbour has to answer before it knows this."""
        standing = self.announced[link].covers_of(route)
        if all(self.barrier.is_unanswered(link, each) for each in standing):
            return [(link, each) for each in standing[:1]]
        return []

    def take_back(self, route: RouteFilter, came_by: Hop | None, *, is_lost: bool = False) -> list[Passed]:
        """It is not known through that hop any more, or no local publisher's; say what is passed by it."""
        passed: list[Passed] = []
        for link, announced in self.announced.items():
            if link is not came_by and not self._tables.is_advertised(route.id, link):
                difference = announced.edit(remove=[route.id])
                passed += self._announce(link, difference, is_lost=is_lost)
                if is_lost and not difference.removed:
                    self._send(link, PublishersLost(route.filter))
        return passed + self.barrier.withdrawn(route.id, came_by)

    def announce_anew(self, link: Hop, candidates: Mapping[str, RouteFilter]) -> list[Passed]:
        """Choose again what is announced of these, and send the difference; say what is passed by it."""
        difference, changed = self.announced[link].remake(candidates)
        passed = self.withdraw(link, changed)
        removed = tuple(each for each in difference.removed if each not in changed)
        return passed + self._announce(link, Difference(difference.added, removed))

    def _announce(self, link: Hop, difference: Difference, *, is_lost: bool = False) -> list[Passed]:
        for route in difference.added:
            self._send(link, AdvertisementAdded(route.id, route.filter))
            self.barrier.announced(link, route.id)
        return self.withdraw(link, difference.removed, is_lost=is_lost)

    def withdraw(self, link: Hop, removed: Iterable[str], *, is_lost: bool = False) -> list[Passed]:
        """Withdraw these from a neighbour: they are no more, or others stand for them."""
        gone = tuple(removed)
        for each in gone:
            self._send(link, AdvertisementWithdrawn(each, is_lost))
        return self.barrier.replaced(link, gone, lambda route: self.awaited(link, route)) if gone else []
