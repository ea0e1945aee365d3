"""`concord advertisements`: what publishers have advertised, and how that changes."""

from collections.abc import Callable

import attrs
import click

from broker.client import AdvertisementChange
from broker.commands.connecting import Connecting, connecting_options, notice
from broker.commands.lines import to_json
from broker.commands.options import check_filter, one_word
from broker.commands.signals import run_until_interrupted


@click.command(
    name="advertisements",
    epilog="Example: concord advertisements --broker 127.0.0.1:7411 \"kind == 'trade'\" --follow",
)
@connecting_options
@click.option("--follow", is_flag=True, help="Go on, and print what is added and removed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.argument("words", metavar="[FILTER]", nargs=-1)
def command(connecting: Connecting, words: tuple[str, ...], *, follow: bool, as_json: bool) -> None:
    """Show which publishers, at any broker, have advertised something that overlaps FILTER.

    A line is the publisher's id and its filter. Without FILTER all are shown that this user may subscribe to.
    """
    filter_text = one_word(words, "FILTER") or "True"
    check_filter(filter_text)
    written = _json if as_json else _followed if follow else _plain

    async def run() -> None:
        async with connecting.open() as client, client.advertisements(filter_text) as watch:
            async for change in watch:
                _print(change, written)
                if change.kind == "complete" and not follow:
                    return

    run_until_interrupted(run)


def _print(change: AdvertisementChange, written: Callable[[AdvertisementChange], str]) -> None:
    if change.kind != "complete" or written is _json:
        click.echo(written(change))
    elif written is _followed:
        notice("this is all that stands now; changes follow")


def _json(change: AdvertisementChange) -> str:
    return to_json(attrs.asdict(change))


def _plain(change: AdvertisementChange) -> str:
    return f"{change.publisher}  {change.filter}"


def _followed(change: AdvertisementChange) -> str:
    return f"{'+' if change.kind == 'added' else '-'} {_plain(change)}"
