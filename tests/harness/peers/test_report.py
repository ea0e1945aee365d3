from pathlib import Path

import click
import pytest

from harness.peers.adapters import PEERS
from harness.peers.measurement import Figures, PeerWork
from harness.peers.report import BEGIN, END, about, renew, shown, write
from harness.peers.results import PeerResult, PeerVerdict
from harness.peers.workload import WorkloadTiming
from tests.sources import ROOT


def figures(deliveries_per_s: float, p50_ms: float = 0.5) -> Figures:
    return Figures(deliveries_per_s, PeerWork(1.0, 2.0, 3.0), p50_ms, 9.0)


KEPT = PeerVerdict(pairs=6, disagreeing=0, missing=0)
RESULTS = [
    PeerResult("4 x 4", "concord", [figures(100_000), figures(300_000), figures(110_000)], [KEPT] * 3),
    PeerResult("4 x 4", "nats", [figures(200_000, 0.25)], [PeerVerdict(6, 5, 12)]),
    PeerResult("4 x 4", "relay", [figures(900_000)], [PeerVerdict(0, 0, 0, "deliveries/ is empty")]),
]
FOUND = about([PEERS["concord"], PEERS["relay"]], {"redis": "there is no redis-server"}, WorkloadTiming())


def test_a_row_has_medians_their_spread_and_what_all_runs_broke() -> None:
    rows = shown(RESULTS).rows
    assert rows[0][1:5] == ["concord", "110,000", "100 to 300", "0.50"]
    assert rows[0][-2:] == ["0 of 18", "0"]
    assert rows[1][-2:] == ["5 of 6", "12"]


def test_without_a_verdict_nothing_is_said_of_order() -> None:
    assert shown(RESULTS).rows[2][-2:] == ["-", "-"]


def test_the_page_shows_the_figure_and_the_systems_left_out(tmp_path: Path) -> None:
    text = write(tmp_path, FOUND, RESULTS).read_text(encoding="utf-8")
    assert "<svg" in text
    assert "redis is left out: there is no redis-server." in text
    assert (tmp_path / "report" / "deliveries.csv").read_text().splitlines()[1] == "4 x 4,concord,110000"


def test_results_are_renewed_between_two_lines_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    renew(page, FOUND, RESULTS)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    assert [line for line in lines if line.startswith("| 4 x 4 | nats | 200,000 |")]
    again = page.read_text()
    renew(page, FOUND, RESULTS)
    assert page.read_text() == again


def test_a_page_without_those_lines_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("mine")
    with pytest.raises(click.ClickException, match="has no lines"):
        renew(page, FOUND, RESULTS)
    assert page.read_text() == "mine"


def test_the_document_has_room_for_results() -> None:
    text = (ROOT / "docs" / "results" / "peers.md").read_text(encoding="utf-8")
    assert text.index(BEGIN) < text.index(END)
    assert [name for name in PEERS if f"| `{name}` |" not in text] == []
