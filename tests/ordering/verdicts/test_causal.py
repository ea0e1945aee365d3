import itertools

from hypothesis import given

from ordering.verdicts import History, HistoryEvent, HistorySubscription, check
from tests.ordering.verdicts.histories import causal_late, firsts, histories, pasts


@given(histories())
def test_late_deliveries_are_those_of_the_definition(history: History) -> None:
    verdict = check(history).causal
    late = list(causal_late(history))
    known = any(firsts(history, each) for each in history.subscriptions)
    assert verdict.counts == {"causal_violations": len(late)}
    assert verdict.outcome is ((not late) if known else None)


@given(histories())
def test_a_witness_is_a_shortest_way_from_the_late_publication_to_its_effect(history: History) -> None:
    past = pasts(history)
    views = {each.name: firsts(history, each) for each in history.subscriptions}
    for violation in check(history).causal.violations:
        chain = violation.publications
        view = views[violation.subscriptions[0]]
        assert view.index(chain[-1]) < view.index(chain[0])
        assert all(past[effect][cause] == 1 for cause, effect in itertools.pairwise(chain))
        assert len(chain) - 1 == past[chain[-1]][chain[0]]


def conversation(*seen_by_b: tuple[str, int] | None, ordered: bool = True) -> History:
    """`a` publishes, then `b`, whose client has subscription s; t delivers the answer first."""
    seen = None if None in seen_by_b else [each for each in seen_by_b if each]
    return History(
        [HistoryEvent("a", 1, "B1", ordered, []), HistoryEvent("b", 1, "B2", seen=seen)],
        [
            HistorySubscription("s", [("a", 1), ("b", 1)], "B2"),
            HistorySubscription("t", [("b", 1), ("a", 1)], "B3", ordered=False),
        ],
    )


def test_an_answer_before_its_question_breaks_causality() -> None:
    assert [each.text for each in check(conversation(("s", 1))).causal.violations] == [
        (
            "t at B3 delivers b/1 before a/1 (deliveries 0 and 1), "
            "but b published b/1 after a/1 was delivered to its client (by s, delivery 0)."
        )
    ]


def test_what_was_published_without_having_seen_it_is_no_answer() -> None:
    assert check(conversation(("s", 0))).causal.outcome is True


def test_unordered_publications_cause_nothing() -> None:
    assert check(conversation(("s", 1), ordered=False)).causal.outcome is True


def test_without_what_publishers_had_read_causality_is_unknown() -> None:
    verdict = check(conversation(None)).causal
    assert verdict.outcome is None
    assert verdict.reason == "nobody said what had been delivered before b/1 was published"


def test_a_chain_of_causes_is_described_from_its_beginning() -> None:
    history = History(
        [
            HistoryEvent("a", 1, seen=[]),
            HistoryEvent("b", 1, seen=[("s", 1)]),
            HistoryEvent("b", 2, seen=[("s", 1)]),
            HistoryEvent("c", 1, seen=[("r", 1)]),
        ],
        [
            HistorySubscription("s", [("a", 1)]),
            HistorySubscription("r", [("b", 2)]),
            HistorySubscription("t", [("c", 1), ("a", 1)]),
        ],
    )
    (violation,) = check(history).causal.violations
    assert violation.publications == (("a", 1), ("b", 2), ("c", 1))
    assert violation.text == (
        "t delivers c/1 before a/1 (deliveries 0 and 1), "
        "but b published b/2 after a/1 was delivered to its client (by s, delivery 0), "
        "and c published c/1 after b/2 was delivered to its client (by r, delivery 0)."
    )


def test_a_chain_of_causes_takes_no_detour() -> None:
    history = History(
        [
            HistoryEvent("a", 1, seen=[]),
            HistoryEvent("b", 1, seen=[("s", 1)]),
            HistoryEvent("d", 1, seen=[("r", 1)]),
            HistoryEvent("c", 1, seen=[("u", 2)]),
        ],
        [
            HistorySubscription("s", [("a", 1)]),
            HistorySubscription("r", [("b", 1)]),
            HistorySubscription("u", [("b", 1), ("d", 1)]),
            HistorySubscription("t", [("c", 1), ("a", 1)]),
        ],
    )
    (violation,) = check(history).causal.violations
    assert violation.publications == (("a", 1), ("b", 1), ("c", 1))
