import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.evaluation.routing import measuring
from harness.evaluation.routing.measuring import Measuring
from harness.evaluation.routing.studies import RoutingStudy
from harness.runs.progress import Progress

STUDIES = [RoutingStudy(name, "tables", "quotes", "identity", "simple", (1,)) for name in ("one", "two")]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "worker_processes", lambda jobs, **_: ThreadPoolExecutor(jobs))


def test_what_is_whole_is_not_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert measuring.perform(STUDIES, tmp_path, 1, 0, Progress()) == []
    about = json.loads((tmp_path / "one" / "run.json").read_text())
    assert (about["name"], about["routing"], about["has_advertisements"]) == ("one", "identity+simple", True)
    monkeypatch.setattr(Measuring, "run", lambda _: pytest.fail("measured again"))
    assert measuring.perform(STUDIES, tmp_path, 1, 0, Progress()) == []


def test_what_fails_is_reported_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = Measuring.run

    def run(measuring: Measuring) -> None:
        if measuring.study.name == "one":
            raise MemoryError("too many entries")
        whole(measuring)

    monkeypatch.setattr(Measuring, "run", run)
    assert measuring.perform(STUDIES, tmp_path, 1, 0, Progress()) == ["one: MemoryError: too many entries"]
    assert not (tmp_path / "one").exists()
    assert (tmp_path / "two" / "run.json").is_file()
