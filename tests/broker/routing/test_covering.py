"""The covering index, its points and its witnesses, against trying everything."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.routing.covering import CoverIndex, covers_item, witness
from broker.routing.points import Points
from broker.routing.strategy import Item
from tests.broker.filters import reference
from tests.broker.routing import worlds

odd_filters = reference.filters(reference.predicates(affixes=True), size=4).map(parse)
any_filters = st.one_of(worlds.filters, odd_filters)
items = st.builds(Item, any_filters, st.booleans())
values: st.SearchStrategy[Value] = st.one_of(
    st.sampled_from(
        [0, 1, 2, 1.0, -1, 2**61 - 1, 2**70, 2.0**70, math.inf, math.nan, True, False, "", "a", "ab", "b"]
    ),
    st.floats(),
    st.text("ab\0", max_size=3),
)
events = st.dictionaries(st.sampled_from(["x", "y", "symbol", "price"]), values, max_size=3)


@given(
    several=st.lists(items, unique=True, max_size=40),
    asked=st.lists(items, max_size=10),
    kept=st.floats(0, 1),
)
@settings(deadline=None, max_examples=200)
def test_the_covering_index_finds_what_comparing_each_finds(
    several: list[Item], asked: list[Item], kept: float
) -> None:
    index, left = CoverIndex(), several[: int(kept * len(several))]
    for item in several:
        index.add(item)
    for item in several[len(left) :]:
        index.remove(item)
    for item in (*asked, *several):
        standing, covered = list(index.covers_of(item)), index.covered_by(item)
        assert len(standing) == len(set(standing))
        assert len(covered) == len(set(covered))
        assert set(standing) == {each for each in left if covers_item(each, item)}
        assert set(covered) == {each for each in left if covers_item(item, each)}
    for item in left:
        index.remove(item)
    assert not index


@given(several=st.lists(events, max_size=30), asked=st.lists(any_filters, min_size=1, max_size=10))
@settings(deadline=None)
def test_a_filter_finds_the_points_it_matches(several: list[dict[str, Value]], asked: list[Filter]) -> None:
    points: Points[int] = Points()
    for key, event in enumerate(several):
        points.add(key, event)
    for each in asked:
        found = points.matched(each)
        assert sorted(found) == [key for key, event in enumerate(several) if each.match(event)]
    for key in range(len(several)):
        points.remove(key)
    assert not points


def test_points_at_numbers_that_python_hashes_alike_have_keys_that_differ() -> None:
    points: Points[int] = Points()
    numbers = [place * (2**61 - 1) for place in range(1, 200)]
    for key, number in enumerate(numbers):
        points.add(key, {"x": number})
    assert len({hash(label) for label in points._axes["x"]._keys}) == len(numbers)
    for key, number in enumerate(numbers):
        assert points.matched(parse(f"x == {number}")) == [key]
        assert points.matched(parse(f"{number - 1} < x < {number + 1}")) == [key]
        points.remove(key)
    assert not points


@given(any_filters)
@settings(deadline=None, max_examples=500)
def test_a_filter_matches_its_witness(one: Filter) -> None:
    event = witness(one)
    if event is not None:
        assert one.match(event)


@given(reference.filters(reference.predicates()).map(parse))
@settings(deadline=None, max_examples=500)
def test_a_filter_without_suffixes_and_substrings_has_a_witness_if_it_matches_anything(one: Filter) -> None:
    assert (witness(one) is None) == (not one.conjunctions)


@pytest.mark.parametrize(
    "text",
    [
        "x > 1 and x < 1.0000000000000004 and x != 1.0000000000000002",
        f"x > {2**60} and x < {2**60 + 1000} and x != {2**60 + 1}",
        "x < 0 or x >= 0",
        "x != 5 and x < 7 and x not in (6, 4, 3)",
        "x > 1e308",
        "x < -1e308",
        "x.startswith('a') and x.endswith('b') and not x.startswith('ab')",
        "'b' in x and 'c' in x and not x.endswith(('b', 'c')) and x >= 'd'",
        "x.startswith('a') and x.endswith('a') and not x.startswith('aa') and x != 'a'",
        "exists(x) and y in (True, False) and z == 'b'",
    ],
)
def test_hard_filters_have_a_witness(text: str) -> None:
    event = witness(parse(text))
    assert (event is None) == ("1.0000000000000004" in text)


def test_what_matches_nothing_is_covered_by_an_equal_filter_alone() -> None:
    nothing = Item(parse("False"), ordered=True)
    assert witness(nothing.filter) is None
    assert covers_item(nothing, nothing)
    assert not covers_item(Item(parse("True"), ordered=True), nothing)
