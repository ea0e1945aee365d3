"""Unions of filters that are again one filter of the same kind: the operations of merging.

Theory of operation: two filters can be united if they differ in one constraint of one conjunction. A *seam*
is a filter without one constraint: filters with a seam in common differ there alone. So what can be united
with a filter is found by its seams, and only the constraints left out need to be looked at.

Laws:

* With a factor of 1 a union is perfect: it matches what its parts match, and nothing else.
* With a larger one, two ranges of numbers are also united to their hull if that is at most so many times as
  long as the two together.
* A union covers each of its parts, and is no longer than a filter may be.
* Uniting many items at once (`merged`) does not depend on their order, and each of them lies as a whole in
  one result. At each seam, all constraints of one type are united in one go; then at the seams of what came
  out, and so on. What is too long for one filter is divided.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from attrs import frozen

from broker.filters import SIZE_LIMIT_BYTES, Conjunction, Filter
from broker.filters.constraints import (
    Constraint,
    Number,
    NumberRange,
    NumberSet,
    TextSet,
    conjunction,
    covers,
)
from broker.filters.disjunctions import canonical, unite
from broker.routing.covering import covers_item, covers_transitively, rank, witness
from broker.routing.strategy import Item

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
    """Yield all ways to cut an item that may be united, in the order of its constraints."""
    conjunctions = item.filter.conjunctions
    if len(conjunctions) > CONJUNCTIONS_UNITED or witness(item.filter) is None:
        return
    for at, one in enumerate(conjunctions):
        others = (*conjunctions[:at], *conjunctions[at + 1 :])
        for place, (name, constraint) in enumerate(one):
            rest = (*one[:place], *one[place + 1 :])
            yield Cut(Seam(name, rest, others, item.ordered), constraint)


def sewn(seam: Seam, constraint: Constraint) -> Item | None:
    """Put a constraint into a seam; return None if the filter became too long or changed otherwise."""
    whole = conjunction({**dict(seam.rest), seam.name: constraint})
    conjunctions = canonical((whole, *seam.others)) if seam.others else (whole,)
    made = Filter(conjunctions)
    if len(conjunctions) <= len(seam.others) or len(str(made).encode()) > SIZE_LIMIT_BYTES:
        return None
    return Item(made, seam.ordered)


def joined(seam: Seam, constraint: Constraint, parts: Iterable[Item]) -> Item | None:
    """Return the item with this constraint at a seam, if it can be made and surely covers its parts."""
    item = sewn(seam, constraint)
    return item if item is not None and all(covers_item(item, part) for part in parts) else None


def may_be_part(one: Item, union: Item) -> bool:
    """Return whether an item that a union covers may be one of its parts.

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
    """Return where a range begins."""
    return float("-inf") if each.low is None else each.low


def _are_apart(one: NumberRange, other: NumberRange) -> bool:
    """Return whether two ranges are no single one together; a single number parts none."""
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


def merged(items: Iterable[Item], factor: float) -> list[Item]:
    """Unite items as far as possible, those of one type of constraint at a time."""
    left = sorted(items, key=rank)
    known: dict[Item, list[Cut]] = {}
    while True:
        for item in left:
            if item not in known:
                known[item] = list(cuts(item))
        gone, new = _merged_once(left, known, factor)
        if not new:
            return left
        left = [item for item in left if item not in gone and item not in new] + sorted(new, key=rank)


def _merged_once(
    items: list[Item], known: dict[Item, list[Cut]], factor: float
) -> tuple[set[Item], set[Item]]:
    """Unite items at each seam, every item at most once; return the parts and the unions."""
    seams: dict[Seam, dict[Constraint, Item]] = {}
    for item in items:
        for cut in known[item]:
            seams.setdefault(cut.seam, {})[cut.constraint] = item
    gone, new = set[Item](), set[Item]()
    for seam, by_constraint in seams.items():
        if len(by_constraint) > 1:
            present = {constraint: item for constraint, item in by_constraint.items() if item not in gone}
            for item, parts in _unions_at(seam, present, factor):
                gone.update(parts)
                new.add(item)
    return gone, new


def _unions_at(
    seam: Seam, by_constraint: dict[Constraint, Item], factor: float
) -> Iterator[tuple[Item, list[Item]]]:
    """Unite items that differ at one seam alone; halves of them, where all together are too long."""
    pending = deque(_unions(by_constraint, factor))
    while pending:
        union = pending.popleft()
        if len(union.parts) > 1:
            parts = [by_constraint[each] for each in union.parts]
            item = sewn(seam, union.constraint)
            if item is None:
                pending += _halves(union, factor)
            elif covers_transitively(item.filter) or all(covers_item(item, part) for part in parts):
                yield item, parts


@frozen
class Union:
    """A constraint, and those of which it is the union."""

    constraint: Constraint
    parts: tuple[Constraint, ...]


def _unions(constraints: Iterable[Constraint], factor: float) -> list[Union]:
    """Unite constraints on one attribute as far as possible, those of one type of constraint each."""
    kinds: dict[type[Constraint], list[Constraint]] = {}
    for each in constraints:
        kinds.setdefault(type(each), []).append(each)
    return [union for kind in kinds.values() for union in _of_one_kind(kind, factor)]


def _halves(union: Union, factor: float) -> list[Union]:
    """Make two unions of what is too long for one, or none if it cannot be divided."""
    middle = len(union.parts) // 2
    divided = (union.parts[:middle], union.parts[middle:])
    return [each for half in divided for each in _of_one_kind(list(half), factor)] if middle else []


def _of_one_kind(constraints: list[Constraint], factor: float) -> list[Union]:
    """Unite constraints of one type; each lies in one of the unions as a whole."""
    if len(constraints) == 1:
        return [Union(constraints[0], tuple(constraints))]
    pieces = _pieces(constraints)
    if factor > PERFECT:
        pieces = _widened(pieces, factor)
    parts: dict[Constraint, list[Constraint]] = {piece: [] for piece in pieces}
    for each in constraints:
        around = next((piece for piece in pieces if covers(piece, each)), None)
        if around is None:  # No union certainly covers it; so nothing is united.
            return [Union(each, (each,)) for each in constraints]
        parts[around].append(each)
    return [Union(piece, tuple(inside)) for piece, inside in parts.items()]


def _pieces(constraints: list[Constraint]) -> list[Constraint]:
    texts = [each.values for each in constraints if isinstance(each, TextSet)]
    if texts:
        return [TextSet(frozenset().union(*texts))]
    numbers = [each.values for each in constraints if isinstance(each, NumberSet)]
    return [NumberSet(frozenset().union(*numbers))] if numbers else unite(constraints)


def _widened(pieces: list[Constraint], factor: float) -> list[Constraint]:
    """Unite neighbouring ranges to hulls until no two are near enough."""
    ranges = sorted((each for each in pieces if isinstance(each, NumberRange)), key=start_of)
    if len(ranges) < len(pieces):
        return pieces
    while True:
        joined: list[NumberRange] = []
        for each in ranges:
            wider = hull(joined[-1], each, factor) if joined else None
            if wider is None:
                joined.append(each)
            else:
                joined[-1] = wider
        if len(joined) == len(ranges):
            return [*joined]
        ranges = joined
