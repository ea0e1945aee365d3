import itertools

from hypothesis import given
from hypothesis import strategies as st

from ordering.verdicts import History, HistoryEvent, HistorySubscription, check
from ordering.verdicts.pairwise import VIEWS_FEW
from ordering.verdicts.verdict import WITNESSES_MAX
from tests.ordering.verdicts.histories import histories, inverted, ordered_firsts, pairwise_counts


def orders(*views: str) -> History:
    """Histories in few letters: each view is the publishers of the first publications it delivers."""
    publications = [HistoryEvent(letter, 1) for letter in sorted(set("".join(views)))]
    subscriptions = [
        HistorySubscription(f"s{index}", [(letter, 1) for letter in view]) for index, view in enumerate(views)
    ]
    return History(publications, subscriptions)


def some_of(letters: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(letters), unique=True, min_size=1).map("".join)


def many_views() -> st.SearchStrategy[History]:
    """So many different orders that knots are looked for, often more than one knot."""
    view = some_of("abcdef") | st.tuples(some_of("abc"), some_of("def"), some_of("ghi")).map("".join)
    many = st.lists(view, unique=True, min_size=VIEWS_FEW + 4, max_size=VIEWS_FEW + 8)
    return many.map(lambda views: orders(*views))


@given(histories() | many_views())
def test_counts_and_outcome_are_those_of_the_definition(history: History) -> None:
    verdict = check(history).pairwise
    counts = pairwise_counts(history)
    delivered = any(ordered_firsts(history).values())
    assert verdict.counts == counts
    assert verdict.outcome is (counts["inversions"] == 0 if delivered else None)
    assert verdict.kinds.get("pairwise", 0) == counts["pairs_out_of_order"]


@given(histories() | many_views())
def test_a_witness_is_an_inversion(history: History) -> None:
    views = ordered_firsts(history)
    for violation in check(history).pairwise.violations:
        one, other = violation.subscriptions
        p, q = violation.publications
        assert (p, q) in inverted(views[one], views[other])


@given(histories())
def test_two_subscriptions_out_of_order_are_a_witness_whatever_else_there_is(history: History) -> None:
    verdict = check(history).pairwise
    assert bool(verdict.violations) == (verdict.outcome is False)


@given(st.permutations("abcdefgh"))
def test_a_witness_takes_neighbours_in_one_view_that_are_nearest_in_the_other(order: list[str]) -> None:
    straight = sorted(order)
    violations = check(orders("".join(straight), "".join(order))).pairwise.violations
    spans = [straight.index(q) - straight.index(p) for q, p in itertools.pairwise(order) if q > p]
    nearest = min(spans, default=None)
    found = [
        straight.index(each.publications[1][0]) - straight.index(each.publications[0][0])
        for each in violations
    ]
    assert found == ([] if nearest is None else [nearest])


def test_the_words_say_who_saw_what_and_where_the_paths_meet() -> None:
    history = History(
        [HistoryEvent("alice", 1, "B3"), HistoryEvent("bob", 1, "B2")],
        [
            HistorySubscription("s", [("alice", 1), ("bob", 1)], "B3"),
            HistorySubscription("t", [("bob", 1), ("alice", 1)], "B2"),
        ],
        {"B0": "", "B1": "B0", "B2": "B0", "B3": "B1"},
    )
    assert [each.text for each in check(history).pairwise.violations] == [
        (
            "s at B3 delivers alice/1 before bob/1 (deliveries 0 and 1); "
            "t at B2 delivers bob/1 before alice/1 (deliveries 0 and 1). "
            "Their path is B3 - B1 - B0 - B2; alice/1 is published at B3 and bob/1 is published at B2."
        )
    ]


def test_the_nearest_of_all_clashes_comes_first() -> None:
    far_apart = [view for x, y, z in ("abc", "def", "ghi", "jkl", "mno") for view in (x + y + z, z + x + y)]
    first, *others = check(orders(*far_apart, "wx", "xw")).pairwise.violations
    assert first.subscriptions == ("s10", "s11")
    assert len(others) == WITNESSES_MAX - 1


def test_three_views_that_go_round_in_a_circle_agree_pair_by_pair() -> None:
    assert check(orders("ab", "bc", "ca")).pairwise.outcome is True


def test_unordered_publications_and_subscriptions_take_no_part() -> None:
    swapped = [("a", 1), ("b", 1)], [("b", 1), ("a", 1)]
    ordered = [HistoryEvent("a", 1), HistoryEvent("b", 1)]
    views = [HistorySubscription(f"s{i}", view) for i, view in enumerate(swapped)]
    assert check(History(ordered, views)).pairwise.outcome is False
    assert check(History([HistoryEvent("a", 1, ordered=False), ordered[1]], views)).pairwise.outcome is True
    one_unordered = [views[0], HistorySubscription("s1", swapped[1], ordered=False)]
    assert check(History(ordered, one_unordered)).pairwise.outcome is True


def test_where_no_ordered_subscription_delivers_nothing_is_known() -> None:
    verdict = check(History([HistoryEvent("a", 1)], [HistorySubscription("s", [])])).pairwise
    assert (verdict.outcome, verdict.reason) == (None, "no ordered subscription delivered anything")
