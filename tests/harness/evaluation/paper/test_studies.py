import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.evaluation.paper import studies
from harness.evaluation.paper.studies import STUDIES, PaperStudy, StudyMoment, others, read, watched
from harness.runs.progress import Progress

STUDY = PaperStudy("knee", "quick", ("pairwise", "fifo"), ("publishers.count=3",))


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


def use(monkeypatch: pytest.MonkeyPatch, runner: Runner) -> Runner:
    monkeypatch.setattr(subprocess, "run", runner)
    return runner


def test_what_is_whole_is_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runner = use(monkeypatch, Runner())
    assert studies.perform([STUDY], tmp_path, Progress()) == []
    assert [command[command.index("--ordering") + 1] for command in runner.commands] == ["pairwise", "fifo"]
    assert studies.perform([STUDY], tmp_path, Progress()) == []
    assert len(runner.commands) == 2


def test_what_failed_is_reported_and_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, Runner(status=2))
    assert studies.perform([STUDY], tmp_path, Progress())[0] == "knee, pairwise: concord: no free port"
    runner = use(monkeypatch, Runner())
    assert studies.perform([STUDY], tmp_path, Progress()) == []
    assert len(runner.commands) == 2


def test_a_run_that_is_not_whole_is_not_analysed(tmp_path: Path) -> None:
    for name in ("pairwise", ".fifo"):
        (tmp_path / "knee" / name).mkdir(parents=True)
        (tmp_path / "knee" / name / "run.json").write_text("{}")
    assert list(studies._unanalysed(tmp_path)) == [tmp_path / "knee" / "pairwise"]


def test_no_two_studies_share_a_folder() -> None:
    assert len({each.name for each in STUDIES}) == len(STUDIES)


def test_what_is_not_our_own_is_the_others() -> None:
    before, after = StudyMoment(100.0, 1_000.0, 5.0), StudyMoment(110.0, 1_016.0, 17.0)
    assert others(before, after, 2) == pytest.approx(0.2)


def test_counts_that_are_a_little_off_are_no_part_below_nothing_and_none_above_all() -> None:
    start = StudyMoment(0.0, 0.0, 0.0)
    assert others(start, StudyMoment(1.0, 1.0, 1.02), 2) == 0
    assert others(start, StudyMoment(1.0, 2.5, 0.0), 2) == 1


def test_a_run_is_reported_with_the_load_of_others_and_an_unfinished_one_is_not(tmp_path: Path) -> None:
    for name in ("pairwise", ".fifo"):
        run = tmp_path / "quick" / name
        run.mkdir(parents=True)
        with watched(run):
            pass
    assert all(0 <= part <= 1 for part in read(tmp_path))
    assert len(read(tmp_path)) == (1 if StudyMoment.now() else 0)
