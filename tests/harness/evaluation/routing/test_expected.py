from hypothesis import given
from hypothesis import strategies as st

from harness.evaluation.routing.expected import expected_tables
from harness.evaluation.routing.thesis import ThesisPlace, Tree, Want

PAIR = Tree((ThesisPlace("r", "", 1, is_local=False), ThesisPlace("r-a", "r", 1, is_local=True)))

wants = st.lists(
    st.builds(
        lambda stock, low, width: Want("w", stock, float(low), float(low + width)),
        st.integers(0, 2),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    max_size=12,
)


def counted(strategy: str, some: list[Want]) -> int:
    return expected_tables(PAIR, strategy, {"r-a": some}, "r")["r"]


def distinct(some: list[Want]) -> set[tuple[int, float, float]]:
    return {(want.stock, want.low or 0.0, want.high or 0.0) for want in some}


@given(wants)
def test_covering_leaves_what_no_other_covers(some: list[Want]) -> None:
    each = distinct(some)
    left = [
        one
        for one in each
        if not any(two != one and two[0] == one[0] and two[1] <= one[1] and one[2] <= two[2] for two in each)
    ]
    assert counted("covering", some) == len(left)
    assert counted("identity", some) == len(each)
    assert counted("simple", some) == len(some)


@given(wants)
def test_merging_leaves_pieces_that_do_not_touch(some: list[Want]) -> None:
    halves = {
        (stock, half)
        for stock, low, high in distinct(some)
        for half in range(int(low * 2), int(high * 2) + 1)
    }
    pieces = [each for each in halves if (each[0], each[1] - 1) not in halves]
    assert counted("merging", some) == len(pieces)


def test_quotes_of_all_stocks_are_one_merger() -> None:
    some = [Want("w", stock) for stock in (1, 5, 5, 9)]
    assert [counted(each, some) for each in ("simple", "identity", "covering", "merging")] == [4, 3, 3, 1]
