"""Tests made from constraints: types, NaN, and bounds at the edge of what floats can represent."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from broker.filters.readers import reader

EDGES: list[Number] = [0, 0.5, -1, 2**52, 2**53, 2**53 + 1, 10**400, math.inf, -math.inf, 5e-324]


def accepts(constraint: Constraint, value: Value) -> bool:
    return reader("x", constraint)({"x": value})


@given(
    st.sampled_from(EDGES), st.booleans(), st.sampled_from(EDGES) | st.floats(allow_nan=False) | st.integers()
)
def test_a_bound_divides_numbers_as_python_compares_them(bound: Number, closed: bool, value: Number) -> None:  # noqa: FBT001 - hypothesis draws it
    above = value >= bound if closed else value > bound
    below = value <= bound if closed else value < bound
    assert accepts(NumberRange(low=bound, low_closed=closed), value) == above
    assert accepts(NumberRange(high=bound, high_closed=closed), value) == below


@pytest.mark.parametrize(
    "constraint",
    [
        NumberSet(frozenset({0, 1})),
        NumberRange(low=-5, high=5),
        NumberRange(excluded=frozenset({7})),
        NumberRange(),
    ],
)
def test_truth_values_texts_and_nan_are_no_numbers(constraint: Constraint) -> None:
    assert accepts(constraint, 1)
    assert not any(accepts(constraint, value) for value in (True, False, "1", math.nan))


@pytest.mark.parametrize("truths", [{True}, {False}, {True, False}])
def test_numbers_are_no_truth_values(truths: set[bool]) -> None:
    constraint = Truths(frozenset(truths))
    assert [value for value in (False, True) if accepts(constraint, value)] == sorted(truths)
    assert not any(accepts(constraint, value) for value in (0, 1, 1.0, "True", math.nan))


@pytest.mark.parametrize("constraint", [AnyValue(), TextPattern(), TextSet(frozenset({"a"})), NumberRange()])
def test_a_missing_attribute_satisfies_nothing(constraint: Constraint) -> None:
    assert not reader("x", constraint)({"y": "a"})


def test_nan_exists() -> None:
    assert accepts(AnyValue(), math.nan)


def test_bounds_that_floats_cannot_close_are_left_open() -> None:
    assert NumberRange(low=2**53).closed is None
    assert NumberRange(low=1, low_closed=True).closed == (1.0, math.inf)
    assert NumberRange(high=1).closed == (-math.inf, math.nextafter(1.0, 0))
