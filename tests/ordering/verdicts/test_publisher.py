from hypothesis import given

from ordering.verdicts import History, HistoryEvent, HistorySubscription, check
from tests.ordering.verdicts.histories import firsts, histories, publisher_late


@given(histories())
def test_late_deliveries_are_those_of_the_definition(history: History) -> None:
    verdict = check(history).publisher
    late = list(publisher_late(history))
    known = any(firsts(history, each) for each in history.subscriptions)
    assert verdict.counts == {"publisher_violations": len(late)}
    assert verdict.outcome is ((not late) if known else None)
    assert {(each.subscriptions[0], each.publications[0]) for each in verdict.violations} <= set(late)


def test_unordered_publications_and_subscriptions_keep_their_publishers_order_too() -> None:
    publications = [HistoryEvent("a", 1, ordered=False), HistoryEvent("a", 2)]
    late = HistorySubscription("s", [("a", 2), ("a", 1)], "B1", ordered=False)
    assert [each.text for each in check(History(publications, [late])).publisher.violations] == [
        "s at B1 delivers a/2 before a/1 (deliveries 0 and 1), against the order in which a published them."
    ]
