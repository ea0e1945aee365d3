from hypothesis import given

from ordering.verdicts import History, HistoryEvent, HistorySubscription, check, report
from tests.ordering.verdicts.histories import histories, inverted, local_counts, ordered_firsts


@given(histories())
def test_audiences_are_those_of_the_definition(history: History) -> None:
    verdict = report(history).local
    counts = local_counts(history)
    known = any(ordered_firsts(history).values())
    assert verdict.counts == counts
    assert verdict.outcome is ((counts["audiences_out_of_order"] == 0) if known else None)


@given(histories())
def test_a_witness_is_an_inversion(history: History) -> None:
    views = ordered_firsts(history)
    for violation in report(history).local.violations:
        one, other = violation.subscriptions
        assert violation.publications in inverted(views[one], views[other])


@given(histories())
def test_pairwise_order_implies_local_order(history: History) -> None:
    if check(history).pairwise.outcome:
        assert report(history).local.outcome


def test_different_audiences_may_disagree() -> None:
    p, q = ("a", 1), ("b", 1)
    views = [
        HistorySubscription("s", [p, q]),
        HistorySubscription("t", [q, p]),
        HistorySubscription("u", [p]),
    ]
    history = History([HistoryEvent(*p), HistoryEvent(*q)], views)
    assert check(history).pairwise.outcome is False
    assert report(history).local.outcome is True
