"""Strategies that nobody should use: one that is not legal, and one that is, and never forgets."""

from collections.abc import Callable, Iterable, Mapping

from attrs import Factory, define, frozen

from broker.routing import Change, Item, Snapshot, Wish
from broker.routing.strategy import edited

Reduce = Callable[[Iterable[Wish], Mapping[str, Wish]], dict[str, Wish]]


@define(eq=False)
class Recomputed:
    """Announces what a function makes of all candidates, and of what was announced before."""

    reduce: Reduce
    suffices: Callable[[Item, Item], bool]
    candidates: dict[str, Wish] = Factory(dict)
    announced: dict[str, Wish] = Factory(dict)
    mergers: int = 0

    def add(self, wish: Wish) -> Change:
        self.candidates[wish.id] = wish
        return self._change()

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        self.candidates.pop(id, None)
        return self._change()

    def edit(self, add: Iterable[Wish], remove: Iterable[str]) -> Change:
        return edited(self, add, remove)

    def _change(self) -> Change:
        before, self.announced = self.announced, self.reduce(self.candidates.values(), self.announced)
        added = [wish for each, wish in sorted(self.announced.items()) if each not in before]
        return Change(tuple(added), tuple(sorted(each for each in before if each not in self.announced)))

    def standing_for(self, wish: Wish) -> list[str]:
        return sorted(
            each for each, announced in self.announced.items() if self.suffices(announced.item, wish.item)
        )

    def chooses_from(self, candidates: Mapping[str, Wish]) -> bool:
        return self.candidates == candidates

    def snapshot(self) -> Snapshot:
        return Snapshot(tuple(self.announced.values()))


def _overlaps(announced: Item, wanted: Item) -> bool:
    return announced.filter.overlaps(wanted.filter) and (announced.ordered or not wanted.ordered)


def _few(candidates: Iterable[Wish], _: Mapping[str, Wish]) -> dict[str, Wish]:
    """Whatever overlaps what is announced already need not be announced."""
    announced: dict[str, Wish] = {}
    for wish in sorted(candidates, key=lambda each: each.id):
        if not any(_overlaps(other.item, wish.item) for other in announced.values()):
            announced[wish.id] = wish
    return announced


def _same(announced: Item, wanted: Item) -> bool:
    return announced == wanted


def _all_that_ever_came(candidates: Iterable[Wish], announced: Mapping[str, Wish]) -> dict[str, Wish]:
    return {**announced, **{wish.id: wish for wish in candidates}}


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
        candidates: Iterable[Wish] = (),
        *,
        label: str = "",
    ) -> Recomputed:
        del snapshot, candidates, label
        return Recomputed(self.reducing, self.suffices)

    def stands_for(self, announced: Item, wanted: Item) -> bool:
        return self.suffices(announced, wanted)

    def reduce(self, candidates: Iterable[Wish]) -> tuple[Wish, ...]:
        return tuple(self.reducing(candidates, {}).values())


OVERLAPPING = Odd("overlapping", _few, _overlaps)
"""Not legal: what merely overlaps does not stand for anything."""

HOARDING = Odd("hoarding", _all_that_ever_came, _same)
"""Legal: it tells enough. But never perfect, and something is left."""
