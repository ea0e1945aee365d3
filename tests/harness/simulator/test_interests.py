"""A text of kinds says what a filter takes, whether it is a set or a range."""

from hypothesis import given
from hypothesis import strategies as st

from harness.simulator.interests import KINDS, filter_of, inside, kinds_of

SETS = st.sets(st.sampled_from(KINDS), min_size=1).map(lambda kinds: "".join(sorted(kinds)))
ENDS = st.tuples(st.integers(0, len(KINDS) - 1), st.integers(0, len(KINDS) - 1)).map(sorted)


def a_range(first: int, last: int) -> str:
    kinds = KINDS[first : last + 1][::-1]
    return kinds if len(kinds) > 1 else kinds * 2


@given(SETS)
def test_a_set_takes_its_kinds(kinds: str) -> None:
    assert kinds_of(filter_of(kinds)) == set(kinds)
    assert kinds_of(filter_of(inside(kinds))) == set(kinds)


@given(ENDS)
def test_a_range_takes_its_kinds_and_covers_every_range_within(ends: list[int]) -> None:
    first, last = ends
    whole = filter_of(a_range(first, last))
    assert kinds_of(whole) == set(KINDS[first : last + 1])
    assert kinds_of(filter_of(inside(a_range(first, last)))) == kinds_of(whole)
    assert all(whole.covers(filter_of(a_range(each, last))) for each in range(first, last + 1))
