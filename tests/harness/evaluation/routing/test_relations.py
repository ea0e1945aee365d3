import pytest

from harness.evaluation.routing.claims import claims
from harness.evaluation.routing.expected import (
    covering_announces,
    expected_interval_messages,
    expected_saved,
    hierarchical_links,
    merging_announces,
    needed_links,
)
from harness.evaluation.routing.references import CURVES
from harness.evaluation.routing.relations import (
    factors,
    hierarchy,
    merging_beside_covering,
    relative_sizes,
)
from harness.evaluation.routing.thesis import thesis_tree
from tests.harness.evaluation.routing.points import point

TREE = thesis_tree(levels=2)


@pytest.mark.parametrize("way", ["", "-advertised"])
def test_a_change_under_covering_costs_what_the_references_say(way: str) -> None:
    (curve,) = (each for each in CURVES if each.study == f"changes-intervals-covering{way}")
    for consumers, reference in curve.values.items():
        expected = expected_interval_messages(consumers, covering_announces, is_advertised=bool(way))
        assert expected == pytest.approx(reference, rel=0.05)


def test_alone_a_change_goes_everywhere_under_any_strategy() -> None:
    assert covering_announces(0) == merging_announces(0) == 1
    assert merging_announces(1) == covering_announces(1)
    assert all(merging_announces(each) < covering_announces(each) for each in (2, 10, 100))


def test_a_part_of_links_is_saved_that_falls_to_what_locality_leaves() -> None:
    # One link leads to a local broker without consumers.
    assert expected_saved(1.0, 5_000) == pytest.approx(1 / 106)
    assert expected_saved(0.5, 5_000) == pytest.approx(0.5, abs=0.01)


def test_in_a_hierarchy_an_event_takes_the_way_up_even_if_nobody_wants_it() -> None:
    assert needed_links(TREE, "r0-a", []) == 0
    assert hierarchical_links(TREE, "r0-a", []) == 2
    assert hierarchical_links(TREE, "r0-a", ["r0-a"]) == 2
    assert hierarchical_links(TREE, "r0-a", ["r1-b"]) == needed_links(TREE, "r0-a", ["r1-b"]) == 4


def test_merging_that_sends_less_than_covering_is_no_confirmation_of_the_thesis() -> None:
    pair = [
        point("changes-intervals-merging", 20, group="changes", messages=30.9),
        point("changes-intervals-covering", 20, group="changes", messages=41.7),
    ]
    text = "".join(claims(pair))
    assert "without advertisements | does not hold | 20 consumers: 30.9 to 41.7 |" in text
    assert "| 20 | 41.7 (41.8, -0.3 %) | - | 30.9 (31.7, -2.5 %) | - |" in "".join(
        merging_beside_covering(pair)
    )


def test_the_factor_of_advertisements_is_given_where_both_were_measured() -> None:
    pair = [
        point("tables-quotes-identity", 10, entries=600),
        point("tables-quotes-identity-advertised", 10, entries=200, has_advertisements=True),
    ]
    assert "| 10 | - | 3.0 | - | - | - | - | - | - |" in "".join(factors(pair))


def test_a_relative_size_is_entries_for_the_part_that_they_save() -> None:
    measured = point(
        "locality", 50, group="locality", strategy="identity", locality=0.5, entries=50_000, saved=0.5
    )
    (line,) = (each for each in "".join(relative_sizes([measured])).splitlines() if each.startswith("| 0.50"))
    assert line == "| 0.50 | - | - | - | - | 100,000 (179,444, -44.3 %) | - | - | - | - | 105,000 |"


def test_what_was_not_measured_is_left_out() -> None:
    found = [point("limit-far-covering", 10, entries=28_394, publications=20.9)]
    lines = "".join(hierarchy(found)).splitlines()
    assert "| 10 | - | 28,394 | - | 20.9 | 20.9 |" in lines
