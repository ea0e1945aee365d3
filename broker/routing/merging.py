"""Merging routing: what is told is united where one filter can stand for several.

Theory of operation: everything a selection knows is wanted through other hops than the neighbour, so any
union of candidates may be told. An item that comes, and that nothing told stands for, is united with what is
told as long as something can be (see `unions`); the union is told instead of its parts and of what it covers.
When an item ends, each told item that stood for it stays if the candidates it still stands for make the
same union; else it is taken apart, and what nothing else stands for is united anew.

Laws:

* A told item is the union of the candidates it stands for; with a factor above 1 it may be a hull (`unions`).
* Ordered items are united with ordered ones only: to want more in order makes others wait.
* Which parts a told item has is not remembered but looked up, so it follows from what is told and known.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from attrs import Factory, define, frozen

from broker.routing.covering import RETURNS_LIMIT, CoverIndex, covers_transitively, equal, stands_for, witness
from broker.routing.grouped import Grouped, Moves
from broker.routing.points import Points
from broker.routing.seams import Seams
from broker.routing.strategy import NOTHING_TOLD, Item, Picture, Selection, Wish
from broker.routing.unions import PERFECT, cuts, joined, may_be_part, merged, united


@define(eq=False)
class Unions:
    """Tells unions of items."""

    _factor: float
    _told: CoverIndex = Factory(CoverIndex)
    _seams: Seams = Factory(Seams)
    _candidates: dict[Item, None] = Factory(dict)
    _points: Points[Item] = Factory(Points)

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """Unite them with each other and with what is told, unless something told stands for them."""
        for item in items:
            self._know(item)
        self._place(items if len(items) == 1 else merged(items, self._factor), moves)

    def ended(self, item: Item, moves: Moves) -> None:
        """Take apart what is no union of candidates without it, and unite anew what is left."""
        del self._candidates[item]
        if witness(item.filter) is not None:
            self._points.remove(item)
        parts: dict[Item, None] = {}
        for told in list(self._told.standing_for(item)):
            if told not in self._candidates and may_be_part(item, told):
                near = self._near(told)
                if not self._is_whole(told, near, item):
                    self._fall(told, moves)
                    parts.update((each, None) for each in near if stands_for(told, each))
        left = [each for each in parts if not self._told.has_standing_for(each)]
        self._place(merged(left, self._factor), moves)

    def standing_for(self, item: Item) -> Iterable[Item]:
        """All told items that stand for an item."""
        return self._told.standing_for(item)

    def again(self, told: Iterable[Item], candidates: Iterable[Item]) -> None:
        """Go on from what was told of these candidates."""
        for item in told:
            self._rise(item)
        for item in candidates:
            self._know(item)

    def _know(self, item: Item) -> None:
        self._candidates[item] = None
        event = witness(item.filter)
        if event is not None:
            self._points.add(item, event)

    def _near(self, told: Item) -> list[Item]:
        """The candidates that a told item stands for, and perhaps a few more."""
        near = self._points.matched(told.filter)
        if witness(told.filter) is None:
            near += [each for each in equal(told) if each in self._candidates]
        return near

    def _is_whole(self, told: Item, near: Iterable[Item], gone: Item) -> bool:
        """Whether a told item is the union of the candidates below it without one that is gone."""
        parts = [each for each in near if may_be_part(each, told) and stands_for(told, each)]
        event = witness(gone.filter)
        if event is not None:
            above = (each for each in parts if each.filter.match(event))
            if any(stands_for(each, gone) for each in above):
                return True
        return told in merged(parts, self._factor)

    def _place(self, items: Iterable[Item], moves: Moves) -> None:
        """Tell each item, or a union with it, unless something told stands for it."""
        pending = deque(items)
        returns: Counter[Item] = Counter()
        while pending:
            item = pending.popleft()
            if self._told.has_standing_for(item):
                continue
            fallen: list[Item] = []
            if returns[item] < RETURNS_LIMIT:
                item = self._grown(item, fallen, moves)
            self._rise(item)
            moves.tell(item)
            if not covers_transitively(item.filter):
                below = [each for one in fallen for each in self._near(one) if stands_for(one, each)]
                lost = [each for each in below if not self._told.has_standing_for(each)]
                returns.update(lost)
                pending += lost

    def _grown(self, item: Item, fallen: list[Item], moves: Moves) -> Item:
        """Unite an item with what is told as far as possible, and take back what the union stands for."""
        while True:
            for below in self._told.covered_by(item):
                self._fall(below, moves)
                fallen.append(below)
            partner = self._partner(item)
            if partner is None:
                return item
            told, item = partner
            self._fall(told, moves)
            fallen.append(told)

    def _partner(self, item: Item) -> tuple[Item, Item] | None:
        """Something told with which an item can be united, and the union."""
        for cut in cuts(item):
            for piece in self._seams.near(cut.seam, cut.constraint):
                union = united(cut.constraint, piece.constraint, self._factor)
                whole = None if union is None else joined(cut.seam, union, (item, piece.item))
                if whole is not None:
                    return piece.item, whole
        return None

    def _rise(self, item: Item) -> None:
        self._told.add(item)
        self._seams.add(item)

    def _fall(self, item: Item, moves: Moves) -> None:
        self._told.remove(item)
        self._seams.remove(item)
        moves.take_back(item)


@frozen
class Merging:
    """See the module."""

    factor: float = PERFECT
    floods: bool = False
    is_exact: bool = False
    unites: bool = True

    @property
    def is_perfect(self) -> bool:
        """Whether unions match nothing more than their parts."""
        return self.factor == PERFECT

    @property
    def name(self) -> str:
        """The name by which it is chosen, with its factor unless it is perfect."""
        return "merging" if self.is_perfect else f"merging:{self.factor!r}"

    def selection(
        self,
        picture: Picture = NOTHING_TOLD,
        candidates: Iterable[Wish] = (),
    ) -> Selection:
        """Make a selection, or make one again."""
        return Grouped.again(picture, candidates, Unions(self.factor))

    def stands_for(self, told: Item, wanted: Item) -> bool:
        """Whether telling the first spares telling the second."""
        return stands_for(told, wanted)

    def reduce(self, candidates: Iterable[Wish]) -> tuple[Wish, ...]:
        """What to tell of these candidates if they come in the order of their ids."""
        selection = self.selection()
        for wish in sorted(candidates, key=lambda wish: wish.id):
            selection.add(wish)
        return tuple(sorted(selection.told.values(), key=lambda wish: wish.id))
