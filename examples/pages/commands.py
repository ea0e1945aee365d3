"""`concord demo`: an overlay, an application that needs order, and a page to look at it.

Everything that a demo starts belongs to one nursery, and is gone when the command is.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import click
import trio

from broker.commands.extras import require_extras
from broker.commands.signals import asking_to_end
from concord import ConcordError
from harness.processes import ProcessError

DEFAULT_PORT: Final = 8017
SWITCHED_OFF: Final = "fifo"
"""What a demo shows beside the ordering that was asked for: what it is like without one."""

Serve = Callable[[AsyncExitStack, trio.Nursery, tuple[str, ...], tuple[str, ...]], Awaitable[object]]


@click.group(epilog="Example: concord demo game")
def demo() -> None:
    """Show in a browser what order changes, by two programs to copy from."""


def _options(function: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--ordering", default="pairwise", show_default=True, help="Shown beside fifo."),
        click.option(
            "--port", default=DEFAULT_PORT, show_default=True, help="Of the page; 0 takes a free one."
        ),
        click.option(
            "--overlay",
            multiple=True,
            metavar="HOST:PORT",
            help="A broker that runs already; may be repeated. Then no overlay is started.",
        ),
    ):
        function = option(function)
    return function


@demo.command(epilog="Example: concord demo game --port 8017")
@_options
@click.option("--players", type=click.IntRange(4, 200), default=8, show_default=True)
@click.option("--bots/--no-bots", default=True, show_default=True, help="Play where no person does.")
@click.option("--pace", default=0.3, show_default=True, metavar="S", help="Seconds between a bot's steps.")
def game(  # noqa: PLR0913 - one parameter per option is how click calls
    *, ordering: str, port: int, overlay: tuple[str, ...], players: int, bots: bool, pace: float
) -> None:
    """Players, gems that exist once, and no server that decides who has them."""
    _present("game", port, ordering, overlay, players=players, has_bots=bots, pace_s=pace)


@demo.command(epilog="Example: concord demo ticker --csv day.csv")
@_options
@click.option("--csv", type=click.Path(exists=True, dir_okay=False), help="A recorded day to feed.")
@click.option("--day", default=60.0, show_default=True, metavar="S", help="Seconds that a day takes.")
def ticker(ordering: str, port: int, overlay: tuple[str, ...], csv: str | None, day: float) -> None:
    """Investors whose orders follow from what they are delivered, and auditors who check them."""
    _present("ticker", port, ordering, overlay, csv=csv, day_s=day)


def _present(page: str, port: int, ordering: str, overlay: tuple[str, ...], **options: object) -> None:
    require_extras("web")
    from examples.pages import running  # noqa: PLC0415 - needs the extra

    orderings = () if overlay else tuple(dict.fromkeys((ordering, SWITCHED_OFF)))
    perform = partial(running.perform, page, port, orderings, overlay, _announce, **options)
    try:
        trio.run(_attended, perform)
    except* (ConcordError, ProcessError) as group:
        raise click.ClickException(str(_first(group))) from None


def _announce(address: str) -> None:
    click.echo(f"open {address} in a browser; Ctrl-C ends it")


async def _attended(perform: Callable[[], Awaitable[None]]) -> None:
    """Run until a signal asks for the end."""
    with asking_to_end() as asked:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(perform)
            await asked()
            nursery.cancel_scope.cancel()


def _first(group: BaseExceptionGroup[Exception]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
