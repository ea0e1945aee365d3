"""The items that are told, looked up by covering in both directions.

Theory of operation: what stands for an item matches the item's witness, so a matching index of the told
filters finds it. What an item stands for has a witness that the item matches, so it is found among the told
items' witnesses (see `points`). Either way few are found, and `stands_for` decides.

Law: a filter without a witness is covered by an equal one alone (see `coverage`); so it need not be found by
anything else.
"""

from collections.abc import Iterator

from attrs import Factory, define

from broker.matching import MatchingIndex
from broker.routing.coverage import equal, stands_for
from broker.routing.points import Points
from broker.routing.strategy import Item
from broker.routing.witnesses import witness


@define(eq=False)
class CoverIndex:
    """Items of which none stands for another."""

    _filters: MatchingIndex[Item] = Factory(MatchingIndex)
    _witnesses: Points[Item] = Factory(Points)

    def add(self, item: Item) -> None:
        """Take an item in."""
        self._filters.add(item, item.filter)
        event = witness(item.filter)
        if event is not None:
            self._witnesses.add(item, event)

    def remove(self, item: Item) -> None:
        """Forget an item."""
        self._filters.remove(item)
        if witness(item.filter) is not None:
            self._witnesses.remove(item)

    def standing_for(self, item: Item) -> Iterator[Item]:
        """Those that stand for the item."""
        event = witness(item.filter)
        if event is not None:
            near = self._filters.match(event)
        else:
            near = [each for each in equal(item) if each in self._filters]
        return (each for each in near if stands_for(each, item))

    def has_standing_for(self, item: Item) -> bool:
        """Whether any stands for the item."""
        return any(True for _ in self.standing_for(item))

    def covered_by(self, item: Item) -> list[Item]:
        """Those that the item stands for."""
        near = self._witnesses.matched(item.filter)
        if witness(item.filter) is None:
            near += [each for each in equal(item) if each in self._filters]
        return [each for each in near if stands_for(item, each)]

    def __bool__(self) -> bool:
        """Whether anything is in it."""
        return bool(len(self._filters) or self._witnesses)
