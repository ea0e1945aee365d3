import csv
from pathlib import Path

from harness.report.page import write_routing as write
from harness.report.routing_figures import ROUTING_FIGURES
from tests.harness.evaluation.routing.points import all_points


def test_every_figure_is_there_with_its_data(tmp_path: Path) -> None:
    page = write(tmp_path, list(all_points()))
    assert page.read_text().count("<figure id=") == len(ROUTING_FIGURES)
    files = sorted(page.parent.glob("*.csv"))
    assert len(files) == len(ROUTING_FIGURES)
    for path in files:
        with path.open(newline="") as file:
            head, *rows = csv.reader(file)
        assert rows
        assert {len(row) for row in rows} == {len(head)}


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    some = [each for each in all_points() if each.group == "tables"]
    text = write(tmp_path, some).read_text()
    assert text.count("<figure id=") == 2
    assert "left out: messages for a change, locality, break-even, imperfect merging" in text
