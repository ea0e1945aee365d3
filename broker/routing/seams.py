"""Items by their seams: with which of them can an item be united?

Theory of operation: at one seam, items differ in one constraint alone. Those constraints are kept in order,
by type and by where they begin; so what touches a constraint is near its position in that order.

Law: what is found depends on the items in it alone, and on nothing else.
"""

from collections.abc import Hashable, Iterator
from math import inf
from typing import Final

from attrs import Factory, define, frozen
from sortedcontainers import SortedKeyList

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Containing,
    ListPattern,
    NotNull,
    Null,
    NumberRange,
    NumberSet,
    OwnPattern,
    TextPattern,
    TextSet,
    Truths,
)
from broker.routing.strategy import Item
from broker.routing.unions import Seam, cuts

WINDOW: Final = 4
"""Items that begin before a constraint, or after its end, and may still be united with it. Those announced do
not touch each other, so at most one before reaches it; hulls may reach over some."""

_RELATED: Final[dict[type[Constraint], tuple[type[Constraint], ...]]] = {
    NumberRange: (NumberRange, NumberSet),
    NumberSet: (NumberSet, NumberRange),
    TextPattern: (TextPattern, TextSet),
    TextSet: (TextSet, TextPattern),
    Truths: (Truths,),
    ListPattern: (ListPattern,),
    NotNull: (Null,),
    Null: (NotNull,),
    OwnPattern: (OwnPattern,),
    Containing: (),
    AnyValue: (),
}
"""Types of constraints that may be united. What exists anyhow covers all else, and needs no union."""


@frozen
class Piece:
    """An item, and the constraint that was cut out of it at a seam."""

    item: Item
    constraint: Constraint
    position: tuple[float | str, str]


def _position(constraint: Constraint, name: str) -> tuple[float | str, str]:
    """Return where the constraint begins, and how it is written: its position among those of its type."""
    return (_span(constraint)[0], constraint.printed(name))


def _span(constraint: Constraint) -> tuple[float | str, float | str | None]:
    """Return the first value and the last; None is behind all texts."""
    match constraint:
        case NumberRange(low, _, high):
            return (-inf if low is None else low, inf if high is None else high)
        case NumberSet(values) | TextSet(values):
            return (min(values), max(values))
        case TextPattern():
            return constraint.interval
        case _:
            return (0, 0)


def _by_position(piece: Piece) -> tuple[float | str, str]:
    return piece.position


@define(eq=False)
class Edge:
    """The items at one seam."""

    _pieces: dict[type[Constraint], SortedKeyList[Piece, tuple[float | str, str]]] = Factory(dict)

    def add(self, item: Item, constraint: Constraint, name: str) -> None:
        """Add an item."""
        pieces = self._pieces.get(type(constraint))
        if pieces is None:
            pieces = self._pieces[type(constraint)] = SortedKeyList(key=_by_position)
        pieces.add(Piece(item, constraint, _position(constraint, name)))

    def remove(self, item: Item, constraint: Constraint, name: str) -> None:
        """Remove an item."""
        pieces = self._pieces[type(constraint)]
        pieces.remove(Piece(item, constraint, _position(constraint, name)))
        if not pieces:
            del self._pieces[type(constraint)]

    def near(self, constraint: Constraint) -> Iterator[Piece]:
        """Yield the items that may be united with one that has this constraint, in order."""
        start, end = _span(constraint)
        for kind in _RELATED[type(constraint)]:
            pieces = self._pieces.get(kind)
            if pieces:
                first = pieces.bisect_key_left((start, "")) - WINDOW
                last = len(pieces) if end is None else pieces.bisect_key_right((end, "")) + WINDOW
                yield from pieces.islice(max(0, first), min(last, len(pieces)))

    def __bool__(self) -> bool:
        """Return whether there is any item."""
        return bool(self._pieces)


@define(eq=False)
class Seams:
    """Items by all their seams."""

    _edges: dict[Hashable, Edge] = Factory(dict)

    def add(self, item: Item) -> None:
        """Add an item."""
        for cut in cuts(item):
            edge = self._edges.get(cut.seam)
            if edge is None:
                edge = self._edges[cut.seam] = Edge()
            edge.add(item, cut.constraint, cut.seam.name)

    def remove(self, item: Item) -> None:
        """Remove an item."""
        for cut in cuts(item):
            edge = self._edges[cut.seam]
            edge.remove(item, cut.constraint, cut.seam.name)
            if not edge:
                del self._edges[cut.seam]

    def near(self, seam: Seam, constraint: Constraint) -> Iterator[Piece]:
        """Return the items with this seam that may be united with one that has it and this constraint."""
        edge = self._edges.get(seam)
        return iter(()) if edge is None else edge.near(constraint)

    def __bool__(self) -> bool:
        """Return whether there is any item."""
        return bool(self._edges)
