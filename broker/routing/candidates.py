"""The candidates of one selection, by id and by item: what may be told.

Law: the ids of an item are sorted, so that nothing depends on the order in which candidates came.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

from attrs import Factory, define

from broker.routing.strategy import Item, Wish


@define(eq=False)
class Candidates:
    """Wishes by id, and the ids that share an item."""

    _wishes: dict[str, Wish] = Factory(dict)
    _ids: dict[Item, list[str]] = Factory(dict)

    def get(self, id: str) -> Wish | None:  # noqa: A002 - as in the interface
        """Return the candidate of this id."""
        return self._wishes.get(id)

    def add(self, wish: Wish) -> bool:
        """Take a new candidate in; tell whether it is the first with its item."""
        assert wish.id not in self._wishes
        self._wishes[wish.id] = wish
        ids = self._ids.get(wish.item)
        if ids is None:
            self._ids[wish.item] = [wish.id]
            return True
        insort(ids, wish.id)
        return False

    def remove(self, wish: Wish) -> bool:
        """Forget a candidate; tell whether it was the last with its item."""
        del self._wishes[wish.id]
        ids = self._ids[wish.item]
        if len(ids) == 1:
            del self._ids[wish.item]
            return True
        del ids[bisect_left(ids, wish.id)]
        return False

    def ids(self, item: Item) -> list[str]:
        """The ids of the candidates with this item, sorted; none for a merger."""
        return self._ids.get(item, [])

    def __contains__(self, item: object) -> bool:
        """Whether some candidate has this item."""
        return item in self._ids

    def __len__(self) -> int:
        return len(self._wishes)

    def items(self) -> Iterator[Item]:
        """Every item once."""
        return iter(self._ids)
