"""Which item stands for which, under covering, and the announced items looked up by that.

Theory of operation: a *witness* of a filter is one event that it matches. What covers a filter matches its
witness; so a matching index of the announced filters finds, by the witness, all that has to be compared with
a filter, and little else. What an item stands for has a witness that the item matches; so it is found among
the witnesses (see `points`). Either way few are found, and `stands_for` decides. Values of a witness are
tried at the ends of what a constraint accepts, where few other filters reach; an attribute that only has to
exist is not-a-number, which no other constraint accepts.

Laws:

* An item stands for another iff its filter covers the other's, and it is ordered or the other is not.
* A witness depends on the filter's form alone. There is none for a filter that matches nothing; and none may
  be found where suffixes, substrings and holes of a text leave little room (see `broker.filters.texts`).
* Where no witness of a filter is known, it is covered by an equal one alone. That spares looking for the
  others.
* Where two stand for each other, although their filters differ in form, the one of lower `rank` is above.
  So `above` is a strict order, as far as `Filter.covers` decides.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from math import inf, nan, nextafter
from typing import Final

from attrs import Factory, define

from broker.filters import Conjunction, Filter
from broker.filters.constraints import (
    AnyValue,
    Number,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
    Value,
    position,
)
from broker.matching import MatchingIndex
from broker.routing.points import Points, Witness
from broker.routing.strategy import Item

JOINERS: Final = ("", "\0", " ", "~", "x", "\U0010ffff")
"""What may stand between the parts of a text, and after the last: a pattern would have to forbid each."""

KEPT_LIMIT = 4096
"""Witnesses kept: more than the links of a broker ask for within one change."""


@lru_cache(maxsize=KEPT_LIMIT)
def witness(filter: Filter) -> Witness | None:  # noqa: A002 - it is a filter
    """Return the attributes of an event that the filter matches, or None if none was found."""
    for conjunction in filter.conjunctions:
        attributes = _satisfying(conjunction)
        if attributes is not None:
            return attributes
    return None


def _satisfying(conjunction: Conjunction) -> Witness | None:
    attributes: dict[str, Value] = {}
    for name, constraint in conjunction:
        value: Value | None
        match constraint:
            case AnyValue():
                value = nan
            case NumberSet(values) | TextSet(values) | Truths(values):
                value = min(values)
            case NumberRange():
                value = next(filter(constraint.accepts, _numbers(constraint)), None)
            case TextPattern():
                value = next(filter(constraint.accepts, _texts(constraint)), None)
        if value is None:
            return None
        attributes[name] = value
    return attributes


def _numbers(constraint: NumberRange) -> Iterator[Number]:
    """The ends of a range, what is next to them, and more numbers inside than it can leave out."""
    low, high = constraint.low, constraint.high
    steps = range(1, len(constraint.excluded) + 2)
    if low is not None:
        yield low
        yield nextafter(low, inf)
        yield int(low) + 1
    if high is not None:
        yield high
        yield nextafter(high, -inf)
    if low is None or high is None:
        yield -inf if high is not None else inf
        yield from ((low or high or 0) + (step if high is None else -step) for step in steps)
    else:
        yield from (low + (high - low) * (step / (len(steps) + 1)) for step in steps)


def _texts(pattern: TextPattern) -> Iterator[str]:
    """Texts with all parts the pattern demands, in several spellings."""
    start, _ = pattern.interval
    stems = dict.fromkeys((start, pattern.prefix, pattern.low or ""))
    parts = sorted(pattern.contains)
    for joiner, stem in product(JOINERS, stems):
        middle = joiner.join((stem, *parts))
        yield middle + joiner + pattern.suffix
        yield middle + pattern.suffix
        yield stem + "".join(parts) + joiner + pattern.suffix


# --- which item stands for which ----------------------------------------------------------------------


def stands_for(told: Item, wanted: Item) -> bool:
    """Whether telling the first spares telling the second."""
    if wanted.ordered and not told.ordered:
        return False
    if told.filter == wanted.filter:
        return True
    return told.filter.covers(wanted.filter) and witness(wanted.filter) is not None


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


# --- looked up ----------------------------------------------------------------------------------------


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

    def near(self, item: Item) -> list[Item]:
        """All that may stand for the item."""
        event = witness(item.filter)
        if event is not None:
            return self._filters.match(event)
        return [each for each in equal(item) if each in self._filters]

    def standing_for(self, item: Item) -> Iterator[Item]:
        """Those that stand for the item."""
        return (each for each in self.near(item) if stands_for(each, item))

    def has_standing_for(self, item: Item) -> bool:
        """Whether any stands for the item."""
        return any(stands_for(each, item) for each in self.near(item))

    def covered_by(self, item: Item) -> list[Item]:
        """Those that the item stands for."""
        near = self._witnesses.matched(item.filter)
        if witness(item.filter) is None:
            near += [each for each in equal(item) if each in self._filters]
        return [each for each in near if stands_for(item, each)]

    def __bool__(self) -> bool:
        """Whether anything is in it."""
        return bool(len(self._filters) or self._witnesses)
