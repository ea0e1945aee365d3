from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ordering.verdicts.inversions import RUN_MAX, inversions


@given(st.lists(st.integers(), unique=True, max_size=8 * RUN_MAX))
def test_inversions_are_the_pairs_with_the_greater_first(ranks: list[int]) -> None:
    before = list(ranks)
    assert inversions(ranks) == sum(first > second for first, second in combinations(ranks, 2))
    assert ranks == before


def test_a_reversed_list_has_every_pair_inverted() -> None:
    assert inversions(list(range(1000))[::-1]) == 1000 * 999 // 2
