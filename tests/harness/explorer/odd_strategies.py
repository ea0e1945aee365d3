"""Strategies that nobody should use: one that is not legal, and one that is, and never forgets."""

from collections.abc import Callable, Iterable, Mapping

from attrs import Factory, define, frozen

from broker.routing import Change, Item, RouteFilter, Snapshot
from broker.routing.strategy import edited

Reduce = Callable[[Iterable[RouteFilter], Mapping[str, RouteFilter]], dict[str, RouteFilter]]


@define(eq=False)
class Recomputed:
    """Announces what a function makes of all candidates, and of what was announced before."""

    reduce: Reduce
    suffices: Callable[[Item, Item], bool]
    candidates: dict[str, RouteFilter] = Factory(dict)
    announced: dict[str, RouteFilter] = Factory(dict)
    mergers: int = 0

    def add(self, route: RouteFilter) -> Change:
        self.candidates[route.id] = route
        return self._change()

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        self.candidates.pop(id, None)
        return self._change()

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        return edited(self, add, remove)

    def _change(self) -> Change:
        before, self.announced = self.announced, self.reduce(self.candidates.values(), self.announced)
        added = [route for each, route in sorted(self.announced.items()) if each not in before]
        return Change(tuple(added), tuple(sorted(each for each in before if each not in self.announced)))

    def covers_of(self, route: RouteFilter) -> list[str]:
        return sorted(
            each for each, announced in self.announced.items() if self.suffices(announced.item, route.item)
        )

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        return self.candidates == candidates

    def snapshot(self) -> Snapshot:
        return Snapshot(tuple(self.announced.values()))


def _overlaps(announced: Item, wanted: Item) -> bool:
    return announced.filter.overlaps(wanted.filter) and (announced.ordered or not wanted.ordered)


def _few(candidates: Iterable[RouteFilter], _: Mapping[str, RouteFilter]) -> dict[str, RouteFilter]:
    """Whatever overlaps what is announced already need not be announced."""
    announced: dict[str, RouteFilter] = {}
    for route in sorted(candidates, key=lambda each: each.id):
        if not any(_overlaps(other.item, route.item) for other in announced.values()):
            announced[route.id] = route
    return announced


def _same(announced: Item, wanted: Item) -> bool:
    return announced == wanted


def _all_that_ever_came(
    candidates: Iterable[RouteFilter], announced: Mapping[str, RouteFilter]
) -> dict[str, RouteFilter]:
    return {**announced, **{route.id: route for route in candidates}}


@frozen
class Odd:
    """A strategy made of these."""

    name: str
    reducing: Reduce
    suffices: Callable[[Item, Item], bool]
    floods: bool = False
    is_exact: bool = False
    unites: bool = False
    is_perfect: bool = True

    def selection(
        self,
        snapshot: Snapshot | None = None,
        candidates: Iterable[RouteFilter] = (),
        *,
        label: str = "",
    ) -> Recomputed:
        del snapshot, candidates, label
        return Recomputed(self.reducing, self.suffices)

    def covers_item(self, announced: Item, wanted: Item) -> bool:
        return self.suffices(announced, wanted)

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        return tuple(self.reducing(candidates, {}).values())


OVERLAPPING = Odd("overlapping", _few, _overlaps)
"""Not legal: a route that merely overlaps another one does not cover it."""

HOARDING = Odd("hoarding", _all_that_ever_came, _same)
"""Legal: it announces enough. But never perfect, and some routes are left."""
