"""A selection in which equal candidates count once; the strategies differ in which items they announce.

Theory of operation: candidates with the same filter share an item. A choice is notified of each item that
comes or goes, and moves items into and out of the announced ones. `Announced` turns those moves into a change
with ids.

Laws:

* The ids of an item are sorted, so that nothing depends on the order in which candidates came.
* An item keeps its id when the candidate of that id has ended. If a candidate with another item needs that
  id, it gets it, and the first item is announced again under an id of its own.
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
    """Candidates by id, and the ids that share an item."""

    _routes: dict[str, RouteFilter] = Factory(dict)
    _ids: dict[Item, list[str]] = Factory(dict)

    def get(self, id: str) -> RouteFilter | None:  # noqa: A002 - as in the interface
        """Return the candidate of this id."""
        return self._routes.get(id)

    def add(self, route: RouteFilter) -> Item | None:
        """Add a new candidate; return its item if this is the first candidate with it."""
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
        """Remove a candidate; return whether it was the last with its item."""
        del self._routes[route.id]
        ids = self._ids[route.item]
        if len(ids) == 1:
            del self._ids[route.item]
            return True
        del ids[bisect_left(ids, route.id)]
        return False

    def ids(self, item: Item) -> list[str]:
        """Return the sorted ids of the candidates with this item; none for a merger."""
        return self._ids.get(item, [])

    def __contains__(self, item: object) -> bool:
        """Return whether some candidate has this item."""
        return item in self._ids

    def __len__(self) -> int:
        return len(self._routes)

    def items(self) -> Iterator[Item]:
        """Return every item once."""
        return iter(self._ids)


@define(eq=False)
class Announced:
    """The routes announced to the neighbour, by id and by item.

    An item is announced under the smallest id of its candidates, and keeps that id while it is announced.
    """

    _candidates: Candidates
    mergers: int = 0
    routes: dict[str, RouteFilter] = Factory(dict)
    _ids: dict[Item, str] = Factory(dict)

    @classmethod
    def again(cls, snapshot: Snapshot, candidates: Candidates) -> "Announced":
        """Restore the announced routes from a snapshot."""
        announced = cls(candidates, snapshot.mergers)
        for route in snapshot.announced:
            announced.routes[route.id] = route
            announced._ids[route.item] = route.id
        return announced

    def id_of(self, item: Item) -> str:
        """Return the id under which an item is announced."""
        return self._ids[item]

    def __contains__(self, item: object) -> bool:
        """Return whether an item is announced."""
        return item in self._ids

    def snapshot(self) -> Snapshot:
        """Return the announced routes and the number of mergers."""
        return Snapshot(tuple(self.routes.values()), self.mergers)

    def change(self, dropped: Collection[Item], new: Collection[Item]) -> Change:
        """Announce the new items instead of the dropped ones; no item is both."""
        if not dropped and not new:
            return NOTHING
        removed = [self._withdraw(item) for item in dropped]
        pending = sorted(new, key=self._first_id)
        added: list[RouteFilter] = []
        for item in pending:  # Items that have to give up their id are appended.
            chosen = self._id_for(item)
            holder = self.routes.get(chosen)
            if holder is not None:
                removed.append(self._withdraw(holder.item))
                pending.append(holder.item)
            route = self.routes[chosen] = RouteFilter(chosen, item.filter, item.ordered)
            self._ids[item] = chosen
            added.append(route)
        return Change(tuple(sorted(added, key=_id)), tuple(sorted(removed)))

    def _withdraw(self, item: Item) -> str:
        announced = self._ids.pop(item)
        del self.routes[announced]
        return announced

    def _first_id(self, item: Item) -> tuple[bool, str]:
        """Return a sort key: mergers come last, in the order in which they were made."""
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
        """Record that the item is to be announced."""
        if item in self.dropped:
            del self.dropped[item]
        else:
            self.new[item] = None

    def withdraw(self, item: Item) -> None:
        """Record that the item is to be withdrawn."""
        if item in self.new:
            del self.new[item]
        else:
            self.dropped[item] = None


class Choice(Protocol):
    """Decides which items are announced: the heart of a strategy."""

    def came(self, items: Sequence[Item], moves: Moves) -> None:
        """Take in items of which the first candidates have come."""

    def ended(self, item: Item, moves: Moves) -> None:
        """Take out an item of which the last candidate has gone."""

    def covers_of(self, item: Item) -> Iterable[Item]:
        """Return all announced items that cover an item, each once."""

    def again(self, announced: Iterable[Item], candidates: Iterable[Item]) -> None:
        """Restore the choice from the announced items and the candidates."""


@define(eq=False)
class Grouped:
    """The selection of the strategies that announce equal candidates once."""

    _candidates: Candidates
    _announced: Announced
    _choice: Choice

    @classmethod
    def again(cls, snapshot: Snapshot, candidates: Iterable[RouteFilter], choice: Choice) -> "Grouped":
        """Restore a selection from a snapshot and its candidates."""
        known = Candidates()
        for route in candidates:
            known.add(route)
        choice.again([route.item for route in snapshot.announced], sorted(known.items(), key=known.ids))
        return cls(known, Announced.again(snapshot, known), choice)

    @property
    def announced(self) -> Mapping[str, RouteFilter]:
        """Return the announced routes by id, in the order in which they were announced."""
        return self._announced.routes

    @property
    def mergers(self) -> int:
        """Return how many ids of its own the selection has given to mergers so far."""
        return self._announced.mergers

    def add(self, route: RouteFilter) -> Change:
        """Add a candidate; one with its id is replaced, an equal one changes nothing."""
        return self.edit((route,), ())

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Remove a candidate; an unknown one changes nothing."""
        return self.edit((), (id,))

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Add and remove candidates as one change."""
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
        """Add a candidate; return its item if no other candidate has it."""
        known = self._candidates.get(route.id)
        if known == route:
            return None
        if known is not None and self._candidates.remove(known):
            self._choice.ended(known.item, moves)
        return self._candidates.add(route)

    def covers_of(self, route: RouteFilter) -> Iterable[str]:
        """Return the sorted ids of all announced items that cover the route."""
        return sorted(self._announced.id_of(item) for item in self._choice.covers_of(route.item))

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Return whether these, by id, are all its candidates."""
        known = self._candidates
        return len(known) == len(candidates) and all(known.get(id_) == candidates[id_] for id_ in candidates)

    def snapshot(self) -> Snapshot:
        """Return the state from which, with the candidates, the selection can be restored."""
        return self._announced.snapshot()


def _newest(routes: Iterable[RouteFilter]) -> Iterable[RouteFilter]:
    """Return the last one of several with one id."""
    return {route.id: route for route in routes}.values()


@frozen
class GroupedStrategy:
    """A strategy made of a choice, of the relation "covers", and of a reduction from scratch."""

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
        """Make a selection, or restore one."""
        return Grouped.again(snapshot, candidates, self._choice())

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """Return the reduction of these candidates' items, each under its smallest id."""
        smallest: dict[Item, str] = {}
        for route in candidates:
            smallest[route.item] = min(route.id, smallest.get(route.item, route.id))
        chosen = [RouteFilter(smallest[item], item.filter, item.ordered) for item in self._reduced(smallest)]
        return tuple(sorted(chosen, key=lambda route: route.id))
