"""`python -m harness.evaluation`: run, analyse, report, and write the page."""

import json
import signal
from pathlib import Path
from typing import Final

import click

from harness.evaluation.campaign import analyse, perform, report
from harness.evaluation.document import document
from harness.evaluation.studies import STUDIES

__all__ = ["command"]

SCALING: Final = "scaling.json"
"""What `python -m harness.analysis.scaling --out` wrote, if somebody measured that."""


@click.command("evaluation")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/evaluation"), show_default=True)
@click.option(
    "--page", type=click.Path(path_type=Path), default=Path("docs/evaluation.md"), show_default=True
)
@click.option("--only", help="Names of studies, with commas between.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
def command(*, out: Path, page: Path, only: str | None, master: str) -> None:
    """Run what has not been run yet, and write the page from everything there is."""
    names = [each.name for each in STUDIES] if only is None else only.split(",")
    unknown = [name for name in names if name not in {each.name for each in STUDIES}]
    if unknown:
        known = ", ".join(each.name for each in STUDIES)
        raise click.BadParameter(f"{unknown[0]} is no study; there are {known}", param_hint="--only")
    chosen = [each for each in STUDIES if each.name in names]
    failed = perform(chosen, out)
    analyse(out, master)
    report(chosen, out)
    scaling = out / SCALING
    rows = json.loads(scaling.read_text(encoding="utf-8")) if scaling.is_file() else []
    page.write_text(document(out, rows), encoding="utf-8")
    click.echo(f"page: {page}")
    if failed:
        raise click.ClickException("; ".join(failed))


if __name__ == "__main__":
    # A run in the making ends with this program, whichever way it is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command()
