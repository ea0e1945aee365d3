import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.commands.analyze import report as command
from harness.report.page import write
from harness.report.results import ReportError
from harness.report.run_figures import FIGURES
from tests.harness.report.browser import Seen, look
from tests.harness.report.runs import analysed, without_verdict


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison at several points, with faults and a violation: everything a page can have."""
    folder = tmp_path_factory.mktemp("sweep")
    for many in (12, 24, 48):
        for ordering in ("pairwise", "fifo", "sequencer", "published"):
            wrong = 31 if ordering in {"fifo", "published"} else 0
            analysed(
                folder / str(many) / ordering,
                ordering,
                scenario="figure7",
                subscriptions=many,
                out_of_order=wrong,
                has_faults=many == 48,
            )
    return write(folder)


@pytest.fixture
def single(tmp_path: Path) -> Path:
    return write(analysed(tmp_path / "run", "pairwise"))


def figures(page: Path) -> list[str]:
    return re.findall(r'<figure id="([^"]+)">', page.read_text())


def test_a_sweep_has_every_figure(sweep: Path) -> None:
    assert len(figures(sweep)) == len(FIGURES)
    assert "left out" not in sweep.read_text()


def test_every_figure_has_its_data_beside_it(sweep: Path) -> None:
    for name in figures(sweep):
        with (sweep.parent / f"{name}.csv").open(newline="") as file:
            head, *rows = csv.reader(file)
        assert "ordering" in head
        assert rows
        assert {len(row) for row in rows} == {len(head)}


def test_verdicts_come_before_figures_and_the_worst_run_speaks_for_an_ordering(sweep: Path) -> None:
    text = sweep.read_text()
    assert text.index('id="verdicts"') < text.index('id="figures"')
    row = text[text.index("<b>fifo</b> <span") :]
    assert "broken" in row[: row.index("</tr>")]


def test_a_single_run_leaves_out_what_only_a_sweep_can_show(single: Path) -> None:
    assert "latency-over-subscriptions" not in figures(single)
    assert "latency-distribution" in figures(single)
    assert "left out: latency over subscriptions, throughput over publishers" in single.read_text()


def broken(place: Path, kills: int) -> str:
    """The timeline of a run with so many brokers killed and started again."""
    analysed(place, "pairwise", has_faults=True)
    analysis = json.loads((place / "analysis.json").read_text())
    fault = analysis["faults"][0]
    analysis["faults"] = [
        {**fault, "at_s": 0.5 * number, "target": f"core-{number}", "detail": detail}
        for number in range(1, kills + 1)
        for detail in ("SIGKILL", "started again")
    ]
    (place / "analysis.json").write_text(json.dumps(analysis))
    text = write(place).read_text()
    start = text.index('<figure id="timeline"')
    return text[start : text.index("</figure>", start)]


def test_faults_have_their_names_in_the_timeline_where_there_is_room(tmp_path: Path) -> None:
    few, many = broken(tmp_path / "few", 2), broken(tmp_path / "many", 9)
    drawings = 2
    assert few.count(">crash core-1<") == few.count(">crash core-2<") == drawings
    assert few.count('<path class="event"') == 4 * drawings
    assert "crash" not in many
    assert many.count('<path class="event"') == 18 * drawings


def test_overlaps_are_lines_of_their_own(tmp_path: Path) -> None:
    for overlap in (25, 100):
        for many in (12, 24):
            path = analysed(tmp_path / f"{many}-{overlap}", "pairwise", subscriptions=many)
            about = json.loads((path / "run.json").read_text())
            settings = {"filters": {"overlap_percent": overlap}}
            (path / "run.json").write_text(json.dumps(about | {"settings": settings}))
    text = write(tmp_path).read_text()
    assert "pairwise 25 %" in text
    assert "pairwise 100 %" in text


def test_a_violation_is_drawn_and_described(sweep: Path) -> None:
    text = sweep.read_text()
    assert "Pairwise order broken under fifo" in text
    assert "s at B1 delivers p/1 before q/1 (deliveries 0 and 1)" in text


def test_a_run_without_a_verdict_says_why(tmp_path: Path) -> None:
    analysed(tmp_path / "pairwise", "pairwise")
    without_verdict(tmp_path / "fifo", "fifo")
    assert "deliveries is missing" in write(tmp_path).read_text()


def test_what_a_run_says_of_itself_cannot_change_the_page(tmp_path: Path) -> None:
    path = analysed(tmp_path / "run", "<script>alert(1)</script>")
    about = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(about | {"command": "<img src=x onerror=alert(2)>"}))
    text = write(tmp_path).read_text()
    assert "<script" not in text
    assert "<img" not in text


def test_a_directory_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="holds no analysed run"):
        write(tmp_path)


def test_the_command_says_where_the_page_is(tmp_path: Path) -> None:
    analysed(tmp_path / "run", "pairwise")
    result = CliRunner().invoke(command, [str(tmp_path)])
    assert result.output.strip() == str(tmp_path / "report" / "index.html")


@pytest.fixture(scope="module")
def seen(sweep: Path) -> dict[str, Seen]:
    return {
        "desk": look(sweep, width=1280, is_dark=False),
        "phone": look(sweep, width=390, is_dark=False),
        "dark": look(sweep, width=1280, is_dark=True),
    }


class TestInABrowser:
    def test_it_loads_without_a_complaint_and_asks_for_nothing_else(self, seen: dict[str, Seen]) -> None:
        for each in seen.values():
            assert each.complaints == []
            assert len(each.requests) == 1

    def test_nothing_is_wider_than_a_phone(self, seen: dict[str, Seen]) -> None:
        for each in seen.values():
            assert each.content_width <= each.width

    def test_every_figure_is_to_be_seen_once(self, seen: dict[str, Seen]) -> None:
        for each in seen.values():
            assert each.visible_charts == each.figures

    def test_letters_are_large_enough_to_be_read(self, seen: dict[str, Seen]) -> None:
        for each in seen.values():
            assert each.smallest_letters_px >= 10

    def test_it_is_dark_where_the_reader_wants_it_dark(self, seen: dict[str, Seen]) -> None:
        assert seen["dark"].background != seen["desk"].background

    def test_all_links_lead_somewhere(self, seen: dict[str, Seen], sweep: Path) -> None:
        assert seen["desk"].links
        assert [link for link in seen["desk"].links if not (sweep.parent / link).is_file()] == []
