"""Unions of filters that are one filter of the same kind again: what merging is made of.

Theory of operation: two filters can be united if they differ in one constraint of one conjunction. A *seam*
is a filter without one constraint: filters with a seam in common differ there alone. So what can be united
with a filter is found by its seams, and only the constraints left out need to be looked at.

Laws:

* With a factor of 1 a union is perfect: it matches what its parts match, and nothing else.
* With a larger one, two ranges of numbers are also united to their hull if that is at most so many times as
  long as the two together.
* A union covers each of its parts, and is no longer than a filter may be.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from attrs import frozen

from broker.filters import SIZE_LIMIT_BYTES, Conjunction, Filter
from broker.filters.constraints import Constraint, Number, NumberRange, conjunction, unite
from broker.filters.disjunctions import canonical
from broker.routing.coverage import stands_for
from broker.routing.strategy import Item
from broker.routing.witnesses import witness

PERFECT: Final = 1.0

CONJUNCTIONS_UNITED: Final = 4
"""Filters of more conjunctions are left alone, since each has as many seams as constraints, and each seam is
nearly as long as the filter."""


class Seam(NamedTuple):
    """A filter without one constraint on the attribute `name`, and whether it is ordered."""

    name: str
    rest: Conjunction
    others: tuple[Conjunction, ...]
    ordered: bool


@frozen
class Cut:
    """A filter cut at one constraint."""

    seam: Seam
    constraint: Constraint


def cuts(item: Item) -> Iterator[Cut]:
    """All ways to cut an item that may be united, in the order of its constraints."""
    conjunctions = item.filter.conjunctions
    if len(conjunctions) > CONJUNCTIONS_UNITED or witness(item.filter) is None:
        return
    for at, one in enumerate(conjunctions):
        others = (*conjunctions[:at], *conjunctions[at + 1 :])
        for place, (name, constraint) in enumerate(one):
            rest = (*one[:place], *one[place + 1 :])
            yield Cut(Seam(name, rest, others, item.ordered), constraint)


def sewn(seam: Seam, constraint: Constraint) -> Item | None:
    """Put a constraint where one was cut out; None if the filter became too long or changed otherwise."""
    whole = conjunction({**dict(seam.rest), seam.name: constraint})
    conjunctions = canonical((whole, *seam.others)) if seam.others else (whole,)
    made = Filter(conjunctions)
    if len(conjunctions) <= len(seam.others) or len(str(made).encode()) > SIZE_LIMIT_BYTES:
        return None
    return Item(made, seam.ordered)


def joined(seam: Seam, constraint: Constraint, parts: Iterable[Item]) -> Item | None:
    """Return the item with this constraint at a seam, if it can be made and surely stands for its parts."""
    item = sewn(seam, constraint)
    return item if item is not None and all(stands_for(item, part) for part in parts) else None


def may_be_part(one: Item, union: Item) -> bool:
    """Whether an item that a union stands for may be one of its parts.

    Uniting keeps the number of conjunctions and the names in each.
    """
    if len(union.filter.conjunctions) != 1:
        return True
    return one.ordered == union.ordered and _names(one) == _names(union)


def _names(item: Item) -> list[list[str]]:
    return [[name for name, _ in each] for each in item.filter.conjunctions]


def united(one: Constraint, other: Constraint, factor: float) -> Constraint | None:
    """Return the union of two constraints on one attribute, if it is one constraint."""
    if isinstance(one, NumberRange) and isinstance(other, NumberRange) and _are_apart(one, other):
        return hull(one, other, factor)
    union = unite([one, other])
    return union[0] if len(union) == 1 else None


def start_of(each: NumberRange) -> Number:
    """Where a range begins."""
    return float("-inf") if each.low is None else each.low


def _are_apart(one: NumberRange, other: NumberRange) -> bool:
    """Whether two ranges are no single one together. Where a single number parts them, they are one."""
    first, second = (one, other) if start_of(one) <= start_of(other) else (other, one)
    return first.high is not None and second.low is not None and first.high < second.low


def hull(one: NumberRange, other: NumberRange, factor: float) -> NumberRange | None:
    """Return the smallest range around two, if it is short enough."""
    if factor == PERFECT or one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    length = max(one.high, other.high) - min(one.low, other.low)
    if length > factor * (one.high - one.low + other.high - other.low):
        return None
    low_closed = any(each.low_closed for each in (one, other) if each.low == min(one.low, other.low))
    high_closed = any(each.high_closed for each in (one, other) if each.high == max(one.high, other.high))
    return NumberRange(
        min(one.low, other.low),
        low_closed,
        max(one.high, other.high),
        high_closed,
        one.excluded & other.excluded,
    )
