import math

from hypothesis import given

from ordering.verdicts import History, HistoryEvent, HistorySubscription, report
from tests.ordering.verdicts.histories import cycle_lengths, histories, ordered_firsts


@given(histories(most_subscriptions=6, most=9))
def test_cyclic_publications_are_those_with_a_way_back(history: History) -> None:
    verdict = report(history).acyclic
    lengths = cycle_lengths(history)
    cyclic = sum(length < math.inf for length in lengths.values())
    assert verdict.counts == {"cyclic": cyclic}
    assert verdict.outcome is ((cyclic == 0) if lengths else None)


@given(histories(most_subscriptions=6, most=9))
def test_the_witness_is_a_smallest_cycle_and_each_step_was_seen(history: History) -> None:
    views = ordered_firsts(history)
    for violation in report(history).acyclic.violations:
        cycle = violation.publications
        assert len(cycle) == min(cycle_lengths(history).values())
        for name, earlier, later in zip(violation.subscriptions, cycle, [*cycle[1:], cycle[0]], strict=True):
            assert views[name].index(earlier) < views[name].index(later)


def test_a_circle_of_three_is_described_step_by_step() -> None:
    publications = [HistoryEvent(letter, 1) for letter in "abc"]
    views = [[("a", 1), ("b", 1)], [("b", 1), ("c", 1)], [("c", 1), ("a", 1)]]
    history = History(publications, [HistorySubscription(f"s{i}", view) for i, view in enumerate(views)])
    assert [each.text for each in report(history).acyclic.violations] == [
        (
            "3 publications in a circle: s0 delivers a/1 before b/1 (deliveries 0 and 1); "
            "s1 delivers b/1 before c/1 (deliveries 0 and 1); "
            "s2 delivers c/1 before a/1 (deliveries 0 and 1)."
        )
    ]
