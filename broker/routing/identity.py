"""Identity routing: of candidates with equal filters one is announced.

An ordered candidate covers an unordered one with the same filter, but not the other way round: order would be
lost.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import Factory, define

from broker.filters import Filter
from broker.routing.grouped import GroupedStrategy, Moves
from broker.routing.strategy import Item


@define(eq=False)
class Distinct:
    """Announces each filter once, ordered if some candidate with it is."""

    _ordered: set[Filter] = Factory(set)
    _unordered: set[Filter] = Factory(set)

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """Announce each item, unless an ordered one covers it."""
        for item in items:
            self._came(item, moves)

    def _came(self, item: Item, moves: Moves) -> None:
        if item.ordered:
            self._ordered.add(item.filter)
            if item.filter in self._unordered:
                moves.withdraw(Item(item.filter, ordered=False))
        else:
            self._unordered.add(item.filter)
            if item.filter in self._ordered:
                return
        moves.announce(item)

    def ended(self, item: Item, moves: Moves) -> None:
        """Withdraw the item, and announce the item that it covered."""
        if item.ordered:
            self._ordered.remove(item.filter)
            if item.filter in self._unordered:
                moves.announce(Item(item.filter, ordered=False))
        else:
            self._unordered.remove(item.filter)
            if item.filter in self._ordered:
                return
        moves.withdraw(item)

    def covers_of(self, item: Item) -> Iterator[Item]:
        """Yield the announced item with the same filter, if it keeps the required order."""
        if item.filter in self._ordered:
            yield Item(item.filter, ordered=True)
        elif item.filter in self._unordered and not item.ordered:
            yield item

    def again(self, announced: Iterable[Item], candidates: Iterable[Item]) -> None:  # noqa: ARG002 - it follows
        """Restore the choice from the announced items and the candidates."""
        for item in candidates:
            (self._ordered if item.ordered else self._unordered).add(item.filter)


def _covers_item(announced: Item, wanted: Item) -> bool:
    return announced.filter == wanted.filter and (announced.ordered or not wanted.ordered)


def _distinct(items: Iterable[Item]) -> list[Item]:
    known = set(items)
    return [item for item in known if item.ordered or Item(item.filter, ordered=True) not in known]


IDENTITY: Final = GroupedStrategy("identity", Distinct, _covers_item, _distinct)
"""See the module."""
