"""Which item stands for which, under covering.

Laws:

* An item stands for another iff its filter covers the other's, and it is ordered or the other is not.
* Where no witness of a filter is known (it matches nothing, or that is hard to see), it is covered by an
  equal one alone. That spares looking for the others.
* Where two stand for each other, although their filters differ in form, the one of lower `rank` is above.
  So `above` is a strict order, as far as `Filter.covers` decides.
"""

from collections.abc import Iterable

from broker.filters import Filter
from broker.filters.constraints import NumberRange, TextPattern, conjunction_covers, position
from broker.routing.strategy import Item
from broker.routing.witnesses import witness


def stands_for(told: Item, wanted: Item) -> bool:
    """Whether telling the first spares telling the second."""
    if wanted.ordered and not told.ordered:
        return False
    if told.filter == wanted.filter:
        return True
    return covers(told.filter, wanted.filter) and witness(wanted.filter) is not None


def covers(one: Filter, other: Filter) -> bool:
    """Whether a filter covers another: `Filter.covers`, the quick way where the first has one alternative."""
    if len(one.conjunctions) != 1:
        return one.covers(other)
    (mine,) = one.conjunctions
    return all(conjunction_covers(mine, dict(each)) for each in other.conjunctions)


def is_above(one: Item, other: Item) -> bool:
    """Whether the first is told rather than the second."""
    return stands_for(one, other) and wins(one, other)


def wins(one: Item, other: Item) -> bool:
    """Whether the first is told, given that it stands for the second."""
    return not stands_for(other, one) or rank(one) < rank(other)


def equal(item: Item) -> tuple[Item, Item]:
    """The item, and the other one with the same filter."""
    return item, Item(item.filter, not item.ordered)


def rank(item: Item) -> tuple[object, ...]:
    """The place of an item in an order of all items, by how they are written."""
    return (*(position(each) for each in item.filter.conjunctions), ()), item.ordered


def narrowness(item: Item) -> tuple[int, float]:
    """A guess that puts what covers before what is covered: few constraints first, and long ranges."""
    constraints = [each for one in item.filter.conjunctions for _, each in one]
    ranges = [each for each in constraints if isinstance(each, NumberRange)]
    lengths = [each.high - each.low for each in ranges if each.low is not None and each.high is not None]
    return len(constraints), -sum(lengths)


def covers_transitively(one: Filter) -> bool:
    """Whether it is certain that a filter is seen to cover what those are seen to cover that it covers.

    That is so where everything is decided one constraint at a time, and each constraint is compared exactly.
    """
    if len(one.conjunctions) != 1:
        return False
    patterns = [each for _, each in one.conjunctions[0] if isinstance(each, TextPattern)]
    return all(each.is_bare_prefix() for each in patterns)


def maximal(items: Iterable[Item]) -> list[Item]:
    """The items to tell, computed by comparing each with each: none is above another, and all have one above.

    Where `covers` decides everything, one round is enough. Else something may be below an item that is not
    told itself, and below no other; the next round tells it.
    """
    kept: list[Item] = []
    left = list(items)
    while left:
        top = [one for one in left if not any(is_above(other, one) for other in left)]
        kept += top or [min(left, key=rank)]
        left = [one for one in left if one not in kept and not any(is_above(other, one) for other in kept)]
    return kept
