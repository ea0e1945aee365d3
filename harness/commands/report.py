"""`concord harness report`: one page about every analysed run in a directory."""

from pathlib import Path

import click

from harness.report.page import write


@click.command("report", epilog="Example: concord harness report runs/quick")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
def command(*, directory: Path) -> None:
    """Write DIR/report/index.html about all analysed runs in DIR and below.

    It is one page that needs nothing else; the data of its figures is beside it, as CSV.
    """
    click.echo(str(write(directory)))
