"""Simple routing: every candidate is announced under its own id."""

from collections.abc import Iterable, Mapping

from attrs import Factory, define, field, frozen

from broker.routing.strategy import (
    NOTHING,
    NOTHING_ANNOUNCED,
    Change,
    Item,
    RouteFilter,
    Selection,
    Snapshot,
    edited,
)


@define(eq=False)
class Everything:
    """The selection that announces every candidate."""

    _announced: dict[str, RouteFilter] = Factory(dict)
    mergers: int = field(default=0, init=False)

    @property
    def announced(self) -> Mapping[str, RouteFilter]:
        """Return the announced routes, which are the candidates."""
        return self._announced

    def add(self, route: RouteFilter) -> Change:
        """Announce the candidate."""
        known = self._announced.get(route.id)
        if known == route:
            return NOTHING
        if known is not None:
            del self._announced[route.id]  # It goes to the end, as something newly announced.
        self._announced[route.id] = route
        return Change(added=(route,), removed=() if known is None else (route.id,))

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Withdraw the candidate."""
        return NOTHING if self._announced.pop(id, None) is None else Change(removed=(id,))

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Announce and withdraw these candidates."""
        return edited(self, add, remove)

    def covers_of(self, route: RouteFilter) -> Iterable[str]:
        """Return the id of the route if it is announced: only the same route covers a route."""
        return (route.id,) if self._announced.get(route.id) == route else ()

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Return whether these, by id, are all its candidates."""
        return self._announced == candidates

    def snapshot(self) -> Snapshot:
        """Return the announced routes."""
        return Snapshot(tuple(self._announced.values()))


@frozen
class Simple:
    """See the module."""

    name: str = "simple"
    floods: bool = False
    is_exact: bool = True
    unites: bool = False
    is_perfect: bool = True

    def selection(
        self,
        snapshot: Snapshot = NOTHING_ANNOUNCED,
        candidates: Iterable[RouteFilter] = (),  # noqa: ARG002 - they are what was announced
    ) -> Selection:
        """Make a selection, or restore one."""
        return Everything({route.id: route for route in snapshot.announced})

    def covers_item(self, announced: Item, wanted: Item) -> bool:
        """Return whether both are the same item, as far as it can be seen without ids."""
        return announced == wanted

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """Return all of these candidates, sorted by id."""
        by_id = {route.id: route for route in candidates}
        return tuple(by_id[each] for each in sorted(by_id))
