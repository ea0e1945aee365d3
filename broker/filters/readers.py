"""Tests of one attribute, and of all: closures that take an event's attributes and return yes or no.

They are the hot path of matching: each reads its attribute, checks the type and compares, without another
call in the usual case. A conjunction calls them in turn, the ones that fail most events first. Nothing is
generated as source, so nothing a user writes is ever evaluated.

Theory of operation: tests of one attribute read it by its path, and look into no maps. Where a path has dots,
and the event as it is does not match, it is tried once more with its maps flattened. An element of a list is
an event of its own to what is demanded of elements.

Laws:

* A missing attribute, and one of another type, fails every test. True is not 1.
* Not-a-number satisfies only `AnyValue` and `NotNull`.
* Events from the wire have exactly the types str, bool, int and float. These come first; what programs make
  of them by subclasses is taken as well.
"""

from collections.abc import Callable, Sequence
from typing import Final

from broker.filters.constraints import (
    AnyValue,
    Conjunction,
    Constraint,
    Containing,
    ListPattern,
    NotNull,
    Null,
    Number,
    NumberRange,
    NumberSet,
    OwnPattern,
    TextPattern,
    TextSet,
    Truths,
    Value,
)
from broker.filters.lists import Alternatives
from broker.filters.values import MISSING, SELF, Attributes, Matcher, element_attributes, flattened

NUMBERS: Final = (int, float)

ListTest = Callable[[list[Value]], bool]


def matcher(conjunctions: Sequence[Conjunction]) -> Matcher:
    """Return a closure that tests an event's attributes."""
    test = _disjunction_matcher(conjunctions)
    if not any("." in name for one in conjunctions for name, _ in one):
        return test

    def test_paths(attributes: Attributes) -> bool:
        if test(attributes):
            return True
        values = flattened(attributes)
        return values is not attributes and test(values)

    return test_paths


def _disjunction_matcher(conjunctions: Sequence[Conjunction]) -> Matcher:
    tests = [_conjunction_matcher(each) for each in conjunctions]
    if not tests:
        return lambda _attributes: False
    if len(tests) == 1:
        return tests[0]

    def any_of(attributes: Attributes) -> bool:
        for test in tests:  # noqa: SIM110 - a generator costs more than the loop
            if test(attributes):
                return True
        return False

    return any_of


def _conjunction_matcher(conjunction: Conjunction) -> Matcher:
    ordered = sorted(conjunction, key=_selectivity)
    tests = [reader(*each) for each in ordered]
    if not tests:
        return lambda _attributes: True
    if len(tests) == 1:
        return tests[0]
    first, second = tests[:2]
    if len(tests) == 2:  # noqa: PLR2004 - the commonest conjunction has two attributes
        return lambda attributes: first(attributes) and second(attributes)
    rest = tests[2:]

    def all_of(attributes: Attributes) -> bool:
        if not (first(attributes) and second(attributes)):
            return False
        for test in rest:  # noqa: SIM110 - a generator costs more than the loop
            if not test(attributes):
                return False
        return True

    return all_of


def _selectivity(item: tuple[str, Constraint]) -> int:
    """Put equality first, patterns and lists last; the sort is stable, so the rest keeps its order."""
    _, constraint = item
    if isinstance(constraint, TextSet | NumberSet):
        return 0
    return 2 if isinstance(constraint, TextPattern | ListPattern | Containing | OwnPattern) else 1


def reader(name: str, constraint: Constraint) -> Matcher:  # noqa: C901, PLR0911 - a table, a row each
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
        case NotNull():
            return _not_null(name)
        case Null():
            return lambda attributes: attributes.get(name, MISSING) is None
        case ListPattern():
            return _list_pattern(name, constraint)
        case Containing():
            return _containing(name, constraint)
        case OwnPattern():
            return _own_pattern(name, constraint)


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


def _not_null(name: str) -> Matcher:
    if name == SELF:
        # An element that is a map has no entry of its own, and is not null.
        return lambda attributes: attributes.get(SELF, attributes) is not None
    return lambda attributes: attributes.get(name) is not None


def _list_pattern(name: str, pattern: ListPattern) -> Matcher:
    test_list = _list_test(pattern)

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        return isinstance(value, list) and test_list(value)

    return test


def _list_test(pattern: ListPattern) -> ListTest:
    """Make the test of a list."""
    low, high = pattern.low, pattern.high
    tests = [
        *map(_some_test, pattern.some),
        *(_every_test(_element_test(each)) for each in pattern.every),
        *(_none_test(_some_test(each)) for each in pattern.none),
    ]
    if len(tests) == 1 and not low and high is None:
        return tests[0]

    def test(elements: list[Value]) -> bool:
        count = len(elements)
        if count < low or (high is not None and count > high):
            return False
        for each in tests:  # noqa: SIM110 - a generator costs more than the loop
            if not each(elements):
                return False
        return True

    return test


def _some_test(condition: Alternatives) -> ListTest:
    """Make the test whether some element satisfies a condition. That one is a text is the commonest."""
    texts = texts_wanted(condition)
    if len(texts) == 1:
        (only,) = texts
        return lambda elements: only in elements
    if texts:
        return lambda elements: any(element.__class__ is str and element in texts for element in elements)
    test = _element_test(condition)
    return lambda elements: any(map(test, elements))


def _every_test(test: Callable[[Value], bool]) -> ListTest:
    return lambda elements: all(map(test, elements))


def _none_test(test: ListTest) -> ListTest:
    return lambda elements: not test(elements)


def texts_wanted(condition: Alternatives) -> frozenset[str]:
    """Return the texts of which an element is one, if nothing else satisfies the condition."""
    match condition:
        case (((name, TextSet(values)),),) if name == SELF:
            return values
        case _:
            return frozenset()


def _element_test(condition: Alternatives) -> Callable[[Value], bool]:
    test = matcher(condition)
    return lambda element: test(element_attributes(element))


def _containing(name: str, constraint: Containing) -> Matcher:
    checks = tuple(_pattern_checks(constraint.as_text))
    test_list = _list_test(constraint.as_list)

    def test(attributes: Attributes) -> bool:
        value = attributes.get(name)
        if isinstance(value, list):
            return test_list(value)
        if not isinstance(value, str):
            return False
        for check in checks:  # noqa: SIM110 - as above
            if not check(value):
                return False
        return True

    return test


def _own_pattern(name: str, constraint: OwnPattern) -> Matcher:
    accepts = constraint.accepts
    if name == SELF:
        # An element that is a map has no entry of its own, and may be what the constraint is about.
        return lambda attributes: accepts(attributes.get(SELF, attributes))
    return lambda attributes: name in attributes and accepts(attributes[name])


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
