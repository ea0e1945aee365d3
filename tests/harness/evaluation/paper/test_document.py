import json
from pathlib import Path

import pytest

from harness.evaluation.paper.document import document
from tests.harness.report.runs import analysed, without_verdict


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for ordering, wrong in (("pairwise", 0), ("fifo", 31)):
        for many in (200, 400):
            place = tmp_path / "figure7" / ordering / "points" / str(many)
            analysed(place, ordering, scenario="figure7", subscriptions=many, out_of_order=wrong)
        for scenario in ("crash-core", "flaky-links", "slow-subscriber"):
            analysed(tmp_path / scenario / ordering, ordering, scenario=scenario, has_faults=True)
    for ordering, rates in (("fifo", (200, 900)), ("pairwise", (199, 890)), ("sequencer", (199, 500))):
        for many, rate in zip((24, 144), rates, strict=True):
            place = analysed(
                tmp_path / "knee" / ordering / "points" / str(many),
                ordering,
                scenario="knee",
                subscriptions=many,
            )
            change(place, "series", {"timeline": [{"deliveries_s": float(rate)}] * 8})
    return tmp_path


def change(place: Path, key: str, value: object) -> None:
    file = place / "analysis.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))


def row(page: str, start: str) -> list[str]:
    (line,) = [each for each in page.splitlines() if each.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_claims_stand_beside_what_was_measured(folder: Path) -> None:
    page = document(folder, [])
    assert row(page, "pairs out of order, pairwise")[1:] == ["0, by theorem 9", "0 of 462, in 7 runs"]
    assert row(page, "ordering degree, per")[1:] == ["0.9952", "0.9952"]
    assert row(page, "publications per conflict")[1:] == ["14", "14.0"]
    assert row(page, "longest latency, pairwise")[1:] == ["50 times", "1.00 times (1.00 to 1.00)"]


def test_the_knee_is_where_less_is_delivered_than_without_order(folder: Path) -> None:
    page = document(folder, [])
    assert row(page, "publishers with which the sequencer")[1:] == ["130", "between 24 and 144"]
    assert row(page, "publishers with which pairwise")[1:] == ["not with 240", "not with 144"]


def test_aims_are_reached_or_not_as_the_numbers_say(folder: Path) -> None:
    page = document(folder, [])
    assert row(page, "longest latency of pairwise at most 3")[1:] == ["1.00 times (1.00 to 1.00)", "yes"]
    assert row(page, "no pair out of order with faults")[1:] == ["0 of 198, in 3 runs", "yes"]
    assert row(page, "nothing missing")[2] == "yes"
    assert row(page, "96 brokers")[2] == "not measured"
    change(folder / "figure7" / "pairwise" / "points" / "200", "latency_ms", {"p50": 1.5, "max": 9_000.0})
    change(folder / "crash-core" / "pairwise", "verdicts", {"pairwise": {"outcome": False}})
    change(folder / "flaky-links" / "pairwise", "missing", 3)
    page = document(folder, [])
    assert row(page, "longest latency of pairwise at most 3")[2] == "**no**"
    assert row(page, "no pair out of order with faults")[2] == "**no**"
    assert row(page, "nothing missing")[1:] == ["3 missing in 6 runs", "**no**"]


def test_every_study_that_was_run_has_its_table(folder: Path) -> None:
    page = document(folder, [])
    for title in ("Figure 7", "The sequencer's knee", "With faults"):
        assert f"## {title}" in page
    assert "## Figure 8" not in page
    assert row(page, "`crash-core` | `pairwise`")[6] == "0.48"


def test_how_latency_grows_is_reported(folder: Path) -> None:
    page = " ".join(document(folder, []).split())
    assert "From 200 to 400 subscriptions, 2.0 times as many" in page
    assert "grows 1.0 times under `pairwise`, 1.0 times under `fifo`." in page


def test_a_run_without_a_verdict_is_reported_with_its_reason(folder: Path) -> None:
    without_verdict(folder / "quick" / "fifo", "fifo")
    page = document(folder, [])
    assert "- quick, fifo: deliveries is missing: was this written?" in page
    assert "## A small overlay" not in page


def test_conditions_are_reported(folder: Path) -> None:
    assert "Measured from 2026-01-01 00:00 to 2026-01-01 00:00 UTC.\n" in document(folder, [])
    for name, part in (("crash-core", 0.02), ("flaky-links", 0.5), ("slow-subscriber", 0.1)):
        (folder / name / "fifo" / "others.txt").write_text(str(part))
    sentence = (
        "In the 3 runs in which that was counted, other programs took 10 % of the processors, 2 to 50 %."
    )
    assert sentence in " ".join(document(folder, []).split())


def test_scaling_is_reported_if_it_was_measured(folder: Path) -> None:
    measured = [
        {"deliveries": 10_000_000.0, "pairs": 19_900.0, "inversions": count, "seconds": seconds}
        for count, seconds in ((0.0, 57.4), (8.0, 149.1))
    ]
    page = document(folder, measured)
    assert "| 10,000,000 | 19,900 | 0 | 57 |" in page
    assert row(page, "10,000,000 deliveries analysed")[1:] == ["57 to 149 s", "yes"]
    assert "The analysis itself" not in document(folder, [])


def test_nothing_was_run_and_the_page_says_so_little(tmp_path: Path) -> None:
    page = document(tmp_path / "nothing", [])
    assert row(page, "pairs out of order, pairwise")[2] == "-"
    assert {row(page, start)[2] for start in ("median latency of", "no pair", "nothing")} == {"not measured"}
