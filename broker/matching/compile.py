"""Tests made from constraints: closures that look at an event's attributes and say yes or no.

Laws:

* A missing attribute, and one with another type, fails every test. True is not 1.
* NaN satisfies only `AnyValue`.
* A range's open bounds become closed ones where that is exact, so that one comparison chain serves all.
* Values have exactly the types str, bool, int and float, as the wire format yields them.
"""

from collections.abc import Callable, Mapping
from math import inf, nextafter

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Number,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
    Value,
)

Test = Callable[[Mapping[str, Value]], bool]
"""An entry keeps one for each of its constraints that no lookup has proven; an event has to satisfy all."""

# Up to here every whole number is a float and the next float above it is at most one away, so an open bound
# is the same as a closed bound at the neighbouring float, for whole and floating numbers alike.
EXACT_LIMIT = 2**52


def compile_test(name: str, constraint: Constraint) -> Test:
    """A test of one attribute."""
    match constraint:
        case TextSet(values):
            return _text_set(name, values)
        case NumberSet(values):
            return _number_set(name, values)
        case NumberRange():
            return _number_range(name, constraint)
        case TextPattern():
            return _text_pattern(name, constraint)
        case Truths(values):
            return _truths(name, values)
        case AnyValue():
            return lambda attributes: name in attributes


def closed_bounds(constraint: NumberRange) -> tuple[float, float] | None:
    """The range as a closed interval of floats, exclusions apart; None where that would not be exact."""
    low = -inf if constraint.low is None else _closed(constraint.low, inf, closed=constraint.low_closed)
    high = inf if constraint.high is None else _closed(constraint.high, -inf, closed=constraint.high_closed)
    return None if low is None or high is None else (low, high)


def _closed(bound: Number, inward: float, *, closed: bool) -> float | None:
    if not -EXACT_LIMIT <= bound <= EXACT_LIMIT:
        return None
    return float(bound) if closed else nextafter(float(bound), inward)


def _text_set(name: str, values: frozenset[str]) -> Test:
    if len(values) == 1:
        (only,) = values
        return lambda attributes: attributes.get(name) == only
    return lambda attributes: attributes.get(name) in values


def _number_set(name: str, values: frozenset[Number]) -> Test:
    def test(attributes: Mapping[str, Value]) -> bool:
        value = attributes.get(name)
        return value in values and value.__class__ is not bool

    return test


def _truths(name: str, values: frozenset[bool]) -> Test:
    if len(values) == 1:
        (only,) = values
        return lambda attributes: attributes.get(name) is only
    return lambda attributes: attributes.get(name).__class__ is bool


def _number_range(name: str, constraint: NumberRange) -> Test:
    bounds = closed_bounds(constraint)
    if bounds is None:
        return _inexact_range(name, constraint)
    low, high = bounds
    excluded = constraint.excluded
    if excluded:
        return _closed_range_with_holes(name, low, high, excluded)

    def test(attributes: Mapping[str, Value]) -> bool:
        value = attributes.get(name)
        kind = value.__class__
        return (kind is float or kind is int) and low <= value <= high  # type: ignore[operator]  # kind says it

    return test


def _closed_range_with_holes(name: str, low: float, high: float, excluded: frozenset[Number]) -> Test:
    def test(attributes: Mapping[str, Value]) -> bool:
        value = attributes.get(name)
        kind = value.__class__
        if kind is not float and kind is not int:
            return False
        return low <= value <= high and value not in excluded  # type: ignore[operator]  # kind says it

    return test


def _inexact_range(name: str, constraint: NumberRange) -> Test:
    """Bounds too large to be closed: infinities and whole numbers beyond the floats' exactness."""
    low, high = constraint.low, constraint.high

    def test(attributes: Mapping[str, Value]) -> bool:
        value = attributes.get(name)
        if (value.__class__ is not float and value.__class__ is not int) or value != value:  # noqa: PLR0124 - NaN
            return False
        assert isinstance(value, int | float)
        if low is not None and (value < low or (value == low and not constraint.low_closed)):
            return False
        if high is not None and (value > high or (value == high and not constraint.high_closed)):
            return False
        return value not in constraint.excluded

    return test


def _text_pattern(name: str, constraint: TextPattern) -> Test:
    if constraint == TextPattern(prefix=constraint.prefix):
        return _prefix(name, constraint.prefix)
    checks = tuple(_pattern_checks(constraint))

    def test(attributes: Mapping[str, Value]) -> bool:
        value = attributes.get(name)
        if not isinstance(value, str):
            return False
        for check in checks:  # noqa: SIM110 - all() with a generator costs three times as much
            if not check(value):
                return False
        return True

    return test


def _prefix(name: str, prefix: str) -> Test:
    def test(attributes: Mapping[str, Value]) -> bool:
        value = attributes.get(name)
        return value.__class__ is str and value.startswith(prefix)

    return test


def _pattern_checks(pattern: TextPattern) -> list[Callable[[str], bool]]:
    """The demands of a pattern, each as a check of a text; the cheap ones first."""
    checks: list[Callable[[str], bool]] = []
    low, high, excluded = pattern.low, pattern.high, pattern.excluded
    if pattern.prefix:
        checks.append(lambda text: text.startswith(pattern.prefix))
    if pattern.suffix:
        checks.append(lambda text: text.endswith(pattern.suffix))
    if low is not None:
        checks.append((lambda text: text >= low) if pattern.low_closed else (lambda text: text > low))
    if high is not None:
        checks.append((lambda text: text <= high) if pattern.high_closed else (lambda text: text < high))
    if excluded:
        checks.append(lambda text: text not in excluded)
    if pattern.not_prefixes:
        unwanted_starts = tuple(pattern.not_prefixes)
        checks.append(lambda text: not text.startswith(unwanted_starts))
    if pattern.not_suffixes:
        unwanted_ends = tuple(pattern.not_suffixes)
        checks.append(lambda text: not text.endswith(unwanted_ends))
    checks.extend(_contains(part) for part in sorted(pattern.contains))
    checks.extend(_lacks(part) for part in sorted(pattern.not_contains))
    return checks


def _contains(part: str) -> Callable[[str], bool]:
    return lambda text: part in text


def _lacks(part: str) -> Callable[[str], bool]:
    return lambda text: part not in text
