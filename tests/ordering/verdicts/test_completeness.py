from hypothesis import given

from ordering.verdicts import History, HistoryEvent, HistorySubscription, check
from tests.ordering.verdicts.histories import BROKERS, histories


@given(histories())
def test_missing_is_what_is_owed_and_never_delivered(history: History) -> None:
    missing = sum(len((each.owed or set()) - set(each.delivered)) for each in history.subscriptions)
    verdict = check(history).completeness
    assert verdict.counts == {"missing": missing, "stuck": 0}
    assert verdict.outcome is (missing == 0)


def test_the_words_say_what_came_before_and_after_the_gap_and_the_way_there() -> None:
    publications = [HistoryEvent("a", i, "B3") for i in (1, 2, 3)]
    owed = frozenset(("a", i) for i in (1, 2, 3))
    history = History(
        publications, [HistorySubscription("s", [("a", 1), ("a", 3)], "B2", owed=owed)], BROKERS
    )
    assert [each.text for each in check(history).completeness.violations] == [
        (
            "s at B2 never delivers a/2, published at B3, and it is owed. It delivers a/1 and a/3. "
            "The way there is B3 - B1 - B0 - B2."
        )
    ]


def test_what_is_stuck_is_a_violation_in_the_simulators_words() -> None:
    history = History([], [HistorySubscription("s", [], owed=frozenset())], stuck=["B1 waits for B0"])
    verdict = check(history).completeness
    assert (verdict.outcome, verdict.kinds["stuck"]) == (False, 1)
    assert [each.text for each in verdict.violations] == ["B1 waits for B0"]


def test_what_is_owed_must_be_said() -> None:
    verdict = check(History([], [HistorySubscription("s", [])])).completeness
    assert (verdict.outcome, verdict.reason) == (None, "nobody said what is owed to s")
