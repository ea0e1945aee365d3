"""A selection in which equal candidates count once; the strategies differ in which items they announce.

Theory of operation: candidates with the same filter share an item. A choice hears of each item that comes and
goes, and moves items into and out of what is announced. `Announced` turns those moves into a change with ids.

Laws:

* The ids of an item are sorted, so that nothing depends on the order in which candidates came.
* An id goes on for an item whose candidate of that id has ended. Should a candidate with another item need
  that very id, it gets it, and the first item is announced anew under an id of its own.
* An item without candidates is a merger, and gets a new id with `MERGER_MARK`.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from attrs import Factory, define, frozen

from broker.routing.strategy import (
    MERGER_MARK,
    NOTHING,
    NOTHING_ANNOUNCED,
    Change,
    Item,
    RouteFilter,
    Selection,
    Snapshot,
)


@define(eq=False)
class Candidates:
    """Wishes by id, and the ids that share an item."""

    _routes: dict[str, RouteFilter] = Factory(dict)
    _ids: dict[Item, list[str]] = Factory(dict)

    def get(self, id: str) -> RouteFilter | None:  # noqa: A002 - as in the interface
        """Return the candidate of this id."""
        return self._routes.get(id)

    def add(self, route: RouteFilter) -> Item | None:
        """Take a new candidate in; return its item if this is the first with it."""
        assert route.id not in self._routes
        self._routes[route.id] = route
        item = Item(route.filter, route.ordered)
        ids = self._ids.get(item)
        if ids is None:
            self._ids[item] = [route.id]
            return item
        insort(ids, route.id)
        return None

    def remove(self, route: RouteFilter) -> bool:
        """Forget a candidate; tell whether it was the last with its item."""
        del self._routes[route.id]
        ids = self._ids[route.item]
        if len(ids) == 1:
            del self._ids[route.item]
            return True
        del ids[bisect_left(ids, route.id)]
        return False

    def ids(self, item: Item) -> list[str]:
        """The ids of the candidates with this item, sorted; none for a merger."""
        return self._ids.get(item, [])

    def __contains__(self, item: object) -> bool:
        """Whether some candidate has this item."""
        return item in self._ids

    def __len__(self) -> int:
        return len(self._routes)

    def items(self) -> Iterator[Item]:
        """Every item once."""
        return iter(self._ids)


@define(eq=False)
class Announced:
    """What has been announced to the neighbour, by id and by item.

    An item is announced under the smallest id of its candidates, and keeps that id while it is announced.
    """

    _candidates: Candidates
    mergers: int = 0
    routes: dict[str, RouteFilter] = Factory(dict)
    _ids: dict[Item, str] = Factory(dict)

    @classmethod
    def again(cls, snapshot: Snapshot, candidates: Candidates) -> "Announced":
        """Make it again from what was kept."""
        announced = cls(candidates, snapshot.mergers)
        for route in snapshot.announced:
            announced.routes[route.id] = route
            announced._ids[route.item] = route.id
        return announced

    def id_of(self, item: Item) -> str:
        """The id under which an item is announced."""
        return self._ids[item]

    def __contains__(self, item: object) -> bool:
        """Whether an item is announced."""
        return item in self._ids

    def snapshot(self) -> Snapshot:
        """What has to be kept of it."""
        return Snapshot(tuple(self.routes.values()), self.mergers)

    def change(self, dropped: Collection[Item], new: Collection[Item]) -> Change:
        """Announce the new items instead of the dropped ones; no item is both."""
        if not dropped and not new:
            return NOTHING
        removed = [self._take_back(item) for item in dropped]
        pending = sorted(new, key=self._first_id)
        added: list[RouteFilter] = []
        for item in pending:  # Items that have to give up their id are appended.
            chosen = self._id_for(item)
            holder = self.routes.get(chosen)
            if holder is not None:
                removed.append(self._take_back(holder.item))
                pending.append(holder.item)
            route = self.routes[chosen] = RouteFilter(chosen, item.filter, item.ordered)
            self._ids[item] = chosen
            added.append(route)
        return Change(tuple(sorted(added, key=_id)), tuple(sorted(removed)))

    def _take_back(self, item: Item) -> str:
        announced = self._ids.pop(item)
        del self.routes[announced]
        return announced

    def _first_id(self, item: Item) -> tuple[bool, str]:
        """Mergers come last, in the order in which they were made."""
        ids = self._candidates.ids(item)
        return (False, ids[0]) if ids else (True, "")

    def _id_for(self, item: Item) -> str:
        ids = self._candidates.ids(item)
        if ids:
            return next((each for each in ids if each not in self.routes), ids[0])
        while True:
            self.mergers += 1
            merger = f"{MERGER_MARK}{self.mergers}"
            if merger not in self.routes and self._candidates.get(merger) is None:
                return merger


def _id(route: RouteFilter) -> str:
    return route.id


@define(eq=False)
class Moves:
    """Items on their way into what is announced, and out. One that goes out and in again has not moved."""

    dropped: dict[Item, None] = Factory(dict)
    new: dict[Item, None] = Factory(dict)

    def announce(self, item: Item) -> None:
        """The item is to be announced."""
        if item in self.dropped:
            del self.dropped[item]
        else:
            self.new[item] = None

    def take_back(self, item: Item) -> None:
        """The item is to be announced no more."""
        if item in self.new:
            del self.new[item]
        else:
            self.dropped[item] = None


class Choice(Protocol):
    """Which items are announced: the heart of a strategy."""

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """The first candidates with these items have come."""

    def ended(self, item: Item, moves: Moves) -> None:
        """The last candidate with this item has gone."""

    def covers_of(self, item: Item) -> Iterable[Item]:
        """All announced items that stand for an item, each once."""

    def again(self, announced: Iterable[Item], candidates: Iterable[Item]) -> None:
        """Go on from what was announced of these candidates."""


@define(eq=False)
class Grouped:
    """The selection of the strategies that announce equal candidates once."""

    _candidates: Candidates
    _announced: Announced
    _choice: Choice

    @classmethod
    def again(cls, snapshot: Snapshot, candidates: Iterable[RouteFilter], choice: Choice) -> "Grouped":
        """Make it again from what was kept."""
        known = Candidates()
        for route in candidates:
            known.add(route)
        choice.again([route.item for route in snapshot.announced], sorted(known.items(), key=known.ids))
        return cls(known, Announced.again(snapshot, known), choice)

    @property
    def announced(self) -> Mapping[str, RouteFilter]:
        """What has been announced to the neighbour, by id, in its order."""
        return self._announced.routes

    @property
    def mergers(self) -> int:
        """How many ids of its own the selection has given to mergers so far."""
        return self._announced.mergers

    def add(self, route: RouteFilter) -> Change:
        """Take a candidate in; one with its id is replaced, an equal one changes nothing."""
        return self.edit((route,), ())

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Forget a candidate; an unknown one changes nothing."""
        return self.edit((), (id,))

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Take candidates in and forget some, as one change."""
        moves = Moves()
        came = [item for route in _newest(add) if (item := self._new_item(route, moves)) is not None]
        if came:
            self._choice.came(came, moves)
        for gone in remove:
            known = self._candidates.get(gone)
            if known is not None and self._candidates.remove(known):
                self._choice.ended(known.item, moves)
        return self._announced.change(moves.dropped, moves.new)

    def _new_item(self, route: RouteFilter, moves: Moves) -> Item | None:
        """Take a candidate in; return its item if that is new."""
        known = self._candidates.get(route.id)
        if known == route:
            return None
        if known is not None and self._candidates.remove(known):
            self._choice.ended(known.item, moves)
        return self._candidates.add(route)

    def covers_of(self, route: RouteFilter) -> Iterable[str]:
        """The ids of all announced items that stand for the route, sorted."""
        return sorted(self._announced.id_of(item) for item in self._choice.covers_of(route.item))

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Whether these, by id, are all its candidates."""
        known = self._candidates
        return len(known) == len(candidates) and all(known.get(id_) == candidates[id_] for id_ in candidates)

    def snapshot(self) -> Snapshot:
        """What has to be kept, beside the candidates, to make the selection again."""
        return self._announced.snapshot()


def _newest(routes: Iterable[RouteFilter]) -> Iterable[RouteFilter]:
    """Of several with one id the last one counts."""
    return {route.id: route for route in routes}.values()


@frozen
class GroupedStrategy:
    """A strategy made of a choice, of what stands for what, and of what a computation from scratch keeps."""

    name: str
    _choice: Callable[[], Choice]
    covers_item: Callable[[Item, Item], bool]
    _reduced: Callable[[Iterable[Item]], Iterable[Item]]
    floods: bool = False
    is_exact: bool = False
    unites: bool = False
    is_perfect: bool = True

    def selection(
        self,
        snapshot: Snapshot = NOTHING_ANNOUNCED,
        candidates: Iterable[RouteFilter] = (),
    ) -> Selection:
        """Make a selection, or make one again."""
        return Grouped.again(snapshot, candidates, self._choice())

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """What is kept of these candidates' items, each under its smallest id."""
        smallest: dict[Item, str] = {}
        for route in candidates:
            smallest[route.item] = min(route.id, smallest.get(route.item, route.id))
        chosen = [RouteFilter(smallest[item], item.filter, item.ordered) for item in self._reduced(smallest)]
        return tuple(sorted(chosen, key=lambda route: route.id))
