"""Constraints on numbers, exact on the real line: sets of points, and ranges with single points cut out.

Laws:

* A range holds more than one number; what holds one is a set, what holds none is not made (`number_range`).
* An excluded number lies strictly between the bounds; at a closed bound it opens the bound instead.
* A union has one form (`unite`): ranges that neither touch nor differ by a single point, and one set of the
  points outside all of them. So equal unions of numbers are equal values.
"""

import math
from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from broker.filters.number_readers import between, equal_to, one_sided
from broker.filters.values import Matcher, Number, is_number, listed


@frozen
class NumberSet:
    """The attribute is one of these numbers: `x == 1`, `x in (1, 2)`."""

    values: frozenset[Number]

    def accepts(self, value: object) -> bool:
        """Tell whether the value satisfies the constraint."""
        return is_number(value) and value in self.values

    def reader(self, name: str) -> Matcher:
        """Make the test of that attribute as fast as can be."""
        if len(self.values) > 1:
            accepts = self.accepts
            return lambda attributes: accepts(attributes.get(name))
        (number,) = self.values
        return equal_to(name, number)

    def intersect(self, other: object) -> "NumberSet | None":
        """Return what satisfies both, or None."""
        if isinstance(other, NumberSet | NumberRange):
            return number_set(number for number in self.values if other.accepts(number))
        return None

    def covers(self, other: object) -> bool:
        """Tell whether everything that satisfies the other satisfies this; exact."""
        return isinstance(other, NumberSet) and other.values <= self.values

    def overlaps(self, other: object) -> bool:
        """Tell whether some value satisfies both; exact."""
        if isinstance(other, NumberSet):
            return not self.values.isdisjoint(other.values)
        return isinstance(other, NumberRange) and any(map(other.accepts, self.values))

    def complement(self) -> tuple["NumberRange"]:
        """Return the numbers that do not satisfy it."""
        return (NumberRange(excluded=self.values),)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return _printed_set(name, self.values, "==", "in")

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (1, float(min(self.values)))


@frozen
class NumberRange:
    """The attribute is a number between the bounds and none of the excluded ones.

    A bound of None is open to that side. `x != 5` is the unbounded range that excludes 5.
    """

    low: Number | None = None
    low_closed: bool = False
    high: Number | None = None
    high_closed: bool = False
    excluded: frozenset[Number] = frozenset()

    def accepts(self, value: object) -> bool:
        """Tell whether the value satisfies the constraint."""
        if not is_number(value) or value != value or value in self.excluded:  # noqa: PLR0124 - not-a-number
            return False
        low, high = self.low, self.high
        above = low is None or value > low or (value == low and self.low_closed)
        return above and (high is None or value < high or (value == high and self.high_closed))

    def reader(self, name: str) -> Matcher:
        """Make the test of that attribute as fast as can be."""
        if self.excluded or (self.low is None and self.high is None):
            accepts = self.accepts
            return lambda attributes: accepts(attributes.get(name))
        if self.low is not None and self.high is not None:
            return between(name, self.low, self.high, self.low_closed, self.high_closed)
        return one_sided(name, self.low, self.high, self.low_closed or self.high_closed)

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
        """Tell whether everything that satisfies the other satisfies this; exact."""
        if isinstance(other, NumberSet):
            return all(map(self.accepts, other.values))
        if not isinstance(other, NumberRange) or _starts_later(self, other) or _ends_later(other, self):
            return False
        return not any(map(other.accepts, self.excluded))

    def overlaps(self, other: object) -> bool:
        """Tell whether some value satisfies both; exact."""
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
            parts.append(_printed_set(name, self.excluded, "!=", "not in"))
        return " and ".join(parts) or f"({name} < 0 or {name} >= 0)"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (2, -math.inf if self.low is None else float(self.low))


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


def unite(constraints: Iterable[object]) -> list[NumberConstraint]:
    """Return the union of constraints on numbers in its one form."""
    spans: list[NumberRange] = []
    for constraint in constraints:
        if isinstance(constraint, NumberSet):
            spans.extend(map(_span_of, constraint.values))
        elif isinstance(constraint, NumberRange):
            spans.extend(_spans(constraint))
    ranges: list[NumberConstraint] = []
    points: set[Number] = set()
    for span in _punctured(_joined(spans)):
        if span.low is not None and span.low == span.high:
            points.add(span.low)
        else:
            ranges.append(span)
    if points:
        ranges.append(NumberSet(frozenset(points)))
    return ranges


def _span_of(number: Number) -> NumberRange:
    return NumberRange(low=number, low_closed=True, high=number, high_closed=True)


def _spans(constraint: NumberRange) -> Iterator[NumberRange]:
    """Cut a range at the numbers it excludes."""
    low, low_closed = constraint.low, constraint.low_closed
    for cut in sorted(constraint.excluded):
        yield NumberRange(low, low_closed, cut, high_closed=False)
        low, low_closed = cut, False
    yield NumberRange(low, low_closed, constraint.high, constraint.high_closed)


def _joined(spans: Iterable[NumberRange]) -> list[NumberRange]:
    """Join spans without holes where they overlap or touch."""
    joined: list[NumberRange] = []
    for span in sorted(spans, key=_by_start):
        last = joined[-1] if joined else None
        if last is None or _gap(last, span):
            joined.append(span)
        elif _ends_later(span, last):
            joined[-1] = NumberRange(last.low, last.low_closed, span.high, span.high_closed)
    return joined


def _punctured(spans: Iterable[NumberRange]) -> list[NumberRange]:
    """Turn spans that only a single number parts into one range that excludes it."""
    ranges: list[NumberRange] = []
    cuts: list[Number] = []
    for span in spans:
        last = ranges[-1] if ranges else None
        if last is not None and last.high is not None and last.high == span.low:
            cuts.append(last.high)
            ranges[-1] = NumberRange(last.low, last.low_closed, span.high, span.high_closed)
        else:
            _close(ranges, cuts)
            ranges.append(span)
    _close(ranges, cuts)
    return ranges


def _close(ranges: list[NumberRange], cuts: list[Number]) -> None:
    """Write the cuts gathered so far into the last range."""
    if cuts:
        ranges[-1] = evolve(ranges[-1], excluded=frozenset(cuts))
        cuts.clear()


def _by_start(span: NumberRange) -> tuple[bool, Number, bool]:
    return (span.low is not None, span.low or 0, not span.low_closed)


def _gap(left: NumberRange, right: NumberRange) -> bool:
    """Tell whether some number lies between the end of one and the start of the next."""
    if left.high is None or right.low is None:
        return False
    return left.high < right.low or (left.high == right.low and not (left.high_closed or right.low_closed))


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


def _printed_set(name: str, numbers: frozenset[Number], one: str, many: str) -> str:
    if len(numbers) == 1:
        return f"{name} {one} {next(iter(numbers))!r}"
    return f"{name} {many} {listed([repr(number) for number in sorted(numbers)])}"
