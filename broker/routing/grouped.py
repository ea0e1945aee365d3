"""A selection in which equal candidates count once; the strategies differ in which items they tell.

Theory of operation: candidates with the same filter share an item. A choice hears of each item that comes and
goes, and moves items into and out of what is told. `told` turns those moves into a change with ids.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from attrs import Factory, define, frozen

from broker.routing.candidates import Candidates
from broker.routing.strategy import NOTHING_TOLD, Change, Item, Picture, Selection, Wish
from broker.routing.told import Told


@define(eq=False)
class Moves:
    """Items on their way into what is told, and out of it. One that goes out and in again has not moved."""

    dropped: dict[Item, None] = Factory(dict)
    new: dict[Item, None] = Factory(dict)

    def tell(self, item: Item) -> None:
        """The item is to be told."""
        if item in self.dropped:
            del self.dropped[item]
        else:
            self.new[item] = None

    def take_back(self, item: Item) -> None:
        """The item is to be told no more."""
        if item in self.new:
            del self.new[item]
        else:
            self.dropped[item] = None


class Choice(Protocol):
    """Which items are told: the heart of a strategy."""

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """The first candidates with these items have come."""

    def ended(self, item: Item, moves: Moves) -> None:
        """The last candidate with this item has gone."""

    def standing_for(self, item: Item) -> Iterable[Item]:
        """All told items that stand for an item, each once."""

    def again(self, told: Iterable[Item], candidates: Iterable[Item]) -> None:
        """Go on from what was told of these candidates."""


@define(eq=False)
class Grouped:
    """The selection of the strategies that tell equal candidates once."""

    _candidates: Candidates
    _told: Told
    _choice: Choice

    @classmethod
    def again(cls, picture: Picture, candidates: Iterable[Wish], choice: Choice) -> "Grouped":
        """Make it again from what was kept."""
        known = Candidates()
        for wish in candidates:
            known.add(wish)
        choice.again([wish.item for wish in picture.told], sorted(known.items(), key=known.ids))
        return cls(known, Told.again(picture, known), choice)

    @property
    def told(self) -> Mapping[str, Wish]:
        """What the neighbour has been told, by id, in the order it was told."""
        return self._told.wishes

    @property
    def mergers(self) -> int:
        """How many ids of its own the selection has given to mergers so far."""
        return self._told.mergers

    def add(self, wish: Wish) -> Change:
        """Take a candidate in; one with its id is replaced, an equal one changes nothing."""
        return self.edit((wish,), ())

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Forget a candidate; an unknown one changes nothing."""
        return self.edit((), (id,))

    def edit(self, add: Iterable[Wish], remove: Iterable[str]) -> Change:
        """Take candidates in and forget some, as one change."""
        moves = Moves()
        came = [wish.item for wish in {wish.id: wish for wish in add}.values() if self._is_new(wish, moves)]
        if came:
            self._choice.came(came, moves)
        for gone in remove:
            known = self._candidates.get(gone)
            if known is not None and self._candidates.remove(known):
                self._choice.ended(known.item, moves)
        return self._told.change(moves.dropped, moves.new)

    def _is_new(self, wish: Wish, moves: Moves) -> bool:
        """Take a candidate in; tell whether its item is new."""
        known = self._candidates.get(wish.id)
        if known == wish:
            return False
        if known is not None and self._candidates.remove(known):
            self._choice.ended(known.item, moves)
        return self._candidates.add(wish)

    def standing_for(self, wish: Wish) -> Iterable[str]:
        """The ids of all told items that stand for the wish, sorted."""
        return sorted(self._told.id_of(item) for item in self._choice.standing_for(wish.item))

    def chooses_from(self, candidates: Mapping[str, Wish]) -> bool:
        """Whether these, by id, are all its candidates."""
        known = self._candidates
        return len(known) == len(candidates) and all(known.get(id_) == candidates[id_] for id_ in candidates)

    def picture(self) -> Picture:
        """What has to be kept, beside the candidates, to make the selection again."""
        return self._told.picture()


@frozen
class GroupedStrategy:
    """A strategy made of a choice, of what stands for what, and of what a computation from scratch keeps."""

    name: str
    _choice: Callable[[], Choice]
    stands_for: Callable[[Item, Item], bool]
    _kept: Callable[[Iterable[Item]], Iterable[Item]]
    floods: bool = False
    is_exact: bool = False
    unites: bool = False
    is_perfect: bool = True

    def selection(
        self,
        picture: Picture = NOTHING_TOLD,
        candidates: Iterable[Wish] = (),
    ) -> Selection:
        """Make a selection, or make one again."""
        return Grouped.again(picture, candidates, self._choice())

    def reduce(self, candidates: Iterable[Wish]) -> tuple[Wish, ...]:
        """What is kept of these candidates' items, each under its smallest id."""
        smallest: dict[Item, str] = {}
        for wish in candidates:
            smallest[wish.item] = min(wish.id, smallest.get(wish.item, wish.id))
        chosen = [Wish(smallest[item], item.filter, item.ordered) for item in self._kept(smallest)]
        return tuple(sorted(chosen, key=lambda wish: wish.id))
