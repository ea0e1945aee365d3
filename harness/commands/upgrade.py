"""`concord harness upgrade`: rolls nine real brokers from one build to another under load."""

import sys

import click
import trio

from harness.commands.reshaping_options import command_of, rate_option
from harness.reshaping.upgrading import upgrade


@click.command(
    "upgrade", epilog="Example: concord harness upgrade --from old/bin/concord --to new/bin/concord"
)
@click.option(
    "--from", "old", default="", help="What starts a broker of the old build; `concord` if left out."
)
@click.option("--to", "new", default="", help="The same for the new build.")
@rate_option
def command(old: str, new: str, rate: float) -> None:
    """Replace nine brokers one after the other, by moves and drains, while events flow.

    The clients of a broker that ends go to another one, behind a gap. The exit status is 1 if an event was
    repeated or out of order, or is missing where there was no gap.
    """
    figures = trio.run(upgrade, command_of(old), command_of(new), rate, click.echo)
    for name, value in figures.items():
        click.echo(f"{name} {value:g}")
    sys.exit(1 if figures["lost"] or figures["repeated"] or figures["disordered"] else 0)
