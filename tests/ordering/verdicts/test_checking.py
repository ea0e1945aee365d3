from collections.abc import Callable

import pytest
from attrs import evolve
from hypothesis import given

from ordering.verdicts import (
    KINDS,
    History,
    HistoryError,
    HistoryEvent,
    HistorySubscription,
    Key,
    check,
    report,
)
from tests.ordering.verdicts.histories import BROKERS, clean_histories, histories

KEYS: list[Key] = [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("b", 2), ("c", 2)]
ALL = frozenset(KEYS)


@given(clean_histories())
def test_a_history_in_which_everybody_follows_the_order_of_publishing_is_clean(history: History) -> None:
    verdicts = check(history)
    assert not verdicts.violated
    assert verdicts.kinds == dict.fromkeys(KINDS, 0)
    assert report(history).acyclic.outcome is not False
    assert report(history).local.outcome is not False


@given(histories())
def test_kinds_and_witnesses_are_of_the_same_violations(history: History) -> None:
    verdicts = check(history)
    assert {kind for kind, count in verdicts.kinds.items() if count} >= {
        each.kind for each in verdicts.violations
    }
    assert verdicts.violated == any(verdicts.kinds.values()) == bool(verdicts.violations)


def history_of(
    delivered: list[Key], *, name: str = "t", ordered: bool = True, **more: frozenset[Key]
) -> History:
    """A clean history, to which one subscription is added."""
    history = clean()
    added = HistorySubscription(
        name, delivered, "B2", ordered, **{"matching": ALL, "owed": frozenset(), **more}
    )
    return evolve(history, subscriptions=[*history.subscriptions, added])


def clean() -> History:
    publications = [HistoryEvent(*key, "B1", seen=[("s", number // 2)]) for number, key in enumerate(KEYS)]
    few = KEYS[:3]
    return History(
        publications,
        [
            HistorySubscription("s", KEYS, "B1", matching=ALL, owed=ALL),
            HistorySubscription("u", few, "B3", matching=ALL, owed=frozenset(few)),
        ],
        BROKERS,
    )


PLANTED: dict[str, Callable[[], History]] = {
    # Neither was published after having seen the other, so nothing but pairwise order forbids it.
    "pairwise": lambda: history_of([("c", 2), ("b", 2)]),
    # Nobody else is ordered and delivers both, so only the publisher's own order is broken.
    "publisher": lambda: history_of([("c", 2), ("c", 1)], ordered=False),
    "causal": lambda: history_of([("c", 2), ("a", 1)], ordered=False),
    "duplicate": lambda: history_of([("a", 1), ("b", 1), ("a", 1)]),
    "missing": lambda: history_of([("a", 1)], owed=frozenset({("a", 1), ("a", 2)})),
    "stuck": lambda: evolve(clean(), stuck=["B1 waits for an acknowledgement of B0"]),
    "unpublished": lambda: history_of([("a", 1), ("a", 3)], matching=ALL | {("a", 3)}),
    "unmatched": lambda: history_of([("a", 1), ("b", 1)], matching=frozenset({("a", 1)})),
}


def test_the_history_in_which_violations_are_planted_is_clean() -> None:
    assert [verdict.outcome for verdict in check(clean())] == [True] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_violation_is_found_and_nothing_else(kind: str) -> None:
    verdicts = check(PLANTED[kind]())
    assert verdicts.kinds == {**dict.fromkeys(KINDS, 0), kind: 1}
    assert [each.kind for each in verdicts.violations] == [kind]


def test_a_verdict_fits_in_one_line() -> None:
    lines = [
        str(verdict)
        for verdict in check(History([HistoryEvent("a", 1)], [HistorySubscription("s", [("a", 1)])]))
    ]
    assert lines[0] == "pairwise: true (pairs 0, pairs_out_of_order 0, inversions 0)"
    assert lines[4] == "completeness: unknown because nobody said what is owed to s (missing 0, stuck 0)"


@pytest.mark.parametrize(
    ("history", "complaint"),
    [
        (History([HistoryEvent("a", 1), HistoryEvent("a", 1)], []), "a/1 comes after a/1"),
        (History([HistoryEvent("a", 2), HistoryEvent("a", 1)], []), "a/1 comes after a/2"),
        (
            History([], [HistorySubscription("s", []), HistorySubscription("s", [])]),
            "two subscriptions are called s",
        ),
        (History([HistoryEvent("a", 1, seen=[("s", 1)])], [HistorySubscription("s", [])]), "which made 0"),
        (History([HistoryEvent("a", 1, seen=[("t", 1)])], []), "after 1 deliveries of t, which made 0"),
        (
            History(
                [HistoryEvent("a", 1, seen=[("s", 1)]), HistoryEvent("b", 1, seen=[])],
                [HistorySubscription("s", [("b", 1)])],
            ),
            "a/1 is listed before b/1",
        ),
    ],
)
def test_a_history_that_contradicts_itself_is_refused(history: History, complaint: str) -> None:
    with pytest.raises(HistoryError, match=complaint):
        check(history)
