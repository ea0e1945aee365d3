"""`python -m harness.evaluation.routing`: measure, analyse, report, and write the page."""

from pathlib import Path

import click

from harness.analysis import routing
from harness.analysis.points import points
from harness.analysis.session import session
from harness.evaluation.campaign import chosen
from harness.evaluation.routing.document import document, in_place
from harness.evaluation.routing.measuring import perform
from harness.evaluation.routing.studies import STUDIES, quick
from harness.report.page import write_routing as write_report
from harness.results import stamped
from harness.runs.progress import progress_for


@click.command("evaluation-routing")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Default: runs/evaluation-routing, -quick with --quick."
)
@click.option(
    "--page", type=click.Path(path_type=Path), help="Default: docs/results/routing.md; none with --quick."
)
@click.option("--only", help="Studies whose names begin so, with commas between.")
@click.option("--quick", "is_quick", is_flag=True, help="Few consumers: a minute or so.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(  # noqa: PLR0913 - one parameter for each option
    *,
    out: Path | None,
    page: Path | None,
    only: str | None,
    is_quick: bool,
    jobs: int,
    seed: int,
    master: str,
    quiet: bool,
) -> None:
    """Measure the missing studies, and write the page from all studies."""
    folder = out or Path("runs/evaluation-routing-quick" if is_quick else "runs/evaluation-routing")
    progress = progress_for(is_quiet=quiet)
    try:
        failed = perform(chosen(quick(STUDIES) if is_quick else STUDIES, only), folder, jobs, seed, progress)
        progress.event("analysing")
        with session(master) as spark:
            analysis = routing.analyze(spark, folder)
    finally:
        progress.close()
    routing.write(folder, analysis)
    found = points(analysis)
    click.echo(f"report: {write_report(folder, found)}")
    target = page or (None if is_quick else Path("docs/results/routing.md"))
    if target is None:
        click.echo(document(found))
    else:
        before = target.read_text(encoding="utf-8")
        target.write_text(stamped(before, in_place(before, document(found))), encoding="utf-8")
        click.echo(f"page: {target}")
    if failed:
        raise click.ClickException("; ".join(failed))


if __name__ == "__main__":
    command()
