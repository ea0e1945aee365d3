import json
from pathlib import Path

import attrs
import pytest

from harness.evaluation.paper import spread
from harness.evaluation.paper.document import document, load
from harness.evaluation.paper.quiet import Quietness, write_others
from harness.peers.measurement import Figures, PeerWork
from tests.harness.report.runs import analysed, without_verdict


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for ordering, wrong in (("pairwise", 0), ("fifo", 31)):
        for many in (200, 400):
            for repeat in (1, 2):
                place = tmp_path / "figure7" / str(many) / ordering / str(repeat)
                analysed(place, ordering, scenario="figure7", subscriptions=many, out_of_order=wrong)
        for scenario in ("crash-core", "flaky-links", "slow-subscriber"):
            analysed(tmp_path / scenario / ordering / "1", ordering, scenario=scenario, has_faults=True)
    for ordering, rates in (("fifo", (200, 900)), ("pairwise", (199, 890)), ("sequencer", (199, 500))):
        for many, rate in zip((24, 144), rates, strict=True):
            place = analysed(
                tmp_path / "knee" / str(many) / ordering / "1", ordering, scenario="knee", subscriptions=many
            )
            change(place, "series", {"timeline": [{"deliveries_s": float(rate)}] * 8})
    return tmp_path


def change(place: Path, key: str, value: object, file: str = "analysis.json") -> None:
    path = place / file
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))


def row(page: str, start: str) -> list[str]:
    (line,) = [each for each in page.splitlines() if each.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_claims_stand_beside_what_was_measured(folder: Path) -> None:
    page = document(folder, [])
    assert row(page, "pairs out of order, pairwise")[1:] == ["-", "0 of 594, in 9 runs"]
    assert row(page, "ordering degree, per")[1:] == ["0.9952", "0.9952"]
    assert row(page, "publications per conflict")[1:] == ["14", "14.0"]
    assert row(page, "longest latency, pairwise")[1:] == ["-", "1.00 times (1.00 to 1.00)"]
    assert row(page, "longest displacement")[1:] == ["2", "1"]


def test_the_papers_measure_comes_first_and_that_of_its_own_algorithm_beside_it(folder: Path) -> None:
    place = analysed(
        folder / "figure7" / "200" / "fast" / "1", "published", scenario="figure7", subscriptions=200
    )
    change(place, "ordering_options", {"form": "fast"}, "run.json")
    change(place, "latency_same_broker_ms", {"p50": 6.0})
    page = document(folder, [])
    first = next(line for line in page.splitlines() if line.startswith("| median latency"))
    assert first.startswith("| median latency at the publisher's broker, pairwise")
    ratio = row(page, "median latency at the publisher's broker, the paper's fast form")
    assert ratio[1:] == ["10 times", "4.00 times"]


def test_the_knee_on_the_papers_terms_and_on_chosen_links_are_kept_apart(folder: Path) -> None:
    page = document(folder, [])
    full = "publishers with which the sequencer is full"
    assert row(page, f"{full}, the paper's overlay")[1:] == ["130", "-"]
    assert row(page, f"{full}, links of 1 Mbit/s")[1:] == ["not measured", "between 24 and 144"]
    assert row(page, "the same, links of 1 Mbit/s chosen here")[2] == "not with 144"


def test_a_time_is_the_median_of_the_repeats_with_its_interval(folder: Path) -> None:
    for repeat, p50 in ((1, 1.0), (2, 4.0)):
        change(folder / "figure7" / "200" / "pairwise" / str(repeat), "latency_same_broker_ms", {"p50": p50})
    page = document(folder, [])
    assert row(page, "100 | 200 | 200 | `pairwise`")[4] == "2.5 (1.0 to 4.0)"
    assert row(page, "100 | 200 | 200 | `pairwise`")[8] == "0 of 132"


def test_a_run_that_stayed_disturbed_is_named_in_its_row(folder: Path) -> None:
    write_others(folder / "figure7" / "200" / "fifo" / "1", Quietness(0.4, 4))
    write_others(folder / "figure7" / "400" / "fifo" / "1", Quietness(0.05, 2))
    page = " ".join(document(folder, []).split())
    assert "| 100 | 200 | 200 | `fifo` (disturbed) |" in page
    assert "| 200 | 400 | 400 | `fifo` |" in page
    assert "that happened 4 times, and 1 runs stayed disturbed" in page


def test_the_load_of_all_runs_is_what_others_took(folder: Path) -> None:
    assert load(folder) == ""
    for repeat, part in ((1, 0.02), (2, 0.07)):
        write_others(folder / "figure7" / "200" / "fifo" / str(repeat), Quietness(part))
    write_others(folder / "crash-core" / "fifo" / "1", Quietness(0.03))
    assert load(folder) == "other programs took 3 % of the processors, 2 to 7 %"


def test_aims_are_reached_or_not_as_the_numbers_say(folder: Path) -> None:
    page = document(folder, [])
    assert row(page, "longest latency of pairwise at most 3")[1:] == ["1.00 times (1.00 to 1.00)", "yes"]
    assert row(page, "no pair out of order with faults")[1:] == ["0 of 198, in 3 runs", "yes"]
    assert row(page, "nothing missing")[2] == "yes"
    assert row(page, "96 brokers")[2] == "not measured"
    for repeat in (1, 2):
        change(
            folder / "figure7" / "200" / "pairwise" / str(repeat), "latency_ms", {"p50": 1.5, "max": 9_000.0}
        )
    change(folder / "crash-core" / "pairwise" / "1", "pairs_out_of_order", 1)
    change(folder / "flaky-links" / "pairwise" / "1", "missing", 3)
    page = document(folder, [])
    assert row(page, "longest latency of pairwise at most 3")[2] == "**no**"
    assert row(page, "no pair out of order with faults")[2] == "**no**"
    assert row(page, "nothing missing")[1:] == ["3 missing in 8 runs", "**no**"]


def test_every_study_that_was_run_has_its_table(folder: Path) -> None:
    page = document(folder, [])
    for title in ("Figure 7", "The sequencer's knee", "With faults"):
        assert f"## {title}" in page
    assert "## Figure 8" not in page
    assert row(page, "`crash-core` | `pairwise`")[6] == "0.48"


def test_how_latency_grows_is_reported(folder: Path) -> None:
    grown = row(document(folder, []), "latency over subscriptions")[2]
    assert grown == "`pairwise` 1.0 times, for 2.0 times as many; `fifo` 1.0 times, for 2.0 times as many"


def test_where_a_line_stops_in_figure_8_is_reported(folder: Path) -> None:
    for many, missing in ((50, 0), (300, 9)):
        place = analysed(
            folder / "figure8" / str(many) / "fast" / "1", "fifo", scenario="figure8", subscriptions=many
        )
        change(place, "missing", missing)
    page = " ".join(document(folder, []).split())
    assert (
        "`fifo` carries up to 25 brokers with 50 publishers and 50 subscriptions, "
        "and not 150 brokers with 300 publishers and 300 subscriptions." in page
    )


def test_what_a_broker_sends_is_of_the_most_subscriptions_with_a_verdict_at_every_overlap(
    folder: Path,
) -> None:
    for many, overlaps in ((50, (25, 50, 100)), (150, (25, 50, 100)), (300, (25, 50))):
        for overlap in overlaps:
            place = folder / "figure5" / f"{many}-{overlap}" / "progressive" / "1"
            analysed(place, "published", scenario="figure5", subscriptions=many)
            change(place, "ordering_options", {"form": "progressive"}, "run.json")
            change(place, "settings", {"filters": {"overlap_percent": overlap}}, "run.json")
    sent = row(document(folder, []), "outgoing messages of a broker")[2]
    assert sent.endswith("for each publication, 150 subscriptions")
    assert len(sent.split(" for ")[0].split(", ")) == 3


def test_detection_and_what_is_sent_stand_by_overlap(folder: Path) -> None:
    for overlap, mean in ((25, 300.0), (50, 100.0)):
        place = analysed(folder / "figure5" / str(overlap) / "fast" / "1", "published", scenario="figure5")
        change(place, "ordering_options", {"form": "fast"}, "run.json")
        change(place, "settings", {"filters": {"overlap_percent": overlap}}, "run.json")
        change(place, "detection_us", {"mean": mean})
        change(place, "detection_by_place_us", {"core": mean / 2, "edge": mean})
    page = document(folder, [])
    assert row(page, "detection of the fast form at 25 %")[1:] == ["above 1", "3.00 times"]
    assert row(page, "24 | 25 | `published`, fast")[3:8] == ["300.0", "150.0", "16.0", "0.9", "2.82"]


def test_spread_is_named_if_it_is_absent_and_stands_beside_concord_if_it_was_measured(tmp_path: Path) -> None:
    place = tmp_path / spread.FOLDER
    place.mkdir()
    (place / spread.ABSENT).write_text('"there is no spread"')
    assert "Not measured: there is no spread." in document(tmp_path, [])
    run = place / "2 servers" / "2-servers" / "spread" / "1"
    run.mkdir(parents=True)
    figures = attrs.asdict(Figures(900.0, PeerWork(1.0, 2.0, 3.0), 200.5, 300.0))
    (run / "run.json").write_text(
        json.dumps({"scenario": "2 servers", "ordering": "spread", "figures": figures})
    )
    (place / spread.ABSENT).write_text('""')
    assert row(document(tmp_path, []), "2 | 50 and 50")[2:] == ["`spread`", "200.50", "300.00", "900"]


def test_a_run_without_a_verdict_is_reported_with_its_reason(folder: Path) -> None:
    without_verdict(folder / "quick" / "fifo" / "1", "fifo")
    page = document(folder, [])
    assert "- quick, fifo/1: deliveries is missing: was this written?" in page
    assert "## A small overlay" not in page


def test_scaling_is_reported_if_it_was_measured(folder: Path) -> None:
    measured = [
        {"deliveries": 10_000_000.0, "pairs": 19_900.0, "inversions": count, "seconds": seconds}
        for count, seconds in ((0.0, 57.4), (8.0, 149.1))
    ]
    page = document(folder, measured)
    assert "| 10,000,000 | - | 19,900 | 0 | - | 57 | - |" in page
    assert row(page, "10,000,000 deliveries analysed")[1:] == ["57 to 149 s", "yes"]
    assert "The analysis itself" not in document(folder, [])


def test_nothing_was_run_and_the_page_says_so_little(tmp_path: Path) -> None:
    page = document(tmp_path / "nothing", [])
    assert row(page, "pairs out of order, pairwise")[2] == "-"
    assert {row(page, start)[2] for start in ("median latency of", "no pair", "nothing")} == {"not measured"}
