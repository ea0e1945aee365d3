"""The studies: scenarios under some lines, an ordering with its options each; each run is made repeatedly.

Laws.

1. All lines of a study run under the routing of its scenario.
2. Repeats are the outermost loop and lines the innermost, and each repeat begins with another line: a slow
   minute hits all lines, and a campaign that is stopped early has every line, with fewer repeats.
3. A run during which others took more than `OTHERS_MOST` of the processors is made again, `TRIES` times at
   most. What is disturbed then is kept, and named where it stands.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import attrs
import click

from harness.analysis.analyzing import judged
from harness.analysis.session import session
from harness.evaluation import campaign
from harness.evaluation.paper.quiet import QuietMeter, Quietness, write_others
from harness.report.page import write as write_report
from harness.runs.progress import Progress
from harness.scenarios import find
from harness.worker_processes import worker_processes

REPEATS: Final = 3

TRIES: Final = 4
"""A machine that is disturbed four times in a row is not quiet, and waiting for it has no end."""

_NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})


@attrs.frozen
class EvaluationLine:
    """An ordering with its options. `points` says how many points of a sweep it can take, the first ones."""

    name: str
    ordering: str
    options: Mapping[str, str] = _NO_OPTIONS
    points: int | None = None
    repeats: int | None = None


PAIRWISE: Final = EvaluationLine("pairwise", "pairwise")
FIFO: Final = EvaluationLine("fifo", "fifo")
SEQUENCER: Final = EvaluationLine("sequencer", "sequencer")
ASKING: Final = EvaluationLine("asking", "sequencer", {"form": "asking", "grants": "100"})
PROGRESSIVE: Final = EvaluationLine("progressive", "published", {"form": "progressive"})
FAST: Final = EvaluationLine("fast", "published", {"form": "fast"})
BASIC: Final = EvaluationLine("basic", "published", {"form": "basic"}, repeats=1)

BASELINES: Final = (PAIRWISE, FIFO, SEQUENCER)
ALL: Final = (*BASELINES, PROGRESSIVE, FAST)


def _first(line: EvaluationLine, points: int, repeats: int = 1) -> EvaluationLine:
    """Return a line that stops at a point: beyond it, it would run into the end of every wait."""
    return attrs.evolve(line, points=points, repeats=repeats)


@attrs.frozen
class PaperStudy:
    """One scenario under some lines."""

    name: str
    scenario: str
    lines: Sequence[EvaluationLine]
    repeats: int = REPEATS


STUDIES: Final = (
    PaperStudy("quick", "quick", ALL),
    PaperStudy("livelock", "livelock", (PAIRWISE, PROGRESSIVE, BASIC), repeats=1),
    PaperStudy("figure5", "figure5", ALL),
    PaperStudy("figure7", "figure7", (*BASELINES, FAST, _first(PROGRESSIVE, 1))),
    PaperStudy("figure7-stream", "figure7-stream", (PAIRWISE, FIFO, FAST)),
    PaperStudy("figure8", "figure8", (*BASELINES, FAST, _first(PROGRESSIVE, 2))),
    PaperStudy("knee", "knee", (*BASELINES, ASKING)),
    PaperStudy("market", "market", ALL),
    PaperStudy("crash-core", "crash-core", (PAIRWISE, FIFO)),
    PaperStudy("crash-lossy", "crash-lossy", (PAIRWISE, FAST)),
    PaperStudy("flaky-links", "flaky-links", (PAIRWISE, FIFO)),
    PaperStudy("slow-subscriber", "slow-subscriber", (PAIRWISE, FIFO)),
)

TIMEOUT_S: Final = 1_200
"""A run of the largest overlay takes a twentieth of this."""

TAIL_LETTERS: Final = 300

SESSIONS: Final = 2
MANY_RUNS: Final = 20
"""As many runs are worth a second Spark session, which takes seconds to start, and a gigabyte."""


class RunError(Exception):
    """A run failed; the text has the reason."""


@attrs.frozen
class PaperRun:
    """One run: a study at a point under a line, for the `number`th time. `point` is empty if there is one."""

    study: PaperStudy
    point: str
    line: EvaluationLine
    number: int

    @property
    def name(self) -> str:
        """Return the name in the lines of progress, and of complaints."""
        words = (self.study.name, self.point, self.line.name, f"repeat {self.number}")
        return ", ".join(word for word in words if word)

    def place(self, folder: Path) -> Path:
        """Return the folder of the run."""
        above = folder / self.study.name / self.point if self.point else folder / self.study.name
        return above / self.line.name / str(self.number)

    def command(self, out: Path) -> list[str]:
        """Return the command that makes the run."""
        words = [sys.executable, "-m", "broker", "harness", "run", self.study.scenario, "--quiet"]
        words += ["--ordering", self.line.ordering, "--out", str(out)]
        words += ["--point", self.point] if self.point else []
        if self.line.options:
            words += ["--set", f"ordering_options={json.dumps(dict(self.line.options))}"]
        return words


def runs_of(studies: Sequence[PaperStudy], repeats: int | None = None) -> Iterator[PaperRun]:
    """Every run of some studies, in the order in which they are made (law 2)."""
    points = {each.name: [point.name for point in find(each.scenario).points] for each in studies}
    counts = {each.name: each.repeats if repeats is None else repeats for each in studies}
    for number in range(1, max(counts.values(), default=0) + 1):
        for study in studies:
            for index, point in enumerate(points[study.name]):
                for line in _turned(study.lines, number - 1):
                    most = counts[study.name] if line.repeats is None else line.repeats
                    if number <= most and (line.points is None or index < line.points):
                        yield PaperRun(study, point, line, number)


def _turned(lines: Sequence[EvaluationLine], by: int) -> Sequence[EvaluationLine]:
    first = by % len(lines)
    return (*lines[first:], *lines[:first])


def perform(runs: Sequence[PaperRun], folder: Path, progress: Progress, until_s: float) -> list[str]:
    """Make the missing runs, and begin none after a time of the monotonic clock; return the failures."""
    by_name = {each.name: each for each in runs}
    places = {each.name: each.place(folder) for each in runs}

    def make(missing: Sequence[str]) -> Iterator[campaign.Done]:
        for name in missing:
            if time.monotonic() >= until_s:
                return
            yield _done(by_name[name], places[name])

    return campaign.perform(places, make, progress)


def _done(run: PaperRun, place: Path) -> campaign.Done:
    """Make one run, again and again while it is disturbed (law 3)."""
    begun_s = time.monotonic()
    try:
        with campaign.whole(place) as unfinished:
            _run_quietly(run, unfinished)
    except RunError as error:
        return campaign.Done(run.name, time.monotonic() - begun_s, str(error))
    return campaign.Done(run.name, time.monotonic() - begun_s)


def _run_quietly(run: PaperRun, folder: Path) -> None:
    for tries in range(1, TRIES + 1):
        shutil.rmtree(folder, ignore_errors=True)
        meter = QuietMeter.begin()
        _run(run.command(folder))
        quietness = Quietness(meter.others(), tries)
        write_others(folder, quietness)
        if not quietness.is_disturbed:
            return


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own command, with words of the table
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"not finished after {TIMEOUT_S} s") from error
    if done.returncode:
        raise RunError(" ".join(done.stderr.split())[-TAIL_LETTERS:] or f"exit status {done.returncode}")


def analyse(folder: Path, master: str) -> None:
    """Analyse every run that has no analysis: many of them in two Spark sessions, which share the processors.

    Two need three quarters of the time that one needs for as many small runs.
    """
    paths = list(_unanalysed(folder))
    missing = [(f"{number}/{len(paths)}", path) for number, path in enumerate(paths, 1)]
    if len(missing) < MANY_RUNS or not master.startswith("local["):
        _analyse(missing, folder, master)
        return
    with worker_processes(SESSIONS) as pool:
        parts = [missing[first::SESSIONS] for first in range(SESSIONS)]
        for done in [pool.submit(_analyse, part, folder, master) for part in parts]:
            done.result()


def _analyse(runs: Sequence[tuple[str, Path]], folder: Path, master: str) -> None:
    """Analyse some runs, each with its place among all, in one Spark session."""
    if not runs:
        return
    with session(master) as spark:
        for place, path in runs:
            click.echo(f"analysing {place}  {path.relative_to(folder)}")
            judged(spark, path)


def _unanalysed(folder: Path) -> Iterator[Path]:
    abouts = (about for study in STUDIES for about in sorted((folder / study.name).rglob("run.json")))
    for about in abouts:
        parts = about.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts) and not about.with_name("analysis.json").is_file():
            yield about.parent


def report(studies: Sequence[PaperStudy], folder: Path) -> None:
    """Write a report for each study that has a run."""
    for study in studies:
        place = folder / study.name
        if any(place.rglob("analysis.json")):
            click.echo(f"report: {write_report(place)}")
