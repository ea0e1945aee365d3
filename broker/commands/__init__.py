"""The one command, `concord`: a group whose subcommands are loaded only when they are asked for.

Laws:

1. Adding a command is adding a file and one line to `COMMANDS`; other packages and distributions offer theirs
   as entry points in the group `concord.commands`. Nothing is imported for a command that does not run, so
   that `concord broker` starts as fast as a broker alone would.
2. Whatever goes wrong for a reason a user can act on is one line on standard error, and exit status 2. A
   traceback means a defect of ours.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final

import click

from broker.commands.lazy import lazy_group as _lazy_group
from broker.form import FORM as _FORM

__all__ = ["COMMANDS", "GROUP", "concord", "main"]

COMMANDS: Final = {
    "advertisements": "broker.commands.advertisements:command",
    "broker": "broker.commands.broker:command",
    "detect": "broker.commands.detect:command",
    "drain": "broker.commands.drain:command",
    "explain": "broker.commands.explain:command",
    "history": "broker.commands.history:command",
    "insert": "broker.commands.insert:command",
    "move": "broker.commands.move:command",
    "publish": "broker.commands.publish:command",
    "subscribe": "broker.commands.subscribe:command",
}
"""Where each subcommand of this package lives, as `module:attribute`; the attribute is a `click.Command`."""

GROUP: Final = "concord.commands"
"""The entry points that other packages offer subcommands by, in the same form."""

LINE_MAX: Final = 900
"""Characters of an error line: ten lines of a terminal, with what stands around it."""

EXIT_ERROR: Final = 2
EXIT_INTERRUPTED: Final = 130
"""The exit status for a program that SIGINT ended: 128 + 2."""


@click.group(
    name="concord",
    cls=_lazy_group(COMMANDS, GROUP),
    epilog="Example: concord broker --name B1 --listen 127.0.0.1:7411",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(
    package_name="concord-pubsub", prog_name="concord", message=f"%(prog)s, version %(version)s ({_FORM})"
)
def concord() -> None:
    """Content-based publish/subscribe in which subscribers agree on order."""


def _explanation(error: BaseException) -> str | None:
    """The line a user gets to read, or None if the error is nothing a user can act on."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    from broker.errors import ConcordError  # noqa: PLC0415 - only a failing command pays for this import

    if isinstance(error, ConcordError | OSError):
        return str(error)
    return None


def _one_line(text: str) -> str:
    """Make a text fit for a terminal; what is too long keeps its beginning and its end."""
    words = " ".join(text.split())
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in words)
    return shown if len(shown) <= LINE_MAX else f"{shown[: LINE_MAX // 2]} ... {shown[-LINE_MAX // 3 :]}"


def _status_of(error: BaseException) -> int | None:
    """Print why the command failed and return its exit status; None for a defect, to be seen whole."""
    from broker.exception_groups import leaves  # noqa: PLC0415 - only a failing command pays for this import

    errors = list(leaves(error))
    if all(isinstance(each, KeyboardInterrupt | click.Abort) for each in errors):
        return EXIT_INTERRUPTED
    if all(isinstance(each, BrokenPipeError) for each in errors):
        # The reader of our output left, as `head` does. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    explanations = [_explanation(each) for each in errors if not isinstance(each, KeyboardInterrupt)]
    if any(explanation is None for explanation in explanations):
        return None
    click.echo(f"concord: {_one_line(explanations[0] or type(errors[0]).__name__)}", err=True)
    return EXIT_ERROR


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `concord` with the given arguments (default: those of the process) and leave the process."""
    try:
        status = concord.main(
            args=None if arguments is None else list(arguments), prog_name="concord", standalone_mode=False
        )
    except BaseException as error:
        known_status = _status_of(error)
        if known_status is None:
            raise
        sys.exit(known_status)
    # A command that called `ctx.exit(n)` gives the status n; every other one gives what it returned.
    sys.exit(status if isinstance(status, int) else 0)
