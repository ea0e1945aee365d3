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
from broker.filters.conjunctions import canonical, conjunction
from broker.filters.constraints import Constraint, NumberRange, NumberSet, TextSet, covers, unite

PERFECT: Final = 1.0

CONJUNCTIONS_UNITED: Final = 4
"""Filters of more conjunctions are left alone: each has as many seams as constraints, and each seam is nearly
as long as the filter."""


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


@frozen
class Union:
    """A constraint, and those of which it is the union."""

    constraint: Constraint
    parts: tuple[Constraint, ...]


def cuts(filter: Filter, *, ordered: bool) -> Iterator[Cut]:  # noqa: A002 - it is a filter
    """All ways to cut a filter, in the order of its constraints."""
    conjunctions = filter.conjunctions
    if len(conjunctions) > CONJUNCTIONS_UNITED:
        return
    for at, one in enumerate(conjunctions):
        others = (*conjunctions[:at], *conjunctions[at + 1 :])
        for place, (name, constraint) in enumerate(one):
            rest = (*one[:place], *one[place + 1 :])
            yield Cut(Seam(name, rest, others, ordered), constraint)


def sewn(seam: Seam, constraint: Constraint) -> Filter | None:
    """Put a constraint where one was cut out, or return None if the filter would become too long."""
    whole = conjunction({**dict(seam.rest), seam.name: constraint})
    filter_ = Filter(canonical((whole, *seam.others)) if seam.others else (whole,))
    return filter_ if len(str(filter_).encode()) <= SIZE_LIMIT_BYTES else None


def united(one: Constraint, other: Constraint, factor: float) -> Constraint | None:
    """Return the union of two constraints on one attribute, if it is one constraint."""
    if isinstance(one, NumberRange) and isinstance(other, NumberRange) and _are_apart(one, other):
        return _hull(one, other, factor)
    union = unite([one, other])
    return union[0] if len(union) == 1 else None


def unions(constraints: Iterable[Constraint], factor: float) -> list[Union]:
    """Unite constraints on one attribute as far as possible, those of one type of constraint each."""
    kinds: dict[type[Constraint], list[Constraint]] = {}
    for each in constraints:
        kinds.setdefault(type(each), []).append(each)
    return [union for kind in kinds.values() for union in _of_one_kind(kind, factor)]


def halves(union: Union, factor: float) -> list[Union]:
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
        if around is None:  # It is hard to see; so nothing is united.
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
    ranges = sorted((each for each in pieces if isinstance(each, NumberRange)), key=_start)
    if len(ranges) < len(pieces):
        return pieces
    while True:
        joined: list[NumberRange] = []
        for each in ranges:
            hull = _hull(joined[-1], each, factor) if joined else None
            if hull is None:
                joined.append(each)
            else:
                joined[-1] = hull
        if len(joined) == len(ranges):
            return [*joined]
        ranges = joined


def _start(each: NumberRange) -> float:
    return float("-inf") if each.low is None else each.low


def _are_apart(one: NumberRange, other: NumberRange) -> bool:
    """Whether two ranges are no single one together. Where a single number parts them, they are one."""
    first, second = (one, other) if _start(one) <= _start(other) else (other, one)
    return first.high is not None and second.low is not None and first.high < second.low


def _hull(one: NumberRange, other: NumberRange, factor: float) -> NumberRange | None:
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
