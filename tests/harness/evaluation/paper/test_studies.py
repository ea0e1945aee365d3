import subprocess
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import pytest

from harness.evaluation.paper import quiet, studies
from harness.evaluation.paper.quiet import StudyMoment, others, read_others
from harness.evaluation.paper.studies import FIFO, PAIRWISE, STUDIES, TRIES, PaperRun, PaperStudy, runs_of
from harness.runs.progress import Progress
from harness.scenarios import find

STUDY = PaperStudy("knee", "quick", (PAIRWISE, FIFO), repeats=2)
NEVER_S = float("inf")


class Runner:
    """Replaces the command that performs a run."""

    def __init__(self, status: int = 0) -> None:
        self.status = status
        self.commands: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str], **_: object) -> "subprocess.CompletedProcess[str]":
        self.commands.append(command)
        out = Path(command[command.index("--out") + 1])
        out.mkdir(parents=True)
        (out / "run.json").write_text("{}")
        return subprocess.CompletedProcess(command, self.status, "", "concord: no free port\n")


def use(monkeypatch: pytest.MonkeyPatch, runner: Runner, *, shares: Sequence[float] = (0.0,)) -> Runner:
    """Make runs with a runner, while others take these parts of the processors, one after the other."""
    monkeypatch.setattr(subprocess, "run", runner)
    taken = cycle(shares)
    monkeypatch.setattr(StudyMoment, "now", lambda: StudyMoment(0.0, 0.0, 0.0))
    monkeypatch.setattr(quiet, "others", lambda *_: next(taken))
    return runner


def perform(folder: Path, until_s: float = NEVER_S) -> list[str]:
    return studies.perform(list(runs_of([STUDY])), folder, Progress(), until_s)


def test_what_is_whole_is_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runner = use(monkeypatch, Runner())
    assert perform(tmp_path) == []
    orderings = [command[command.index("--ordering") + 1] for command in runner.commands]
    assert orderings == ["pairwise", "fifo", "fifo", "pairwise"], "each repeat begins with another line"
    assert perform(tmp_path) == []
    assert len(runner.commands) == len(orderings)


def test_what_failed_is_reported_and_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, Runner(status=2))
    assert perform(tmp_path)[0] == "knee, pairwise, repeat 1: concord: no free port"
    runner = use(monkeypatch, Runner())
    assert perform(tmp_path) == []
    assert len(runner.commands) == len(list(runs_of([STUDY])))


def test_no_run_begins_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runner = use(monkeypatch, Runner())
    assert perform(tmp_path, until_s=0.0) == []
    assert runner.commands == []


def test_a_disturbed_run_is_made_again_and_after_some_tries_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runner = use(monkeypatch, Runner(), shares=[0.5, 0.02, *[0.3] * TRIES, 0.0, 0.0])
    perform(tmp_path)
    first, second, *_ = (read_others(each.place(tmp_path)) for each in runs_of([STUDY]))
    assert (first.tries, first.is_disturbed) == (2, False)
    assert (second.tries, second.is_disturbed) == (TRIES, True)
    assert len(runner.commands) == 2 + TRIES + 1 + 1


def test_a_run_that_is_not_whole_is_not_analysed(tmp_path: Path) -> None:
    for name in ("1", ".2"):
        (tmp_path / "knee" / "pairwise" / name).mkdir(parents=True)
        (tmp_path / "knee" / "pairwise" / name / "run.json").write_text("{}")
    assert list(studies._unanalysed(tmp_path)) == [tmp_path / "knee" / "pairwise" / "1"]


def test_no_two_runs_share_a_folder() -> None:
    places = [each.place(Path()) for each in runs_of(STUDIES)]
    assert len(set(places)) == len(places)


def test_every_line_of_a_study_has_the_routing_of_its_scenario() -> None:
    for study in STUDIES:
        needs_simple = any(line.ordering == "published" for line in study.lines)
        assert find(study.scenario).first.routing == "simple" or not needs_simple


def test_a_line_stops_where_it_is_said_to() -> None:
    points = [point.name for point in find("figure8").points]
    taken = [
        each.point
        for each in runs_of(STUDIES)
        if each.study.name == "figure8" and each.line.name == "progressive"
    ]
    assert taken == points[:2]


def test_the_command_of_a_run_names_its_point_and_the_options_of_its_line() -> None:
    (run,) = (
        each
        for each in runs_of(STUDIES, 1)
        if each.name == "figure8, edges_per_core-1-publishers-50-subscribers-50, fast, repeat 1"
    )
    command = run.command(Path("there"))
    assert command[command.index("--point") + 1] == run.point
    assert command[-1] == 'ordering_options={"form": "fast"}'


def test_what_is_not_our_own_is_the_others() -> None:
    before, after = StudyMoment(100.0, 1_000.0, 5.0), StudyMoment(110.0, 1_016.0, 17.0)
    assert others(before, after, 2) == pytest.approx(0.2)


def test_counts_that_are_a_little_off_are_no_part_below_nothing_and_none_above_all() -> None:
    start = StudyMoment(0.0, 0.0, 0.0)
    assert others(start, StudyMoment(1.0, 1.0, 1.02), 2) == 0
    assert others(start, StudyMoment(1.0, 2.5, 0.0), 2) == 1


def test_nothing_is_known_of_a_run_that_says_nothing(tmp_path: Path) -> None:
    assert not read_others(tmp_path).is_disturbed
    assert PaperRun(STUDY, "", FIFO, 1).place(tmp_path) == tmp_path / "knee" / "fifo" / "1"
