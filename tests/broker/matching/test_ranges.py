"""Grids against the ranges themselves, at every magnitude."""

from hypothesis import given
from hypothesis import strategies as st

from broker.filters.constraints import Number, NumberRange
from broker.filters.numbers import EXACT_LIMIT
from broker.matching import MatchingIndex
from broker.matching.bucket import Filing, IndexEntry, Path, Payload
from broker.matching.node import TreeNode, choose
from broker.matching.ranges import Grids

numbers: st.SearchStrategy[Number] = st.floats(-EXACT_LIMIT, EXACT_LIMIT) | st.integers(
    -EXACT_LIMIT, EXACT_LIMIT
)


def grids_of(ranges: list[NumberRange]) -> tuple[Grids[int], list[IndexEntry[int]]]:
    grids: Grids[int] = Grids(Filing(Path().after("x", exact=False), TreeNode, MatchingIndex))
    entries: list[IndexEntry[int]] = []
    for key, one in enumerate(ranges):
        entries.append(IndexEntry((("x", one),), key))
        grids.add(entries[-1], one)
    return grids, entries


def found(grids: Grids[int], value: Number) -> list[Payload[int]]:
    some: list[Payload[int]] = []
    grids.probe(value, {"x": value}, [], some)
    return some


@given(st.lists(st.tuples(numbers, numbers).map(sorted), min_size=1), st.data())
def test_a_value_finds_the_ranges_around_it(pairs: list[list[Number]], data: st.DataObject) -> None:
    grids, entries = grids_of([NumberRange(low, True, high, True) for low, high in pairs])
    bounds = [bound for pair in pairs for bound in pair]
    value = data.draw(st.sampled_from(bounds) | numbers)
    assert sorted(map(str, found(grids, value))) == sorted(
        str(key) for key, (low, high) in enumerate(pairs) if low <= value <= high
    )
    for entry in entries:
        grids.remove(entry, entry.conjunction[0][1])
    assert not grids


@given(st.tuples(numbers, numbers).map(sorted))
def test_a_range_takes_few_cells(pair: list[Number]) -> None:
    grids, _ = grids_of([NumberRange(pair[0], True, pair[1], True)])
    (strips,) = grids._strips.values()
    assert 1 <= len(strips) <= 4


def test_a_value_near_many_ranges_tries_few_of_them() -> None:
    grids, _ = grids_of([NumberRange(low, True, low + 1, False) for low in range(10_000)])
    ((width, strips),) = grids._strips.items()
    assert max(len(strip.payloads) for strip in strips.values()) <= 3
    assert width == 1.0


def test_numbers_beyond_exact_cells_do_not_fit() -> None:
    for constraint in (NumberRange(0, True, 2**60, True), NumberRange(low=0)):
        choice = choose(IndexEntry((("x", constraint),), "key"), Path())
        assert choice is not None
        assert choice.kind is not Grids
