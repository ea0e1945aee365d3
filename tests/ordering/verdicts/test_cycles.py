import math
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from ordering.verdicts.cycles import components, smallest_cycle

View = list[int]

VIEWS = st.lists(st.lists(st.integers(0, 7), unique=True, max_size=4), max_size=7)


def shortest_ways(views: list[View]) -> dict[tuple[int, int], float]:
    """How many steps lead from one number to another, by Floyd and Warshall."""
    numbers = sorted({number for view in views for number in view})
    far = dict.fromkeys(product(numbers, numbers), math.inf)
    far.update((step, 1) for view in views for step in combinations(view, 2))
    for middle, p, q in product(numbers, numbers, numbers):
        far[p, q] = min(far[p, q], far[p, middle] + far[middle, q])
    return far


@given(VIEWS)
def test_components_are_what_leads_to_each_other(views: list[View]) -> None:
    far = shortest_ways(views)
    mutual = {p: [q for q, other in far if other == p and far[p, q] + far[q, p] < math.inf] for p, _ in far}
    expected = {tuple(sorted({p, *others})) for p, others in mutual.items() if others}
    assert sorted(map(tuple, components(views))) == sorted(expected)


@given(VIEWS)
def test_no_cycle_is_smaller(views: list[View]) -> None:
    far = shortest_ways(views)
    least = min((far[p, p] for p, _ in far), default=math.inf)
    cycle = smallest_cycle(views)
    assert (len(cycle) or math.inf) == least
    for step, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        view = views[step.view]
        assert view.index(step.earlier) < view.index(step.later)
        assert step.later == following.earlier


def test_a_small_cycle_is_found_inside_a_large_one() -> None:
    assert len(smallest_cycle([[0, 1, 2], [1, 0, 2], [2, 3], [3, 0]])) == 2


def test_a_long_chain_needs_no_deep_recursion() -> None:
    assert components([list(range(50_000)), [49_999, 0]]) == [list(range(50_000))]
