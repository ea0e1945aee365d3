"""The index against trying every filter, over any sequence of changes."""

import math
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from broker.filters import Conjunction, Filter
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
from broker.matching import MatchingIndex

NAMES = ("a", "b", "c")
NUMBERS: list[Number] = [
    0,
    1,
    1.0,
    2,
    2.5,
    -3,
    1e300,
    -1e300,
    2**53,
    2**53 + 1,
    10**400,
    math.inf,
    0.1,
    5e-324,
]
TEXTS = ["", "a", "ab", "abc", "b", "ba", "cab", "a" * 50, "a" * 70, "a" * 70 + "b"]


def is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def satisfies(constraint: Constraint, value: Value) -> bool:
    match constraint:
        case AnyValue():
            return True
        case NumberSet(values):
            return is_number(value) and any(value == one for one in values)
        case TextSet(values):
            return isinstance(value, str) and value in values
        case Truths(values):
            return isinstance(value, bool) and value in values
        case NumberRange():
            return is_number(value) and in_range(constraint, value)
        case TextPattern():
            return isinstance(value, str) and fits(constraint, value)
        case _:
            raise AssertionError(constraint)


def in_range(limits: NumberRange, value: Value) -> bool:
    assert isinstance(value, int | float)
    if value != value:  # noqa: PLR0124 - NaN
        return False
    above = limits.low is None or value > limits.low or (limits.low_closed and value == limits.low)
    below = limits.high is None or value < limits.high or (limits.high_closed and value == limits.high)
    return above and below and not any(value == one for one in limits.excluded)


def fits(pattern: TextPattern, text: str) -> bool:
    return all(
        (
            pattern.low is None or text > pattern.low or (pattern.low_closed and text == pattern.low),
            pattern.high is None or text < pattern.high or (pattern.high_closed and text == pattern.high),
            text.startswith(pattern.prefix),
            text.endswith(pattern.suffix),
            all(part in text for part in pattern.contains),
            text not in pattern.excluded,
            not any(text.startswith(part) for part in pattern.not_prefixes),
            not any(text.endswith(part) for part in pattern.not_suffixes),
            not any(part in text for part in pattern.not_contains),
        )
    )


def naive(filter: Filter, attributes: Mapping[str, Value]) -> bool:  # noqa: A002 - as in the index
    return any(
        all(
            name in attributes and satisfies(constraint, attributes[name]) for name, constraint in conjunction
        )
        for conjunction in filter.conjunctions
    )


def ordered_range(
    low: Number | None, high: Number | None, closed: tuple[bool, bool], holes: frozenset[Number]
) -> NumberRange:
    if low is not None and high is not None and low > high:
        low, high = high, low
    return NumberRange(low, closed[0], high, closed[1], holes)


def some(values: list[str]) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(values), max_size=2)


numbers = st.one_of(st.sampled_from(NUMBERS), st.integers(-40, 40), st.floats(-40, 40))
flags = st.tuples(st.booleans(), st.booleans())
constraints: st.SearchStrategy[Constraint] = st.one_of(
    st.just(AnyValue()),
    st.builds(NumberSet, st.frozensets(numbers, min_size=1, max_size=3)),
    st.builds(
        ordered_range, st.none() | numbers, st.none() | numbers, flags, st.frozensets(numbers, max_size=1)
    ),
    st.builds(ordered_range, numbers, numbers, flags, st.just(frozenset())),
    st.builds(TextSet, st.frozensets(st.sampled_from(TEXTS), min_size=1, max_size=3)),
    st.builds(TextPattern, prefix=st.sampled_from(TEXTS)),
    st.builds(TextPattern, suffix=st.sampled_from(TEXTS)),
    st.builds(
        TextPattern,
        low=st.none() | st.sampled_from(TEXTS),
        low_closed=st.booleans(),
        high=st.none() | st.sampled_from(TEXTS),
        high_closed=st.booleans(),
        prefix=st.sampled_from(["", "a", "ab"]),
        suffix=st.sampled_from(["", "b"]),
        contains=some(["a", "b"]),
        excluded=some(TEXTS),
        not_prefixes=some(["c", "ab"]),
        not_suffixes=some(["c", "ab"]),
        not_contains=some(["c", "ba"]),
    ),
    st.builds(Truths, st.frozensets(st.booleans(), min_size=1)),
)
conjunctions: st.SearchStrategy[Conjunction] = st.dictionaries(
    st.sampled_from(NAMES), constraints, max_size=3
).map(lambda by_name: tuple(sorted(by_name.items())))
filters = st.lists(conjunctions, max_size=3).map(lambda several: Filter(tuple(several)))
values: st.SearchStrategy[Value] = st.one_of(
    numbers, st.sampled_from(TEXTS), st.text("abc", max_size=4), st.booleans(), st.just(math.nan)
)
events = st.dictionaries(st.sampled_from((*NAMES, "d")), values)


class IndexMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.index: MatchingIndex[int] = MatchingIndex()
        self.filters: dict[int, Filter] = {}
        self.count = 0

    @rule(several=st.lists(filters, min_size=1, max_size=30))
    def add(self, several: list[Filter]) -> None:
        for one in several:
            self.index.add(self.count, one)
            self.filters[self.count] = one
            self.count += 1

    @rule(choice=st.randoms(use_true_random=False), share=st.floats(0, 1))
    def remove(self, choice: Random, share: float) -> None:
        for key in choice.sample(sorted(self.filters), int(share * len(self.filters))):
            self.index.remove(key)
            del self.filters[key]

    @rule(several=st.lists(events, max_size=10))
    def match(self, several: list[dict[str, Value]]) -> None:
        for event in several:
            matching = self.index.match(event)
            assert sorted(matching) == [key for key, one in self.filters.items() if naive(one, event)]

    @invariant()
    def knows_its_keys(self) -> None:
        assert len(self.index) == len(self.filters)
        assert all(key in self.index for key in self.filters)

    def teardown(self) -> None:
        for key in self.filters:
            self.index.remove(key)
        assert_holds_nothing(self.index)


def assert_holds_nothing(index: MatchingIndex[int]) -> None:
    assert len(index) == 0
    assert not index._entries
    assert not index._held
    assert not index._root
    assert index._several == 0


TestAnyChanges = IndexMachine.TestCase
TestAnyChanges.settings = settings(max_examples=80, stateful_step_count=12, deadline=None)


@given(st.lists(conjunctions, min_size=1, max_size=150), st.lists(events, max_size=20))
@settings(deadline=None)
def test_a_crowded_index_matches_as_each_filter_does(
    several: list[Conjunction], some_events: list[dict[str, Value]]
) -> None:
    index: MatchingIndex[int] = MatchingIndex()
    for key, conjunction in enumerate(several):
        index.add(key, Filter((conjunction,)))
    for event in some_events:
        expected = [key for key, conjunction in enumerate(several) if naive(Filter((conjunction,)), event)]
        assert sorted(index.match(event)) == expected


def test_adding_a_key_twice_is_an_error() -> None:
    index: MatchingIndex[str] = MatchingIndex()
    index.add("k", Filter(((),)))
    with pytest.raises(KeyError, match="'k' is in the matching index already"):
        index.add("k", Filter(((),)))


def test_removing_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError, match="'k' is not in the matching index"):
        MatchingIndex[str]().remove("k")
