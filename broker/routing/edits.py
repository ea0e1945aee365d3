"""Several changes of candidates as one, for selections that gain nothing from seeing them together."""

from collections.abc import Iterable
from itertools import chain

from broker.routing.strategy import Change, Selection, Wish


def edited(selection: Selection, add: Iterable[Wish], remove: Iterable[str]) -> Change:
    """Make one change after the other, and say what they come to."""
    added, removed = dict[str, Wish](), set[str]()
    for change in chain(map(selection.add, add), map(selection.remove, remove)):
        removed.update(each for each in change.removed if added.pop(each, None) is None)
        added.update((wish.id, wish) for wish in change.added)
    return Change(tuple(added[each] for each in sorted(added)), tuple(sorted(removed)))
