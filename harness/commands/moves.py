"""`concord harness moves`: nine real brokers move at random under load, beside a quiet run."""

import sys

import click
import trio

from harness.commands.reshaping_options import command_of, program_option, rate_option
from harness.reshaping.load import is_kept
from harness.reshaping.moving import run
from harness.tables import Table, show


@click.command("moves", epilog="Example: concord harness moves --seconds 600 --every 1")
@click.option("--seconds", type=click.FloatRange(1), default=20.0, show_default=True, help="Of each run.")
@click.option("--every", "every_s", type=click.FloatRange(0.05), default=1.0, show_default=True)
@rate_option
@click.option("--seed", type=int, default=0, show_default=True)
@program_option
def command(seconds: float, every_s: float, rate: float, seed: int, program: str) -> None:
    """Let a broker of nine move every so often, from anywhere to anywhere, while events flow.

    Prints how late events were on their way down from the root and up to it, without moves and with them. The
    exit status is 1 if an event was lost, repeated or out of order, or a subscription got a gap.
    """
    words = command_of(program)
    quiet = trio.run(run, words, seconds, None, rate, seed)
    moving = trio.run(run, words, seconds, every_s, rate, seed)
    rows = [(name, f"{quiet[name]:g}", f"{moving[name]:g}") for name in moving]
    show(Table(("", "quiet", "moving"), rows))
    sys.exit(0 if is_kept(quiet) and is_kept(moving) else 1)
