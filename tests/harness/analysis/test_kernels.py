import random
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.analysis.kernels import histograms, pairs, permutations, streams, wholes

permutation = st.integers(0, 24).flatmap(lambda many: st.permutations(range(many)))
stream = st.lists(st.integers(0, 30), unique=True, max_size=25)


def inverted(ranks: list[int]) -> int:
    return sum(one > other for one, other in combinations(ranks, 2))


def side_by_side(many: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    bounds = np.concatenate(([0], np.cumsum([len(each) for each in many]))).astype(np.int64)
    ranks = [rank + int(start) for each, start in zip(many, bounds, strict=False) for rank in each]
    return np.array(ranks, np.int32), bounds


@pytest.fixture(params=[(0,), (0, 2, 4), permutations.REACHES], ids=["by bits", "mixed", "as it is"])
def reaches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutations, "REACHES", request.param)


class TestInversions:
    @pytest.mark.usefixtures("reaches")
    def test_are_counted_for_every_permutation_whichever_way(self) -> None:
        @given(st.lists(permutation, min_size=1, max_size=4))
        def holds(many: list[list[int]]) -> None:
            ranks, bounds = side_by_side(many)
            assert permutations.inversions(ranks, bounds).tolist() == [inverted(each) for each in many]

        holds()

    @given(permutation, st.lists(st.integers(0, 24), max_size=3))
    def test_none_is_lost_where_a_permutation_is_cut(self, ranks: list[int], cuts: list[int]) -> None:
        bounds = [0, *sorted(min(cut, len(ranks)) for cut in cuts), len(ranks)]
        array = np.array(ranks, np.int32)
        parts = [permutations.inversions_ending_in(array, *part) for part in pairwise(bounds)]
        assert sum(parts) == inverted(ranks)


def by_definition(one: list[int], other: list[int]) -> tuple[int, int, int, int] | None:
    common = [each for each in other if each in one]
    if len(common) < pairs.PAIR_LEAST:
        return None
    places = [each for each in one if each in common]
    ranks = [places.index(each) for each in common]
    moved = [abs(rank - place) for place, rank in enumerate(ranks)]
    return len(common), inverted(ranks), sum(moved), max(moved)


def found(compared: pairs.Compared) -> dict[tuple[int, int], tuple[int, ...]]:
    columns = (compared.common, compared.inversions, compared.displaced, compared.furthest)
    return {
        (compared.code, int(other)): tuple(map(int, values))
        for other, *values in zip(compared.others, *columns, strict=True)
    }


@given(st.lists(stream, min_size=1, max_size=6), st.integers(1, 60), st.data())
def test_all_pairs_are_compared_whatever_the_blocks(
    many: list[list[int]], run_elements: int, data: st.DataObject
) -> None:
    arrays = [np.array(each, np.int32) for each in many]
    middle = data.draw(st.integers(0, len(many)))
    one = pairs.Block.of(range(middle), arrays[:middle])
    other = pairs.Block.of(range(middle, len(many)), arrays[middle:])
    results: dict[tuple[int, int], tuple[int, ...]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "RUN_ELEMENTS", run_elements)
        for left, right in ((one, None), (other, None), (one, other)):
            for compared in pairs.compare_blocks(left, right, 31):
                results |= found(compared)
    expected = {
        (first, second): answer
        for first, second in combinations(range(len(many)), 2)
        if (answer := by_definition(many[first], many[second]))
    }
    assert results == expected


@given(stream.filter(bool), stream.filter(bool), st.integers(1, 5))
def test_the_parts_of_a_pair_add_up(one: list[int], other: list[int], parts: int) -> None:
    arrays = np.array(one, np.int32), np.array(other, np.int32)
    compared = [pairs.compare_part(*arrays, (0, 1), part, parts) for part in range(parts)]
    total = tuple(
        int(sum(getattr(each, name)[0] for each in compared))
        for name in ("common", "inversions", "displaced")
    )
    expected = by_definition(one, other)
    if expected is None:
        assert total[1:] == (0, 0)
    else:
        assert (*total, max(int(each.furthest[0]) for each in compared)) == expected
        assert any(each.span for each in compared) == (expected[1] > 0)


@given(stream.filter(bool), st.permutations(range(31)))
def test_a_clash_is_one(one: list[int], other: list[int]) -> None:
    (compared,) = pairs.compare_blocks(
        pairs.Block.of([7], [np.array(one, np.int32)]), pairs.Block.of([9], [np.array(other, np.int32)]), 31
    )
    if compared.span:
        assert one.index(compared.late) - one.index(compared.early) == compared.span
        assert other.index(compared.late) < other.index(compared.early)
        assert compared.against == 9
    else:
        assert compared.inversions.sum() == 0


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=20), st.randoms())
def test_a_stream_is_what_was_delivered_first_in_the_order_of_positions(
    marks: list[int], chance: random.Random
) -> None:
    order = list(range(len(marks)))
    chance.shuffle(order)
    shuffled = np.array([marks[place] for place in order], np.int32)
    made = streams.assemble(shuffled, np.array(order, np.int64), np.array(order, np.int64))
    firsts = list(dict.fromkeys(mark for mark in marks if mark >= 0))
    assert made.ordered.tolist() == made.firsts.tolist() == firsts
    assert made.unpublished == marks.count(-1)
    assert made.duplicates == len(marks) - marks.count(-1) - len(firsts)


@given(st.lists(st.integers(0, 1 << 52), min_size=1, max_size=50))
def test_a_bin_is_right_to_one_part_in_a_thousand(durations: list[int]) -> None:
    array = np.array(durations, np.int64)
    back = histograms.durations_of(histograms.bins_of(array))
    assert (np.abs(back - array) * 1024 <= array).all()
    assert (np.diff(histograms.bins_of(np.sort(array))) >= 0).all()


def test_quantiles_are_what_so_many_do_not_exceed() -> None:
    bins, counts = histograms.counted(np.arange(1, 101))
    assert histograms.quantiles(bins, counts, (0.5, 0.99, 0.999)) == [50, 99, 100]


def wholes_of(*many: list[int]) -> wholes.WholeOrder:
    arrays = [np.array(each, np.int32) for each in many]
    return wholes.judge(arrays, 1 + max(map(max, many)))


class TestWholes:
    def test_three_streams_in_a_circle_agree_in_pairs_and_are_a_part_of_no_sequence(self) -> None:
        assert wholes_of([0, 1, 5], [1, 2, 5], [2, 0, 6]) == wholes.WholeOrder(1, 0, 3)

    def test_an_audience_that_disagrees_is_counted_once(self) -> None:
        assert wholes_of([0, 1, 2], [1, 0, 2], [1, 0, 2]) == wholes.WholeOrder(1, 1, 2)

    def test_what_only_one_stream_has_is_no_audience(self) -> None:
        assert wholes_of([0, 1, 2, 3], [2, 3]) == wholes.WholeOrder(1, 0, 0)

    def test_too_many_steps_are_not_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wholes, "EDGES_MAX", 2)
        assert wholes_of([0, 1, 2, 3]).circling is None
