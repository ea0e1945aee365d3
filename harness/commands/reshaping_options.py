"""What the commands have in common that change the shape of nine real brokers under load."""

import shlex
import sys
from typing import Final

import click

OURS: Final = (sys.executable, "-m", "broker")

rate_option = click.option(
    "--rate",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    help="Events of each client a second.",
)

program_option = click.option(
    "--program", default="", help="What starts a broker, in the place of `concord`."
)


def command_of(text: str) -> tuple[str, ...]:
    """Return the words of the command that starts brokers, or of our own."""
    return tuple(shlex.split(text)) or OURS
