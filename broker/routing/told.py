"""Under which ids items are told, and the change that a new choice of items makes.

Laws:

* An item is told under the smallest id of its candidates, and keeps that id as long as it is told.
* An id goes on for an item whose candidate of that id has ended. Should a candidate with another item need
  that very id, it gets it, and the first item is told anew under an id of its own.
* An item without candidates is a merger, and gets a new id with `MERGER_MARK`.
"""

from collections.abc import Iterable

from attrs import Factory, define

from broker.routing.candidates import Candidates
from broker.routing.strategy import MERGER_MARK, NOTHING, Change, Item, Picture, Wish


@define(eq=False)
class Told:
    """What the neighbour has been told, by id and by item."""

    _candidates: Candidates
    mergers: int = 0
    wishes: dict[str, Wish] = Factory(dict)
    _ids: dict[Item, str] = Factory(dict)

    @classmethod
    def again(cls, picture: Picture, candidates: Candidates) -> "Told":
        """Make it again from what was kept."""
        told = cls(candidates, picture.mergers)
        for wish in picture.told:
            told.wishes[wish.id] = wish
            told._ids[wish.item] = wish.id
        return told

    def id_of(self, item: Item) -> str:
        """The id under which an item is told."""
        return self._ids[item]

    def __contains__(self, item: object) -> bool:
        """Whether an item is told."""
        return item in self._ids

    def picture(self) -> Picture:
        """What has to be kept of it."""
        return Picture(tuple(self.wishes.values()), self.mergers)

    def change(self, dropped: Iterable[Item], new: Iterable[Item]) -> Change:
        """Tell the new items instead of the dropped ones; no item is both."""
        removed = [self._take_back(item) for item in dropped]
        pending = sorted(new, key=self._first_id)
        if not removed and not pending:
            return NOTHING
        added: list[Wish] = []
        for item in pending:  # Items that have to give up their id are appended.
            chosen = self._id_for(item)
            holder = self.wishes.get(chosen)
            if holder is not None:
                removed.append(self._take_back(holder.item))
                pending.append(holder.item)
            wish = self.wishes[chosen] = Wish(chosen, item.filter, item.ordered)
            self._ids[item] = chosen
            added.append(wish)
        return Change(tuple(sorted(added, key=_id)), tuple(sorted(removed)))

    def _take_back(self, item: Item) -> str:
        told = self._ids.pop(item)
        del self.wishes[told]
        return told

    def _first_id(self, item: Item) -> tuple[bool, str]:
        """Mergers come last, in the order in which they were made."""
        ids = self._candidates.ids(item)
        return (False, ids[0]) if ids else (True, "")

    def _id_for(self, item: Item) -> str:
        ids = self._candidates.ids(item)
        if ids:
            return next((each for each in ids if each not in self.wishes), ids[0])
        while True:
            self.mergers += 1
            merger = f"{MERGER_MARK}{self.mergers}"
            if merger not in self.wishes and self._candidates.get(merger) is None:
                return merger


def _id(wish: Wish) -> str:
    return wish.id
