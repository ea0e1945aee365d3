from hypothesis import given

from ordering.verdicts import History, HistoryEvent, HistorySubscription, check
from tests.ordering.verdicts.histories import histories


@given(histories())
def test_counts_are_those_of_the_definition(history: History) -> None:
    published = {(each.publisher, each.sequence) for each in history.publications}
    duplicates = unpublished = unmatched = 0
    for each in history.subscriptions:
        distinct = set(each.delivered)
        duplicates += len(each.delivered) - len(distinct)
        unpublished += len(distinct - published)
        unmatched += len((distinct & published) - (each.matching or set()))
    verdict = check(history).integrity
    counts = {"duplicates": duplicates, "unpublished": unpublished, "unmatched": unmatched}
    assert verdict.counts == counts
    assert verdict.outcome is not any(counts.values())


def one(*delivered: int, matching: frozenset[tuple[str, int]] | None = None) -> History:
    publications = [HistoryEvent("a", 1), HistoryEvent("a", 2)]
    return History(
        publications, [HistorySubscription("s", [("a", i) for i in delivered], "B1", matching=matching)]
    )


def words(history: History) -> list[str]:
    return [each.text for each in check(history).integrity.violations]


def test_a_duplicate_says_where_it_was_delivered() -> None:
    assert words(one(1, 2, 1)) == ["s at B1 delivers a/1 2 times (deliveries 0 and 2)."]


def test_what_nobody_published_is_named() -> None:
    assert words(one(1, 3)) == ["s at B1 delivers a/3, which nobody published (delivery 1)."]


def test_what_does_not_match_is_named() -> None:
    assert words(one(1, 2, matching=frozenset({("a", 1)}))) == [
        "s at B1 delivers a/2, which its filter does not match (delivery 1)."
    ]


def test_a_publication_delivered_three_times_is_one_witness_and_two_duplicates() -> None:
    verdict = check(one(1, 1, 1)).integrity
    assert verdict.kinds["duplicate"] == 2
    assert [each.text for each in verdict.violations] == [
        "s at B1 delivers a/1 3 times (deliveries 0 and 1 and 2)."
    ]


def test_without_the_matches_integrity_is_unknown_unless_it_is_broken() -> None:
    verdict = check(one(1, 2)).integrity
    assert (verdict.outcome, verdict.reason) == (None, "nobody said what the filter of s matches")
    assert check(one(1, 1)).integrity.outcome is False
