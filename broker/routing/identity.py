"""Identity routing: of candidates with equal filters one is announced.

An ordered one stands for an unordered one with the same filter, but not the other way round: order would be
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
        """Announce each, unless an ordered one stands for it."""
        for item in items:
            self._came(item, moves)

    def _came(self, item: Item, moves: Moves) -> None:
        if item.ordered:
            self._ordered.add(item.filter)
            if item.filter in self._unordered:
                moves.take_back(Item(item.filter, ordered=False))
        else:
            self._unordered.add(item.filter)
            if item.filter in self._ordered:
                return
        moves.announce(item)

    def ended(self, item: Item, moves: Moves) -> None:
        """Take it back, and announce what it stood for."""
        if item.ordered:
            self._ordered.remove(item.filter)
            if item.filter in self._unordered:
                moves.announce(Item(item.filter, ordered=False))
        else:
            self._unordered.remove(item.filter)
            if item.filter in self._ordered:
                return
        moves.take_back(item)

    def covers_of(self, item: Item) -> Iterator[Item]:
        """The announced item with the same filter, if it keeps the order that is wanted."""
        if item.filter in self._ordered:
            yield Item(item.filter, ordered=True)
        elif item.filter in self._unordered and not item.ordered:
            yield item

    def again(self, announced: Iterable[Item], candidates: Iterable[Item]) -> None:  # noqa: ARG002 - it follows
        """Go on from what was announced of these candidates."""
        for item in candidates:
            (self._ordered if item.ordered else self._unordered).add(item.filter)


def _covers_item(announced: Item, wanted: Item) -> bool:
    return announced.filter == wanted.filter and (announced.ordered or not wanted.ordered)


def _distinct(items: Iterable[Item]) -> list[Item]:
    known = set(items)
    return [item for item in known if item.ordered or Item(item.filter, ordered=True) not in known]


IDENTITY: Final = GroupedStrategy("identity", Distinct, _covers_item, _distinct)
"""See the module."""
