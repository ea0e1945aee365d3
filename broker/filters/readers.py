"""Tests of one attribute: closures that take an event's attributes and return yes or no.

They are the hot path of matching: each reads its attribute, checks the type and compares, without another
call in the usual case. Nothing is generated as source, so nothing a user writes is ever evaluated.

Laws:

* A missing attribute, and one of another type, fails every test. True is not 1.
* Not-a-number satisfies only `AnyValue`.
* Events from the wire have exactly the types str, bool, int and float. These come first; what programs make
  of them by subclasses is taken as well.
"""

from collections.abc import Callable
from typing import Final

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Number,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
)
from broker.filters.values import Attributes, Matcher

NUMBERS: Final = (int, float)


def reader(name: str, constraint: Constraint) -> Matcher:
    """Make the test of an attribute."""
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


def _text_set(name: str, values: frozenset[str]) -> Matcher:
    if len(values) == 1:
        (only,) = values
        return lambda attributes: attributes.get(name) == only

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return isinstance(value, str) and value in values

    return test


def _truths(name: str, values: frozenset[bool]) -> Matcher:
    if len(values) == 1:
        (only,) = values
        return lambda attributes: attributes.get(name) is only
    return lambda attributes: attributes.get(name).__class__ is bool


def _number_set(name: str, values: frozenset[Number]) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        kind = value.__class__
        if kind is int or kind is float:
            return value in values
        return kind is not bool and isinstance(value, NUMBERS) and value in values

    return test


def _number_range(name: str, constraint: NumberRange) -> Matcher:
    if constraint.excluded or constraint.closed is None:
        accepts = constraint.accepts
        return lambda attributes: accepts(attributes.get(name))
    low, high = constraint.closed

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        kind = value.__class__
        if kind is float or kind is int:
            return low <= value <= high  # type: ignore[operator]  # by its kind
        return kind is not bool and isinstance(value, NUMBERS) and low <= value <= high

    return test


def _text_pattern(name: str, pattern: TextPattern) -> Matcher:
    if pattern.is_bare_prefix():
        return _prefix(name, pattern.prefix)
    checks = tuple(_pattern_checks(pattern))

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if not isinstance(value, str):
            return False
        for check in checks:  # noqa: SIM110 - all() with a generator costs three times as much
            if not check(value):
                return False
        return True

    return test


def _prefix(name: str, prefix: str) -> Matcher:
    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return isinstance(value, str) and value.startswith(prefix)

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
        checks.append(lambda text: not pattern.forbids_start(text))
    if pattern.not_suffixes:
        checks.append(lambda text: not text.endswith(pattern.unwanted_ends))
    checks.extend(_contains(part) for part in sorted(pattern.contains))
    checks.extend(_lacks(part) for part in sorted(pattern.not_contains))
    return checks


def _contains(part: str) -> Callable[[str], bool]:
    return lambda text: part in text


def _lacks(part: str) -> Callable[[str], bool]:
    return lambda text: part not in text
