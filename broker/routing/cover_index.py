"""The items that are told, looked up by covering."""

from attrs import Factory, define

from broker.routing.coverage import stands_for
from broker.routing.strategy import Item


@define(eq=False)
class CoverIndex:
    """Items of which none stands for another."""

    _items: dict[Item, None] = Factory(dict)

    def add(self, item: Item) -> None:
        """Take an item in."""
        self._items[item] = None

    def remove(self, item: Item) -> None:
        """Forget an item."""
        del self._items[item]

    def standing_for(self, item: Item) -> list[Item]:
        """Those that stand for the item."""
        return [each for each in self._items if stands_for(each, item)]

    def covered_by(self, item: Item) -> list[Item]:
        """Those that the item stands for."""
        return [each for each in self._items if stands_for(item, each)]
