"""Covering routing: what a told filter covers is not told.

Theory of operation: every item is either told, or held by one told item that stands for it. An item that
comes is compared with what is told, never with what is held: if something stands for it, it is held; else it
is told, and what it stands for becomes held by it. When a told item ends, only what it held looks for another
place. Which of several holds an item does not show: an item is told iff nothing told stands for it.

`Filter.covers` is false in doubt, so it is not quite transitive. Therefore what an item held before it came
to be held itself may have to be placed anew, and an item that moves again and again within one change stays
(`RETURNS_LIMIT`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import Factory, define

from broker.routing.coverage import CoverIndex, is_above, maximal, narrowness, stands_for, wins
from broker.routing.grouped import GroupedStrategy, Moves
from broker.routing.strategy import Item

RETURNS_LIMIT = 2
"""Filters that stand for each other in a ring, without any of them being known to be equal, could move for
ever; no others move more than once or twice."""

RISEN_TRIED = 4
"""Trying one costs a tenth of a lookup, and the first to be told are likely to cover most."""


@define(eq=False)
class Maximal:
    """Tells the items that no other stands for."""

    _told: CoverIndex = Factory(CoverIndex)
    _holder: dict[Item, Item] = Factory(dict)
    _held: dict[Item, dict[Item, None]] = Factory(dict)

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """Tell each instead of what it stands for, or let something told hold it; the widest come first."""
        ordered = sorted(items, key=narrowness, reverse=True) if len(items) > 1 else list(items)
        self._place(ordered, moves)

    def ended(self, item: Item, moves: Moves) -> None:
        """Forget it, and find another place for what it held."""
        holder = self._holder.pop(item, None)
        if holder is not None:
            del self._held[holder][item]
        else:
            self._place(sorted(self._fall(item, moves), key=narrowness, reverse=True), moves)

    def standing_for(self, item: Item) -> Iterable[Item]:
        """All told items that stand for an item."""
        return self._told.standing_for(item)

    def again(self, told: Iterable[Item], candidates: Iterable[Item]) -> None:
        """Go on from what was told of these candidates."""
        for item in told:
            self._rise(item)
        self.came([item for item in candidates if item not in self._held], Moves())

    def _place(self, pending: list[Item], moves: Moves) -> None:
        """Tell each item, or have it held, from the last to the first."""
        returns: Counter[Item] = Counter()
        risen: list[Item] = []
        while pending:
            item = pending.pop()
            holder = self._holder_for(item, risen)
            if holder is not None and returns[item] < RETURNS_LIMIT:
                self._hold(holder, item)
                continue
            returns[item] += 1
            below = [each for each in self._told.covered_by(item) if wins(item, each)]
            self._rise(item)
            risen.append(item)
            moves.tell(item)
            for each in below:
                if returns[each] < RETURNS_LIMIT:
                    pending += self._replace(each, item, moves)

    def _holder_for(self, item: Item, risen: list[Item]) -> Item | None:
        """Something told that stands for an item; what has just been told is tried first."""
        for each in risen[:RISEN_TRIED]:
            if each in self._held and is_above(each, item):
                return each
        for each in self._told.near(item):
            if is_above(each, item):
                return each
        return None

    def _replace(self, lower: Item, upper: Item, moves: Moves) -> list[Item]:
        """Let one hold another and what that held; return what it does not stand for."""
        left: list[Item] = []
        for item in self._fall(lower, moves):
            if stands_for(upper, item):
                self._hold(upper, item)
            else:
                left.append(item)
        self._hold(upper, lower)
        return left

    def _rise(self, item: Item) -> None:
        self._told.add(item)
        self._held[item] = {}

    def _fall(self, item: Item, moves: Moves) -> Iterable[Item]:
        """Tell an item no more; return what it held."""
        self._told.remove(item)
        moves.take_back(item)
        held = self._held.pop(item)
        for each in held:
            del self._holder[each]
        return held

    def _hold(self, holder: Item, item: Item) -> None:
        self._holder[item] = holder
        self._held[holder][item] = None


COVERING: Final = GroupedStrategy("covering", Maximal, stands_for, maximal)
"""See the module."""
