"""`python -m harness.evaluation`: run, analyse, report, and write the page."""

import json
import signal
from pathlib import Path
from typing import Final

import click

from harness.evaluation.campaign import chosen
from harness.evaluation.paper.document import document
from harness.evaluation.paper.studies import STUDIES, analyse, perform, report
from harness.results import stamped
from harness.runs.progress import progress_for

SCALING: Final = "scaling.json"
"""The output of `python -m harness.analysis.scaling --out`, if that was measured."""


@click.command("evaluation")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/evaluation"), show_default=True)
@click.option(
    "--page", type=click.Path(path_type=Path), default=Path("docs/results/evaluation.md"), show_default=True
)
@click.option("--only", help="Studies whose names begin so, with commas between.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(*, out: Path, page: Path, only: str | None, master: str, quiet: bool) -> None:
    """Run what has not been run yet, and write the page from everything there is."""
    studies = chosen(STUDIES, only)
    progress = progress_for(is_quiet=quiet)
    try:
        failed = perform(studies, out, progress)
    finally:
        progress.close()
    analyse(out, master)
    report(studies, out)
    scaling = out / SCALING
    rows = json.loads(scaling.read_text(encoding="utf-8")) if scaling.is_file() else []
    before = page.read_text(encoding="utf-8") if page.is_file() else ""
    page.write_text(stamped(before, document(out, rows)), encoding="utf-8")
    click.echo(f"page: {page}")
    if failed:
        raise click.ClickException("; ".join(failed))


if __name__ == "__main__":
    # A run in the making ends with this program, whichever signal ends it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command()
