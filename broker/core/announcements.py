"""The routes announced to one neighbour on one level, of subscriptions or of advertisements.

The strategy's selection decides which of the candidates are announced. An *exact* strategy (`simple`)
announces each under its own id, the same on every link. With every other strategy, an announcement covers
several routes, and not always the same ones; so it gets an id that is valid for one link only and is never
taken for a client's.

Laws.

1. Several changes made in one `edit` go to the neighbour as one difference.
2. The selection follows from the state of this class and from the candidates, so a snapshot needs no more.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from attrs import Factory, define, frozen

from broker.routing.strategy import NOTHING, RouteFilter, Selection, Snapshot, Strategy


@frozen
class Difference:
    """The routes to announce to and to withdraw from a neighbour, under the ids of the link."""

    added: tuple[RouteFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to announce or to withdraw."""
        return bool(self.added or self.removed)


NO_DIFFERENCE: Final = Difference()


@define(eq=False)
class Announcements:
    """One level towards one neighbour: the selection's ids by those on the link, and the announced routes."""

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
        """Return the announcements of a new link: none."""
        return cls(strategy, strategy.selection(), broker)

    @property
    def is_exact(self) -> bool:
        """Return whether every route is announced under its own id."""
        return self._strategy.is_exact

    def edit(self, add: Iterable[RouteFilter] = (), remove: Iterable[str] = ()) -> Difference:
        """Add and remove candidates; return what that changes for the neighbour."""
        change = self._selection.edit(add, remove)
        return NO_DIFFERENCE if change is NOTHING else self._on_link(change.added, change.removed)

    def adopt(self, candidates: Iterable[RouteFilter], known: Iterable[RouteFilter]) -> Difference:
        """Add candidates, where the neighbour has been announced these routes by another broker.

        Under ids that are good everywhere they stay; others would be taken for those of a later link to that
        broker, so they are announced anew.
        """
        before = {route.id: route for route in known}
        standing = {each for each, route in before.items() if self.is_exact and each not in self.routes}
        difference = self.edit(candidates)
        added = tuple(each for each in difference.added if each.id not in standing or before[each.id] != each)
        gone = (each for each in before if each not in self.routes)
        return Difference(added, (*difference.removed, *gone))

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
        """Return whether the strategy may have announced exactly these routes for these candidates."""
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
        """Choose anew among these; return the difference, and the ids that mean another route now."""
        before, self.routes = self.routes, {}
        self._selection, self._ids = self._strategy.selection(), {}
        self.edit(add=candidates.values())
        added = tuple(route for each, route in self.routes.items() if before.get(each) != route)
        removed = tuple(each for each in before if each not in self.routes)
        return Difference(added, removed), tuple(route.id for route in added if route.id in before)

    def covers_of(self, route: RouteFilter) -> list[str]:
        """Return the ids on the link of all announced routes that cover this route."""
        return [self._ids[each] for each in self._selection.covers_of(route)]

    def rebuild(self, strategy: Strategy, candidates: Mapping[str, RouteFilter]) -> None:
        """Restore what no snapshot contains (law 2)."""
        routes = [(each, self.routes[on_link]) for each, on_link in self._ids.items()]
        announced = tuple(RouteFilter(each, route.filter, route.ordered) for each, route in routes)
        self._strategy = strategy
        self._selection = strategy.selection(Snapshot(announced, self._mergers), candidates.values())
