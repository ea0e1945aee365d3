"""Merging routing: announced items are united where one filter can cover several.

Theory of operation: every candidate of a selection is subscribed to through other hops than the neighbour, so
any union of candidates may be announced. An item that comes, and that no announced item covers, is united
with announced items as long as some can be (see `unions`); the union is announced in place of its parts and
of the items that it covers. When an item ends, each announced item that covered it stays if the candidates
that it still covers make the same union; else it is taken apart, and the parts that no other item covers are
united anew.

Laws:

* An announced item is the union of the candidates that it covers; with a factor above 1 it may be a hull
  (`unions`).
* Ordered items are united with ordered ones only: more ordered subscriptions make other publications wait.
* The parts of an announced item are not remembered but looked up, so they follow from the announced items and
  the candidates.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from attrs import Factory, define, frozen

from broker.routing.covering import (
    RETURNS_LIMIT,
    CoverIndex,
    covers_item,
    covers_transitively,
    equal,
    witness,
)
from broker.routing.grouped import Grouped, Moves
from broker.routing.points import Points
from broker.routing.seams import Seams
from broker.routing.strategy import NOTHING_ANNOUNCED, Item, RouteFilter, Selection, Snapshot
from broker.routing.unions import PERFECT, cuts, joined, may_be_part, merged, united


@define(eq=False)
class Unions:
    """Announces unions of items."""

    _factor: float
    _announced: CoverIndex = Factory(CoverIndex)
    _seams: Seams = Factory(Seams)
    _candidates: dict[Item, None] = Factory(dict)
    _points: Points[Item] = Factory(Points)

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """Unite the items with each other and with announced ones, unless an announced item covers them."""
        for item in items:
            self._know(item)
        self._settle(items if len(items) == 1 else merged(items, self._factor), moves)

    def ended(self, item: Item, moves: Moves) -> None:
        """Take apart the announced items that are no union without this item, and unite their parts anew."""
        del self._candidates[item]
        if witness(item.filter) is not None:
            self._points.remove(item)
        parts: dict[Item, None] = {}
        for announced in list(self._announced.covers_of(item)):
            if announced not in self._candidates and may_be_part(item, announced):
                near = self._near(announced)
                if not self._is_whole(announced, near, item):
                    self._fall(announced, moves)
                    parts.update((each, None) for each in near if covers_item(announced, each))
        left = [each for each in parts if not self._announced.is_covered(each)]
        self._settle(merged(left, self._factor), moves)

    def covers_of(self, item: Item) -> Iterable[Item]:
        """Return all announced items that cover this item."""
        return self._announced.covers_of(item)

    def again(self, announced: Iterable[Item], candidates: Iterable[Item]) -> None:
        """Restore the choice from the announced items and the candidates."""
        for item in announced:
            self._rise(item)
        for item in candidates:
            self._know(item)

    def _know(self, item: Item) -> None:
        self._candidates[item] = None
        event = witness(item.filter)
        if event is not None:
            self._points.add(item, event)

    def _near(self, announced: Item) -> list[Item]:
        """Return the candidates that an announced item covers, and perhaps a few more."""
        near = self._points.matched(announced.filter)
        if witness(announced.filter) is None:
            near += [each for each in equal(announced) if each in self._candidates]
        return near

    def _is_whole(self, announced: Item, near: Iterable[Item], gone: Item) -> bool:
        """Return whether an announced item is still the union of the candidates it covers."""
        parts = [each for each in near if may_be_part(each, announced) and covers_item(announced, each)]
        event = witness(gone.filter)
        if event is not None:
            above = (each for each in parts if each.filter.match(event))
            if any(covers_item(each, gone) for each in above):
                return True
        return announced in merged(parts, self._factor)

    def _settle(self, items: Iterable[Item], moves: Moves) -> None:
        """Announce each item, or a union with it, unless an announced item covers it."""
        pending = deque(items)
        returns: Counter[Item] = Counter()
        while pending:
            item = pending.popleft()
            if self._announced.is_covered(item):
                continue
            fallen: list[Item] = []
            if returns[item] < RETURNS_LIMIT:
                item = self._grown(item, fallen, moves)
            self._rise(item)
            moves.announce(item)
            if not covers_transitively(item.filter):
                below = [each for one in fallen for each in self._near(one) if covers_item(one, each)]
                lost = [each for each in below if not self._announced.is_covered(each)]
                returns.update(lost)
                pending += lost

    def _grown(self, item: Item, fallen: list[Item], moves: Moves) -> Item:
        """Unite an item with announced ones as far as possible; withdraw the items that the union covers."""
        while True:
            for below in self._announced.covered_by(item):
                self._fall(below, moves)
                fallen.append(below)
            partner = self._partner(item)
            if partner is None:
                return item
            announced, item = partner
            self._fall(announced, moves)
            fallen.append(announced)

    def _partner(self, item: Item) -> tuple[Item, Item] | None:
        """Return an announced item with which this item can be united, and the union."""
        for cut in cuts(item):
            for piece in self._seams.near(cut.seam, cut.constraint):
                union = united(cut.constraint, piece.constraint, self._factor)
                whole = None if union is None else joined(cut.seam, union, (item, piece.item))
                if whole is not None:
                    return piece.item, whole
        return None

    def _rise(self, item: Item) -> None:
        self._announced.add(item)
        self._seams.add(item)

    def _fall(self, item: Item, moves: Moves) -> None:
        self._announced.remove(item)
        self._seams.remove(item)
        moves.withdraw(item)


@frozen
class Merging:
    """Merging routing, as the module describes it."""

    factor: float = PERFECT
    floods: bool = False
    is_exact: bool = False
    unites: bool = True

    @property
    def is_perfect(self) -> bool:
        """Return whether unions match nothing more than their parts."""
        return self.factor == PERFECT

    @property
    def name(self) -> str:
        """Return the name by which it is chosen, with its factor unless it is perfect."""
        return "merging" if self.is_perfect else f"merging:{self.factor!r}"

    def selection(
        self,
        snapshot: Snapshot = NOTHING_ANNOUNCED,
        candidates: Iterable[RouteFilter] = (),
    ) -> Selection:
        """Make a selection, or restore one."""
        return Grouped.again(snapshot, candidates, Unions(self.factor))

    def covers_item(self, announced: Item, wanted: Item) -> bool:
        """Return whether announcing the first makes announcing the second unnecessary."""
        return covers_item(announced, wanted)

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """Return what is announced of these candidates if they come in the order of their ids."""
        selection = self.selection()
        for route in sorted(candidates, key=lambda route: route.id):
            selection.add(route)
        return tuple(sorted(selection.announced.values(), key=lambda route: route.id))
