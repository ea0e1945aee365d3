"""What has been announced to one neighbour on one level, of subscriptions or of advertisements.

The strategy's selection says which of the candidates are announced. An *exact* strategy (`simple`) announces
each under its own id, the same on every link. With every other one, what is announced stands for several, now
for these and then for those; so it gets an id that is good for one link only, and nobody takes it for a
client's.

Laws.

1. Several changes made in one `edit` go to the neighbour as one difference.
2. The selection follows from what is here and from the candidates, so that a snapshot needs no more.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from attrs import Factory, define, frozen

from broker.routing.strategy import NOTHING, RouteFilter, Selection, Snapshot, Strategy


@frozen
class Difference:
    """What is to be announced to a neighbour, under the ids of the link."""

    added: tuple[RouteFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to announce."""
        return bool(self.added or self.removed)


NO_DIFFERENCE: Final = Difference()


@define(eq=False)
class Announcements:
    """One level towards one neighbour: ids on the link by the selection's own, and what stands under them."""

    DERIVED: ClassVar = frozenset({"_strategy", "_selection"})

    _strategy: Strategy
    _selection: Selection
    _broker: str
    _ids: dict[str, str] = Factory(dict)
    routes: dict[str, RouteFilter] = Factory(dict)
    _count: int = 0
    _mergers: int = 0

    @classmethod
    def nothing(cls, strategy: Strategy, broker: str) -> "Announcements":
        """Nothing has been announced yet."""
        return cls(strategy, strategy.selection(), broker)

    @property
    def is_exact(self) -> bool:
        """Whether everything is announced, under its own id."""
        return self._strategy.is_exact

    def edit(self, add: Iterable[RouteFilter] = (), remove: Iterable[str] = ()) -> Difference:
        """Candidates came and went; say what that changes for the neighbour."""
        change = self._selection.edit(add, remove)
        return NO_DIFFERENCE if change is NOTHING else self._on_link(change.added, change.removed)

    def _on_link(self, added: Iterable[RouteFilter], removed: Iterable[str]) -> Difference:
        gone = tuple(self._ids.pop(each) for each in removed)
        for each in gone:
            del self.routes[each]
        named = tuple(map(self._named, added))
        self._mergers = self._selection.mergers
        return Difference(named, gone)

    def _named(self, route: RouteFilter) -> RouteFilter:
        named = route
        if not self.is_exact:
            self._count += 1
            named = RouteFilter(f"{self._broker}~{self._count}", route.filter, route.ordered)
        self._ids[route.id] = named.id
        self.routes[named.id] = named
        return named

    def is_right(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Whether this is what the strategy may have announced of these candidates, and nothing else."""
        announced = self._selection.announced
        on_link = {each: self.routes.get(self._ids.get(each, "")) for each in announced}
        if len(self.routes) != len(announced) or any(
            route is None or route.item != announced[each].item for each, route in on_link.items()
        ):
            return False
        if not self._selection.chooses_from(candidates):
            return False
        if self.is_exact:
            return True
        items = {route.item for route in candidates.values()}
        if not self._strategy.unites and any(route.item not in items for route in announced.values()):
            return False
        standing = {each.item: frozenset(self._selection.covers_of(each)) for each in candidates.values()}
        return all(standing.values()) and frozenset().union(*standing.values()) == frozenset(announced)

    def remake(self, candidates: Mapping[str, RouteFilter]) -> tuple[Difference, tuple[str, ...]]:
        """Choose anew among these; say what that changes, and which ids mean something else now."""
        before, self.routes = self.routes, {}
        self._selection, self._ids = self._strategy.selection(), {}
        self.edit(add=candidates.values())
        added = tuple(route for each, route in self.routes.items() if before.get(each) != route)
        removed = tuple(each for each in before if each not in self.routes)
        return Difference(added, removed), tuple(route.id for route in added if route.id in before)

    def covers_of(self, route: RouteFilter) -> list[str]:
        """The ids on the link of all that was announced and stands for it."""
        return [self._ids[each] for each in self._selection.covers_of(route)]

    def rebuild(self, strategy: Strategy, candidates: Mapping[str, RouteFilter]) -> None:
        """Make again what is in no snapshot (law 2)."""
        routes = [(each, self.routes[on_link]) for each, on_link in self._ids.items()]
        announced = tuple(RouteFilter(each, route.filter, route.ordered) for each, route in routes)
        self._strategy = strategy
        self._selection = strategy.selection(Snapshot(announced, self._mergers), candidates.values())
