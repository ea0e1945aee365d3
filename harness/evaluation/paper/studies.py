"""The studies: scenarios under some orderings; each run is analysed, and each study has a report.

With each run stands how much of the machine other programs took meanwhile: what its figures can be trusted
for. Linux counts what all processors did, and what the children of a process did that have ended. The
difference is the others'. Elsewhere nothing is known, and nothing is said.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs
import click

from harness.analysis.analyzing import judged
from harness.analysis.session import session
from harness.evaluation import campaign
from harness.report.page import write as write_report
from harness.runs.progress import Progress

ALL: Final = ("pairwise", "fifo", "sequencer", "published")

FILE: Final = "others.txt"
_COUNTS: Final = Path("/proc/stat")
_IDLE: Final = (3, 4)
"""Which of the first eight counts are no work: doing nothing, and waiting for a disk."""

_STATES: Final = 8


@attrs.frozen
class PaperStudy:
    """One scenario under some orderings. `changes` are keys of it that differ, as `--set` takes them."""

    name: str
    scenario: str
    orderings: Sequence[str]
    changes: Sequence[str] = ()


STUDIES: Final = (
    PaperStudy("quick", "quick", ALL),
    PaperStudy("figure5", "figure5", ("pairwise", "published")),
    # The paper's two forms of one plugin; pairwise is the same in both.
    PaperStudy("figure6", "figure6", ("published",)),
    PaperStudy("figure7", "figure7", ("pairwise", "fifo", "sequencer")),
    PaperStudy("figure8", "figure8", ("pairwise", "fifo")),
    PaperStudy("knee", "knee", ("pairwise", "fifo", "sequencer")),
    PaperStudy("datacentre-16x5", "datacentre-16x5", ("pairwise", "fifo", "sequencer")),
    PaperStudy("market", "market", ALL),
    PaperStudy("crash-core", "crash-core", ("pairwise", "fifo")),
    PaperStudy("flaky-links", "flaky-links", ("pairwise", "fifo")),
    PaperStudy("slow-subscriber", "slow-subscriber", ("pairwise", "fifo")),
)
"""In the order in which they are run: short ones first."""

TIMEOUT_S: Final = 3_600
"""A sweep of the largest overlay takes a quarter of this."""

TAIL_LETTERS: Final = 300


class RunError(Exception):
    """A run failed; the text has the reason."""


def perform(studies: Sequence[PaperStudy], folder: Path, progress: Progress) -> list[str]:
    """Run the missing studies; return the failures, in a line each."""
    runs = {f"{study.name}, {each}": (study, each) for study in studies for each in study.orderings}
    places = {name: folder / study.name / ordering for name, (study, ordering) in runs.items()}

    def make(missing: Sequence[str]) -> Iterator[campaign.Done]:
        for name in missing:
            yield _done(name, *runs[name], places[name])

    return campaign.perform(places, make, progress)


def _done(name: str, study: PaperStudy, ordering: str, place: Path) -> campaign.Done:
    """Make one run, or one for each point of a sweep."""
    begun_s = time.monotonic()
    try:
        with campaign.whole(place) as unfinished, watched(unfinished):
            _run(study, ordering, unfinished)
    except RunError as error:
        return campaign.Done(name, time.monotonic() - begun_s, str(error))
    return campaign.Done(name, time.monotonic() - begun_s)


def _run(study: PaperStudy, ordering: str, folder: Path) -> None:
    changes = [word for change in study.changes for word in ("--set", change)]
    options = ["--ordering", ordering, "--out", str(folder), "--quiet", *changes]
    command = [sys.executable, "-m", "broker", "harness", "run", study.scenario, *options]
    try:
        done = subprocess.run(  # noqa: S603 - our own command, with words of the table
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"not finished after {TIMEOUT_S} s") from error
    if done.returncode:
        raise RunError(" ".join(done.stderr.split())[-TAIL_LETTERS:] or f"exit status {done.returncode}")


def analyse(folder: Path, master: str) -> None:
    """Analyse every run that has no analysis, in one Spark session."""
    missing = list(_unanalysed(folder))
    if not missing:
        return
    with session(master) as spark:
        for index, path in enumerate(missing):
            click.echo(f"analysing {index + 1}/{len(missing)}  {path.relative_to(folder)}")
            judged(spark, path)


def _unanalysed(folder: Path) -> Iterator[Path]:
    for about in sorted(folder.rglob("run.json")):
        parts = about.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts) and not about.with_name("analysis.json").is_file():
            yield about.parent


def report(studies: Sequence[PaperStudy], folder: Path) -> None:
    """Write a report for each study that has a run."""
    for study in studies:
        place = folder / study.name
        if any(place.rglob("analysis.json")):
            click.echo(f"report: {write_report(place)}")


@attrs.frozen
class StudyMoment:
    """Seconds so far: by the clock, of all processors at work, of our own programs at work."""

    at_s: float
    busy_s: float
    own_s: float

    @classmethod
    def now(cls) -> "StudyMoment | None":
        """Return the present counts; nothing where the system does not count."""
        try:
            counts = _COUNTS.read_text(encoding="ascii").split()[1 : _STATES + 1]
        except OSError:
            return None
        busy = sum(int(count) for place, count in enumerate(counts) if place not in _IDLE)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), busy / os.sysconf("SC_CLK_TCK"), ended.ru_utime + ended.ru_stime)


def others(before: StudyMoment, after: StudyMoment, processors: int) -> float:
    """The part of all processors that others took between two moments."""
    there_was_s = (after.at_s - before.at_s) * processors
    taken_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
    return min(1.0, max(0.0, taken_s / there_was_s))


@contextmanager
def watched(run: Path) -> Iterator[None]:
    """While a run is made in this folder, watch the others, and write down what they took."""
    before = StudyMoment.now()
    yield
    after = StudyMoment.now()
    if before is not None and after is not None and run.is_dir():
        part = others(before, after, os.cpu_count() or 1)
        (run / FILE).write_text(f"{part:.4f}\n", encoding="utf-8")


def read(folder: Path) -> list[float]:
    """Return the load of other programs in every complete run of a folder's studies."""
    found = sorted(folder.glob(f"*/[!.]*/{FILE}"))
    return [float(path.read_text(encoding="utf-8")) for path in found]
