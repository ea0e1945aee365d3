"""Runs every study that has not been run, analyses what has not been analysed, and writes each report.

Laws:

1. What is not whole has a hidden name (`whole`).
2. What fails is said and left out; the rest goes on.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from harness.analysis.analyzing import analyze
from harness.analysis.errors import UnknownVerdictError
from harness.analysis.promises import unknown
from harness.analysis.session import session
from harness.analysis.writing import write as write_analysis
from harness.evaluation.quiet import watched
from harness.evaluation.studies import Study
from harness.evaluation.whole import begin, finish
from harness.report.page import write as write_report

__all__ = ["analyse", "perform", "report"]

TIMEOUT_S: Final = 3_600
"""A sweep of the largest overlay takes a quarter of this."""

TAIL_LETTERS: Final = 300


def perform(studies: Sequence[Study], folder: Path) -> list[str]:
    """Run what is missing; return what failed, in a line each."""
    wanted = [(study, ordering) for study in studies for ordering in study.orderings]
    missing = [each for each in wanted if not _place(folder, *each).is_dir()]
    click.echo(f"{len(wanted) - len(missing)} of {len(wanted)} done before")
    failed = []
    for index, (study, ordering) in enumerate(missing):
        click.echo(f"{index + 1}/{len(missing)}  {study.name}, {ordering}", nl=False)
        begun_s = time.monotonic()
        complaint = _run(study, ordering, _place(folder, study, ordering))
        click.echo(f"  {time.monotonic() - begun_s:.0f} s {complaint}".rstrip())
        if complaint:
            failed.append(f"{study.name}, {ordering}: {complaint}")
    return failed


def _place(folder: Path, study: Study, ordering: str) -> Path:
    return folder / study.name / ordering


def _run(study: Study, ordering: str, place: Path) -> str:
    """One run, or one for each point of a sweep; return what went wrong, if anything did."""
    unfinished = begin(place)
    changes = [word for change in study.changes for word in ("--set", change)]
    options = ["--ordering", ordering, "--out", str(unfinished), "--quiet", *changes]
    command = [sys.executable, "-m", "broker", "harness", "run", study.scenario, *options]
    try:
        with watched(unfinished):
            done = subprocess.run(  # noqa: S603 - our own command, with words of the table
                command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
    except subprocess.TimeoutExpired:
        return f"not finished after {TIMEOUT_S} s"
    if done.returncode:
        return " ".join(done.stderr.split())[-TAIL_LETTERS:] or f"exit status {done.returncode}"
    finish(place)
    return ""


def analyse(folder: Path, master: str) -> None:
    """Analyse every run that has no analysis, in one Spark session."""
    missing = list(_unanalysed(folder))
    if not missing:
        return
    with session(master) as spark:
        for index, path in enumerate(missing):
            click.echo(f"analysing {index + 1}/{len(missing)}  {path.relative_to(folder)}")
            try:
                analysis = analyze(spark, path)
            except UnknownVerdictError as error:
                analysis = unknown(str(error))
            write_analysis(path, analysis)


def _unanalysed(folder: Path) -> Iterator[Path]:
    for about in sorted(folder.rglob("run.json")):
        parts = about.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts) and not about.with_name("analysis.json").is_file():
            yield about.parent


def report(studies: Sequence[Study], folder: Path) -> None:
    """Write a report for each study that has a run."""
    for study in studies:
        place = folder / study.name
        if any(place.rglob("analysis.json")):
            click.echo(f"report: {write_report(place)}")
