"""`concord move`: gives a broker of the overlay another uplink."""

import sys
from collections.abc import Awaitable, Callable
from typing import Final, Literal, NoReturn

import click
import trio

from broker.client import Client
from broker.commands.connecting import Connecting, connecting_options, notice
from broker.errors import ConcordError

TIMEOUT_S: Final = 60.0

timeout_option: Final = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    default=TIMEOUT_S,
    show_default=True,
    help="How many seconds to wait for the end; what has begun goes on without us.",
)


class MoveError(ConcordError):
    """The move is not over in time."""


def conclude(
    connecting: Connecting,
    timeout_s: float,
    ask: Callable[[Client], Awaitable[dict[str, object]]],
    late: str,
    wanted: str,
) -> NoReturn:
    """Ask, print the outcome, and exit with 0 if it is the wanted one; `late` says that there is none."""

    async def run() -> dict[str, object]:
        async with connecting.open() as client:
            with trio.move_on_after(timeout_s):
                return await ask(client)
        raise MoveError(late)

    outcome = trio.run(run)
    click.echo(outcome["text"])
    sys.exit(0 if outcome["state"] == wanted else 1)


@click.command(name="move", epilog="Example: concord move B3 --uplink B2 --broker 127.0.0.1:7411")
@connecting_options
@click.option("--uplink", required=True, metavar="NAME", help="The broker that is to be its uplink.")
@click.option(
    "--method",
    type=click.Choice(["path", "reattach"]),
    default="path",
    show_default=True,
    help="Go step by step while events flow, and lose nothing; or detach, and attach again.",
)
@timeout_option
@click.argument("moved", metavar="BROKER")
def command(
    connecting: Connecting, uplink: str, method: Literal["path", "reattach"], timeout_s: float, moved: str
) -> None:
    """Give BROKER, with everything below it, another uplink, from anywhere in the overlay.

    The new uplink may be any broker that is not below BROKER. By "path" nobody misses anything; by "reattach"
    subscribers get a gap for what they may have missed.

    The settings of BROKER stay as they are: when it starts again, it dials its own --uplink. The exit status
    is 0 if it moved, and 1 if it did not.
    """
    late = f"{moved} has not said within {timeout_s:g} s how its move ended"
    conclude(connecting, timeout_s, lambda client: client.move(moved, uplink, method, notice), late, "moved")
