"""Half-open ranges, many of one kind, against the comparison itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.filters import Filter
from broker.filters.constraints import Constraint, Number, NumberRange, TextPattern, Value
from broker.matching import MatchingIndex

numbers: st.SearchStrategy[Number] = st.integers(-9, 9) | st.floats(-9, 9)
OTHER: list[dict[str, Constraint]] = [{}, {"text": TextPattern(contains=frozenset({"x"}))}]


@given(st.lists(st.tuples(numbers, st.booleans(), st.booleans()), min_size=10, max_size=40), numbers)
@pytest.mark.parametrize("other", OTHER)
def test_a_number_finds_the_bounds_it_reaches(
    other: dict[str, Constraint], rays: list[tuple[Number, bool, bool]], value: Number
) -> None:
    index: MatchingIndex[int] = MatchingIndex()
    expected = []
    for key, (bound, upwards, closed) in enumerate(rays):
        up, down = NumberRange(low=bound, low_closed=closed), NumberRange(high=bound, high_closed=closed)
        index.add(key, Filter((tuple(sorted((other | {"x": up if upwards else down}).items())),)))
        reached = value > bound if upwards else value < bound
        if reached or (closed and value == bound):
            expected.append(key)
    assert sorted(index.match({"x": value, "text": "xyz"})) == expected
    for key in range(len(rays)):
        index.remove(key)
    assert not index._root


@pytest.mark.parametrize("value", [math.nan, True, "1"])
def test_what_is_no_number_reaches_no_bound(value: Value) -> None:
    index: MatchingIndex[int] = MatchingIndex()
    for key in range(10):
        index.add(key, Filter(((("x", NumberRange(low=-key)),),)))
        index.add(-1 - key, Filter(((("x", NumberRange(high=key)),),)))
    assert index.match({"x": value}) == []
