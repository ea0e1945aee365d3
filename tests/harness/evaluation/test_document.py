from pathlib import Path

import pytest

from harness.evaluation.document import document
from tests.harness.report.runs import analysed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for ordering, wrong in (("pairwise", 0), ("fifo", 31)):
        for many in (200, 400):
            place = tmp_path / "figure7" / ordering / "points" / str(many)
            analysed(place, ordering, scenario="figure7", subscriptions=many, out_of_order=wrong)
        analysed(tmp_path / "knee-24" / ordering, ordering, subscriptions=24)
        analysed(tmp_path / "knee-144" / ordering, ordering, subscriptions=144)
        analysed(tmp_path / "crash-core" / ordering, ordering, has_faults=True)
    return tmp_path


def row(page: str, start: str) -> list[str]:
    (line,) = [each for each in page.splitlines() if each.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_claims_stand_beside_what_was_measured(folder: Path) -> None:
    page = document(folder, [])
    assert row(page, "pairs out of order, pairwise")[1:] == ["0, by theorem 9", "0 of 330, in 5 runs"]
    assert row(page, "ordering degree")[1:] == ["0.9952", "0.9952"]
    assert row(page, "publications per conflict")[1:] == ["14", "14.0"]
    assert row(page, "longest latency")[1:] == ["50 times", "1.0 times"]


def test_every_study_that_was_run_has_its_table(folder: Path) -> None:
    page = document(folder, [])
    for title in ("Figure 7", "The sequencer's knee", "With faults"):
        assert f"## {title}" in page
    assert "## Figure 8" not in page
    assert row(page, "`crash-core` | `pairwise`")[4] == "0.48"


def test_a_sweep_is_told_in_the_order_of_its_numbers(folder: Path) -> None:
    page = document(folder, [])
    assert page.index("| 12 | 24 | 24 |") < page.index("| 72 | 144 | 144 |")


def test_scaling_is_told_if_it_was_measured(folder: Path) -> None:
    measured = {"deliveries": 10_000_000.0, "pairs": 19_900.0, "inversions": 0.0, "seconds": 57.4}
    assert "| 10,000,000 | 19,900 | 0 | 57 |" in document(folder, [measured])
    assert "The analysis itself" not in document(folder, [])


def test_nothing_was_run_and_the_page_says_so_little(tmp_path: Path) -> None:
    assert row(document(tmp_path / "nothing", []), "pairs out of order")[2] == "-"
