"""`python -m harness.evaluation`: run, analyse, report, and write the page."""

import json
import signal
import time
from pathlib import Path
from typing import Final

import click

from harness.evaluation.campaign import chosen
from harness.evaluation.paper import spread
from harness.evaluation.paper.document import document, load
from harness.evaluation.paper.studies import REPEATS, STUDIES, analyse, perform, report, runs_of
from harness.results import stamped
from harness.runs.progress import progress_for

MINUTES: Final = 100.0
"""With the analysis of all runs that is less than two hours."""

SCALING: Final = "scaling.json"
"""The output of `python -m harness.analysis.scaling --out`, if that was measured."""


@click.command("evaluation")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/evaluation"), show_default=True)
@click.option(
    "--page", type=click.Path(path_type=Path), default=Path("docs/results/evaluation.md"), show_default=True
)
@click.option("--only", help="Studies whose names begin so, with commas between.")
@click.option("--repeats", type=click.IntRange(min=1), help=f"Of every run.  [default: {REPEATS}]")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0),
    default=MINUTES,
    show_default=True,
    help="Begin no run after so long; analyse and write down what is there.",
)
@click.option("--list", "is_list", is_flag=True, help="List the runs, and make none.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(  # noqa: PLR0913 - one parameter for each option
    *,
    out: Path,
    page: Path,
    only: str | None,
    repeats: int | None,
    minutes: float,
    is_list: bool,
    master: str,
    quiet: bool,
) -> None:
    """Make the missing runs, and write the page from all runs."""
    studies = chosen(STUDIES, only)
    runs = list(runs_of(studies, repeats))
    if is_list:
        click.echo(
            "\n".join(f"{'made' if each.place(out).is_dir() else 'missing'}  {each.name}" for each in runs)
        )
        return
    until_s = time.monotonic() + 60 * minutes
    progress = progress_for(is_quiet=quiet)
    try:
        failed = perform(runs, out, progress, until_s)
        if only is None:
            failed += spread.perform(out, repeats or REPEATS, progress, until_s)
    finally:
        progress.close()
    analyse(out, master)
    report(studies, out)
    scaling = out / SCALING
    rows = json.loads(scaling.read_text(encoding="utf-8")) if scaling.is_file() else []
    before = page.read_text(encoding="utf-8") if page.is_file() else ""
    page.write_text(stamped(before, document(out, rows), load=load(out)), encoding="utf-8")
    click.echo(f"page: {page}")
    if failed:
        raise click.ClickException("; ".join(failed))


if __name__ == "__main__":
    # A run in the making ends with this program, whichever signal ends it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command()
