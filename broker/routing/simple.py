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
        """What has been announced to the neighbour, which are the candidates."""
        return self._announced

    def add(self, route: RouteFilter) -> Change:
        """Announce it."""
        known = self._announced.get(route.id)
        if known == route:
            return NOTHING
        if known is not None:
            del self._announced[route.id]  # It goes to the end, as something newly announced.
        self._announced[route.id] = route
        return Change(added=(route,), removed=() if known is None else (route.id,))

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Take it back."""
        return NOTHING if self._announced.pop(id, None) is None else Change(removed=(id,))

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Announce and take back."""
        return edited(self, add, remove)

    def covers_of(self, route: RouteFilter) -> Iterable[str]:
        """Only the same route stands for a route."""
        return (route.id,) if self._announced.get(route.id) == route else ()

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Whether these, by id, are all that it announces."""
        return self._announced == candidates

    def snapshot(self) -> Snapshot:
        """What has to be kept of it."""
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
        """Make a selection, or make one again."""
        return Everything({route.id: route for route in snapshot.announced})

    def covers_item(self, announced: Item, wanted: Item) -> bool:
        """Whether announcing the first spares announcing the second: only if they also have the same id."""
        return announced == wanted

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """What to announce of these candidates: all of them."""
        by_id = {route.id: route for route in candidates}
        return tuple(by_id[each] for each in sorted(by_id))
