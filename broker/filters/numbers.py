"""Constraints on numbers, exact on the real line: sets of points, and ranges with single points cut out.

Laws:

* A range holds more than one number; what holds one is a set, what holds none is not made (`number_range`).
* An excluded number lies strictly between the bounds; at a closed bound it opens the bound instead.
* A union has one form (`unite`): ranges that neither touch nor differ by a single point, and one set of the
  points outside all of them. So equal unions of numbers are equal values.
* A range's open bounds become closed ones where that is exact (`closed`), so that one chain of comparisons
  serves all.
* Hashes are of labels, which no peer can align (see `label`).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from math import inf, nextafter
from typing import ClassVar, Final

from attrs import frozen

from broker.filters.values import Number, is_number, label, may_collide, printed_set

COLLISIONS_A_STEP: Final = 16
"""Comparisons of numbers that may have one hash; a set of them takes time by the square."""

TRYING_STEPS: Final = 3
"""A number looked for among the excluded ones, and compared with two bounds."""

FEW: Final = 8
"""Of fewer numbers it does not matter how they are hashed."""

EXACT_LIMIT: Final = 2**52
"""Up to here every whole number is a float, and the next float above it is at most one away: so an open bound
is the same as a closed one at the neighbouring float, for whole and floating numbers alike."""

Span = tuple[Number | None, bool, Number | None, bool]
"""A low bound, whether it is closed, a high bound, and whether it is closed; None is open to that side. A
plain tuple, because a union makes one for each number it has or excludes."""

PuncturedSpan = tuple[Span, list[Number]]


@frozen
class NumberSet:
    """The attribute is one of these numbers: `x == 1`, `x in (1, 2)`."""

    width: ClassVar[int] = 0
    shaping: ClassVar[int] = 0
    parts: ClassVar[int] = 0

    values: frozenset[Number]

    def __hash__(self) -> int:
        return _hash(self.values) if len(self.values) < FEW else self._hash

    @cached_property
    def _hash(self) -> int:
        return _hash(self.values)

    @property
    def weight(self) -> int:
        """Return the steps that going through its numbers takes."""
        return len(self.values)

    @property
    def trying(self) -> int:
        """Return the steps that trying one number takes."""
        return 0 if len(self.values) < FEW else self._trying

    @cached_property
    def _trying(self) -> int:
        return _comparisons(self.values)

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        return is_number(value) and value in self.values

    def intersect(self, other: object) -> "NumberSet | None":
        """Return what satisfies both, or None."""
        if isinstance(other, NumberSet | NumberRange):
            return number_set(number for number in self.values if other.accepts(number))
        return None

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this; exact."""
        return isinstance(other, NumberSet) and other.values <= self.values

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both; exact."""
        if isinstance(other, NumberSet):
            return not self.values.isdisjoint(other.values)
        return isinstance(other, NumberRange) and any(map(other.accepts, self.values))

    def complement(self) -> tuple["NumberRange"]:
        """Return the numbers that do not satisfy it."""
        return (NumberRange(excluded=self.values),)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return printed_set(name, self.values, "==", "in")

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (1, float(min(self.values)))


@frozen
class NumberRange:
    """The attribute is a number between the bounds and none of the excluded ones.

    A bound of None is open to that side. `x != 5` is the unbounded range that excludes 5.
    """

    width: ClassVar[int] = 0
    shaping: ClassVar[int] = 0
    parts: ClassVar[int] = 0

    low: Number | None = None
    low_closed: bool = False
    high: Number | None = None
    high_closed: bool = False
    excluded: frozenset[Number] = frozenset()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        low = None if self.low is None else label(self.low)
        high = None if self.high is None else label(self.high)
        return hash((low, self.low_closed, high, self.high_closed, _hash(self.excluded)))

    @property
    def weight(self) -> int:
        """Return the steps that going through its excluded numbers takes."""
        return len(self.excluded)

    @property
    def trying(self) -> int:
        """Return the steps that trying one number takes."""
        return TRYING_STEPS if len(self.excluded) < FEW else TRYING_STEPS + self._trying

    @cached_property
    def _trying(self) -> int:
        return _comparisons(self.excluded)

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        if not is_number(value) or value != value or value in self.excluded:  # noqa: PLR0124 - not-a-number
            return False
        low, high = self.low, self.high
        above = low is None or value > low or (value == low and self.low_closed)
        return above and (high is None or value < high or (value == high and self.high_closed))

    @cached_property
    def closed(self) -> tuple[float, float] | None:
        """Return the bounds as those of a closed interval of floats; None where that would not be exact."""
        low = -inf if self.low is None else _closed(self.low, inf, is_closed=self.low_closed)
        high = inf if self.high is None else _closed(self.high, -inf, is_closed=self.high_closed)
        return None if low is None or high is None else (low, high)

    def intersect(self, other: object) -> "NumberConstraint | None":
        """Return what satisfies both, or None."""
        if isinstance(other, NumberSet):
            return other.intersect(self)
        if not isinstance(other, NumberRange):
            return None
        lower = self if _starts_later(self, other) else other
        upper = other if _ends_later(self, other) else self
        excluded = self.excluded | other.excluded if other.excluded else self.excluded
        return number_range(lower.low, lower.low_closed, upper.high, upper.high_closed, excluded)

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this; exact."""
        if isinstance(other, NumberSet):
            return all(map(self.accepts, other.values))
        if not isinstance(other, NumberRange) or _starts_later(self, other) or _ends_later(other, self):
            return False
        return not any(map(other.accepts, self.excluded))

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both; exact."""
        if isinstance(other, NumberSet):
            return any(map(self.accepts, other.values))
        if not isinstance(other, NumberRange):
            return False
        return _begins_before_end(self, other) and _begins_before_end(other, self)

    def complement(self) -> tuple["NumberConstraint", ...]:
        """Return the numbers that do not satisfy it."""
        parts: list[NumberConstraint] = []
        if self.low is not None:
            parts.append(NumberRange(high=self.low, high_closed=not self.low_closed))
        if self.high is not None:
            parts.append(NumberRange(low=self.high, low_closed=not self.high_closed))
        if self.excluded:
            parts.append(NumberSet(self.excluded))
        return tuple(parts)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        parts: list[str] = []
        if self.low is not None and self.high is not None:
            left, right = "<=" if self.low_closed else "<", "<=" if self.high_closed else "<"
            parts.append(f"{self.low!r} {left} {name} {right} {self.high!r}")
        elif self.low is not None:
            parts.append(f"{name} {'>=' if self.low_closed else '>'} {self.low!r}")
        elif self.high is not None:
            parts.append(f"{name} {'<=' if self.high_closed else '<'} {self.high!r}")
        if self.excluded:
            parts.append(printed_set(name, self.excluded, "!=", "not in"))
        return " and ".join(parts) or f"({name} < 0 or {name} >= 0)"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (2, -inf if self.low is None else float(self.low))


NumberConstraint = NumberSet | NumberRange


def number_set(numbers: Iterable[Number]) -> NumberSet | None:
    """Return the set of those numbers, or None if there are none."""
    values = frozenset(numbers)
    return NumberSet(values) if values else None


def number_range(
    low: Number | None,
    low_closed: bool,  # noqa: FBT001 - the fields of a range, in their order
    high: Number | None,
    high_closed: bool,  # noqa: FBT001 - likewise
    excluded: frozenset[Number],
) -> NumberConstraint | None:
    """Return the numbers between the bounds in canonical form, or None if there are none."""
    if excluded:
        low_closed = low_closed and low not in excluded
        high_closed = high_closed and high not in excluded
        excluded = frozenset(
            number for number in excluded if (low is None or number > low) and (high is None or number < high)
        )
    if low is not None and high is not None and low >= high:
        return NumberSet(frozenset((low,))) if low == high and low_closed and high_closed else None
    return NumberRange(low, low is not None and low_closed, high, high is not None and high_closed, excluded)


def _closed(bound: Number, inward: float, *, is_closed: bool) -> float | None:
    if not -EXACT_LIMIT <= bound <= EXACT_LIMIT:
        return None
    return float(bound) if is_closed else nextafter(float(bound), inward)


def _hash(numbers: Collection[Number]) -> int:
    return hash(frozenset(map(label, numbers))) if numbers else 0


def _comparisons(numbers: Collection[Number]) -> int:
    """Return the steps that finding a number takes: it is compared with all that have its hash."""
    return sum(map(may_collide, numbers)) // COLLISIONS_A_STEP


def unite(constraints: Sequence[object]) -> list[NumberConstraint]:
    """Return the union of constraints on numbers in its one form."""
    sets = [each.values for each in constraints if isinstance(each, NumberSet)]
    ranges = [each for each in constraints if isinstance(each, NumberRange)]
    points: frozenset[Number] = frozenset().union(*sets)
    if not ranges:
        return [NumberSet(points)] if points else []
    spans: list[Span] = [(number, True, number, True) for number in points]
    for each in ranges:
        spans.extend(_spans(each))
    return _constraints(_punctured(_disjoint_spans(spans)))


def _spans(constraint: NumberRange) -> Iterator[Span]:
    """Cut a range at the numbers it excludes."""
    low, low_closed = constraint.low, constraint.low_closed
    for cut in sorted(constraint.excluded):
        yield low, low_closed, cut, False
        low, low_closed = cut, False
    yield low, low_closed, constraint.high, constraint.high_closed


def _disjoint_spans(spans: Iterable[Span]) -> list[Span]:
    """Join spans where they overlap or touch; return them in order."""
    joined: list[Span] = []
    for span in sorted(spans, key=_span_start):
        if not joined or _has_gap(joined[-1], span):
            joined.append(span)
        elif _span_ends_later(span, joined[-1]):
            joined[-1] = (*joined[-1][:2], *span[2:])
    return joined


def _punctured(spans: Iterable[Span]) -> list[PuncturedSpan]:
    """Turn disjoint spans that only a single number parts into one, with the numbers that it lacks."""
    found: list[PuncturedSpan] = []
    for span in spans:
        if found and found[-1][0][2] is not None and found[-1][0][2] == span[0]:
            last, lacking = found[-1]
            lacking.append(last[2])  # type: ignore[arg-type]  # it is not None
            found[-1] = ((*last[:2], *span[2:]), lacking)
        else:
            found.append((span, []))
    return found


def _span_start(span: Span) -> tuple[bool, Number, bool]:
    low = span[0]
    return (False, 0, not span[1]) if low is None else (True, low, not span[1])


def _span_ends_later(one: Span, other: Span) -> bool:
    if one[2] is None or other[2] is None:
        return other[2] is not None
    return one[2] > other[2] or (one[2] == other[2] and one[3] and not other[3])


def _has_gap(left: Span, right: Span) -> bool:
    """Return whether some number lies between the end of one and the start of the next."""
    if left[2] is None or right[0] is None:
        return False
    return left[2] < right[0] or (left[2] == right[0] and not (left[3] or right[1]))


def _constraints(spans: Iterable[PuncturedSpan]) -> list[NumberConstraint]:
    constraints: list[NumberConstraint] = []
    points: list[Number] = []
    for span, lacking in spans:
        if span[0] is not None and span[0] == span[2]:
            points.append(span[0])
        else:
            constraints.append(NumberRange(*span, frozenset(lacking)))
    return [*constraints, NumberSet(frozenset(points))] if points else constraints


def _starts_later(one: NumberRange, other: NumberRange) -> bool:
    if one.low is None or other.low is None:
        return one.low is not None
    return one.low > other.low or (one.low == other.low and other.low_closed and not one.low_closed)


def _ends_later(one: NumberRange, other: NumberRange) -> bool:
    if one.high is None or other.high is None:
        return other.high is not None
    return one.high > other.high or (one.high == other.high and one.high_closed and not other.high_closed)


def _begins_before_end(one: NumberRange, other: NumberRange) -> bool:
    if one.low is None or other.high is None:
        return True
    return one.low < other.high or (one.low == other.high and one.low_closed and other.high_closed)
