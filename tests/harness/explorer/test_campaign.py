"""A campaign counts what happened, and reports the first violation."""

from harness.explorer.campaign import CampaignSettings, Tally, run
from harness.explorer.diagram import draw
from harness.explorer.mutants import applied
from harness.explorer.shrink import shrink
from harness.simulator.outcome import of_actions, of_seed
from ordering.pairwise import Pairwise


def test_results_do_not_depend_on_the_number_of_processes() -> None:
    settings = CampaignSettings(450, 100, "churn")
    assert run(settings, jobs=2) == run(settings, jobs=1)


def test_progress_grows_and_ends_with_everything() -> None:
    seen: list[int] = []
    tally = run(CampaignSettings(500, 0, "none"), progress=lambda tally: seen.append(tally.schedules))
    assert seen == sorted(seen)
    assert seen[-1] == tally.schedules == 500
    assert tally.publications
    assert tally.deliveries


def test_the_first_violation_comes_with_the_command_that_shows_it() -> None:
    tally = run(CampaignSettings(20, 0, "none", "pairwise", "no-detection"))
    assert tally.violations == tally.kinds["pairwise"] > 1
    assert tally.first["kind"] == "pairwise"
    assert "delivers" in str(tally.first["witness"])
    assert str(tally.first["replay"]).startswith(f"concord harness replay {tally.first['seed']} ")
    assert "--mutant no-detection" in str(tally.first["replay"])


def test_a_search_ends_with_the_first_violation_and_not_with_its_batch() -> None:
    settings = CampaignSettings(20, 0, "none", "pairwise", "no-detection")
    found = run(settings, until_found=True)
    assert found.violations == 1
    assert found.first == run(settings).first
    assert found.schedules == found.first["seed"] + 1  # type: ignore[operator]  # it is a number


def test_what_is_not_promised_is_counted_where_it_is_asked_for() -> None:
    found = {
        ordering: run(CampaignSettings(60, ordering=ordering, reports=True)).reports
        for ordering in ("pairwise", "fifo")
    }
    assert found["pairwise"] == {"reported": 60}
    assert found["fifo"]["cyclic"] >= found["fifo"]["local"] > 0


def test_a_tally_prints_every_kind() -> None:
    assert set(Tally().as_json()["kinds"]) >= {  # type: ignore[call-overload]  # it is a dictionary
        "pairwise",
        "publisher",
        "causal",
        "duplicate",
        "missing",
        "stuck",
    }


def test_shrinking_keeps_the_kind_and_leaves_little() -> None:
    with applied("no-detection"):
        outcome = of_seed(2, "none", (2, 6), Pairwise)
        small = shrink(outcome.actions, "pairwise", Pairwise)
        again = of_actions(small, Pairwise)
    assert again.has("pairwise")
    assert len(small) < 15
    assert sum(action[0] == "start" for action in small) == 2
    assert sum(action[0] == "publish" for action in small) == 2


def test_shrinking_nothing_wrong_changes_nothing() -> None:
    outcome = of_seed(2, "none", (2, 6), Pairwise)
    assert shrink(outcome.actions, "pairwise", Pairwise) == outcome.actions


def test_a_diagram_has_a_column_per_broker_and_subscription() -> None:
    actions = (
        ("start", "B1"),
        ("start", "B2"),
        ("dial", "B2", "B1"),
        ("subscribe", "S1", "B1", "a"),
        ("advertise", "P1", "B2", "a"),
        ("drain",),
        ("publish", "P1", "a"),
    )
    diagram, outcome = draw(actions, Pairwise)
    lines = diagram.lines()
    assert lines[0].split() == ["B1", "B2", "S1"]
    assert any(line.startswith("  7 publish P1 a") and ">B1 P1:1" in line for line in lines)
    assert any(line.rstrip().endswith("P1:1") and "drain" in line for line in lines)
    assert outcome.faults == ()
