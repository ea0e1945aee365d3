"""What neighbours are told of advertisements, and when a publisher may publish (R6).

Laws.

1. What a neighbour has been told is what the strategy makes of everything that is known some other way than
   through it. A broker that has moved is for a moment known two ways (R9); since the tree has no cycles,
   this law alone brings all tables to the truth again.
2. What comes into the place of something is announced before that is withdrawn. So whoever publishes is
   covered by something that everybody knows, all the time.
3. If an advertisement is lost and something else still stands for it, the loss is told all the same.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from attrs import Factory, define

from broker.core.barrier import Awaited, Barrier, Passed
from broker.core.hops import Hop
from broker.core.tables import RoutingTables
from broker.core.told import Difference, Told
from broker.filters import Filter
from broker.messages import AdvertisementAdded, AdvertisementWithdrawn, Control, PublishersLost
from broker.routing.strategy import Strategy, Wish


@define(eq=False)
class Advertising:
    """The advertisements of one broker, as its neighbours are told of them."""

    DERIVED: ClassVar = frozenset({"_strategy"})

    _broker: str
    _strategy: Strategy
    _tables: RoutingTables
    _send: Callable[[Hop, Control], None]
    barrier: Barrier = Factory(Barrier)
    told: dict[Hop, Told] = Factory(dict)

    def add_link(self, link: Hop) -> None:
        """A neighbour is to be told; nothing yet."""
        self.told[link] = Told.nothing(self._strategy, self._broker)

    def remove_link(self, link: Hop) -> None:
        """A neighbour is gone."""
        del self.told[link]

    def everything(self, link: Hop) -> tuple[tuple[str, Filter], ...]:
        """Tell a new neighbour all that is known some other way (R9)."""
        difference = self.flood(link, self._tables.advertisements_but(link).items())
        return tuple((wish.id, wish.filter) for wish in difference.added)

    def flood(self, other: Hop, advertisements: Iterable[tuple[str, Filter]]) -> Difference:
        """Say what is to be told a neighbour of these without announcing each (R9).

        What stands for several is answered all the same: others ride on it. For what stands only for itself,
        nobody waits who does not wait for the flood.
        """
        if self._strategy.floods:
            return Difference()
        difference = self.told[other].edit(add=[Wish(each, content) for each, content in advertisements])
        if not self._strategy.is_exact:
            for wish in difference.added:
                self.barrier.announced(other, wish.id)
        return difference

    def rebuild(self) -> None:
        """Make again what is in no picture."""
        for link, told in self.told.items():
            known = self._tables.advertisements_but(link)
            told.rebuild(self._strategy, {each: Wish(each, content) for each, content in known.items()})

    def announce(self, wish: Wish, came_by: Hop | None, subscriptions: Iterable[str]) -> list[Passed]:
        """Tell every other neighbour, and say which barriers are passed by it."""
        passed: list[Passed] = []
        for link, told in self.told.items():
            if link is not came_by:
                passed += self._tell(link, told.edit(add=[wish]))
        return passed + self.await_others(wish, came_by, subscriptions)

    def await_others(self, wish: Wish, came_by: Hop | None, subscriptions: Iterable[str]) -> list[Passed]:
        """Wait until every other neighbour has answered what stands for this there."""
        others = [link for link in self.told if link is not came_by]
        awaited = [each for link in others for each in self.awaited(link, wish)]
        return self.barrier.start(wish, came_by, awaited, subscriptions)

    def awaited(self, link: Hop, wish: Wish) -> list[Awaited]:
        """What a neighbour has to answer before it knows this."""
        standing = self.told[link].standing_for(wish)
        if all(self.barrier.is_unanswered(link, each) for each in standing):
            return [(link, each) for each in standing[:1]]
        return []

    def take_back(self, wish: Wish, came_by: Hop | None, *, is_lost: bool = False) -> list[Passed]:
        """It is not known through that hop any more, or no local publisher's; say what is passed by it."""
        passed: list[Passed] = []
        for link, told in self.told.items():
            if link is not came_by and not self._tables.is_advertised(wish.id, link):
                difference = told.edit(remove=[wish.id])
                passed += self._tell(link, difference, is_lost=is_lost)
                if is_lost and not difference.removed:
                    self._send(link, PublishersLost(wish.filter))
        return passed + self.barrier.withdrawn(wish.id, came_by)

    def announce_anew(self, link: Hop, candidates: Mapping[str, Wish]) -> list[Passed]:
        """Choose again what is announced of these, and send the difference; say what is passed by it."""
        difference, changed = self.told[link].remake(candidates)
        passed = self.withdraw(link, changed)
        removed = tuple(each for each in difference.removed if each not in changed)
        return passed + self._tell(link, Difference(difference.added, removed))

    def _tell(self, link: Hop, difference: Difference, *, is_lost: bool = False) -> list[Passed]:
        for wish in difference.added:
            self._send(link, AdvertisementAdded(wish.id, wish.filter))
            self.barrier.announced(link, wish.id)
        return self.withdraw(link, difference.removed, is_lost=is_lost)

    def withdraw(self, link: Hop, removed: Iterable[str], *, is_lost: bool = False) -> list[Passed]:
        """Tell a neighbour that these are no more, or that others stand for them."""
        gone = tuple(removed)
        for each in gone:
            self._send(link, AdvertisementWithdrawn(each, is_lost))
        return self.barrier.replaced(link, gone, lambda wish: self.awaited(link, wish)) if gone else []
