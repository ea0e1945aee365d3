from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ordering.verdicts.inversions import RUN_MAX, inversions


def brute(ranks: list[int]) -> int:
    return sum(first > second for first, second in combinations(ranks, 2))


@given(st.lists(st.integers(), unique=True, max_size=50))
def test_inversions_are_the_pairs_with_the_greater_first(ranks: list[int]) -> None:
    before = list(ranks)
    assert inversions(ranks) == brute(ranks)
    assert ranks == before


@given(st.permutations(range(12)))
def test_inversions_between_runs_count_too(blocks: list[int]) -> None:
    width = RUN_MAX // 4
    ranks = [block * width + i for block in blocks for i in range(width)]
    assert inversions(ranks) == brute(blocks) * width * width


def test_a_reversed_list_has_every_pair_inverted() -> None:
    many = 3 * RUN_MAX
    assert inversions(list(range(many))[::-1]) == many * (many - 1) // 2
