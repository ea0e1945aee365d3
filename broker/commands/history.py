"""`concord history`: keeps what matches a filter in Parquet files, and answers replays from them."""

from functools import partial
from pathlib import Path

import click

from broker.commands.connecting import Connecting, connecting_options, notice
from broker.commands.extras import require_extras
from broker.commands.options import SIZE, SPAN, check_filter, one_word
from broker.commands.signals import run_until_interrupted
from broker.filters import parse
from broker.node.access import Access
from broker.server.settings import Tls
from broker.server.users import load_access

DURABLE = "history"
"""The durable subscription of a history; its broker knows it by the client's name as well."""


@click.command(
    name="history",
    epilog="Example: concord history --broker 127.0.0.1:7411 \"kind == 'trade'\" --dir trades --keep 30d",
)
@connecting_options
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where the files are; made if it is not there.",
)
@click.option("--keep", "keep_s", type=SPAN, default="30d", show_default=True, help="How long events stay.")
@click.option(
    "--flush",
    "flush_s",
    type=SPAN,
    default="2s",
    show_default=True,
    help="How long events are gathered before they are written and acknowledged.",
)
@click.option(
    "--bound",
    "bound_bytes",
    type=SIZE,
    default="128MiB",
    show_default=True,
    help="How much waits at the broker while this program is away or the disk is full.",
)
@click.option(
    "--auth",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The brokers' file of users: each gets what it may subscribe to. [default: all for everybody]",
)
@click.argument("words", metavar="FILTER", nargs=-1)
def command(  # noqa: PLR0913 - one per option
    *,
    connecting: Connecting,
    words: tuple[str, ...],
    folder: Path,
    keep_s: float,
    flush_s: float,
    bound_bytes: float,
    auth: Path | None,
) -> None:
    """Keep what matches FILTER as Parquet files below --dir, and replay it to subscribers that ask.

    A subscription with a replay of more than an hour gets what the history has first, then what brokers have,
    then what is live. Events are acknowledged when they are on disk: nothing is lost or stored twice when the
    program is killed. One program at a time works on a folder.
    """
    require_extras("history")
    from broker.history.component import HistoryComponent  # noqa: PLC0415 - it loads PyArrow
    from broker.history.store import HistoryStore  # noqa: PLC0415 - as above

    filter_text = one_word(words, "FILTER")
    if filter_text is None:
        raise click.UsageError("give a FILTER: what is kept")
    check_filter(filter_text)
    access = load_access(auth, Tls()) if auth is not None else Access()
    history = HistoryComponent(
        HistoryStore.open(folder), parse(filter_text), keep_s, flush_s, int(bound_bytes), access, notice
    )

    async def run() -> None:
        async with connecting.open() as client:
            await history.run(
                client, DURABLE, partial(notice, f"{history.store.name} keeps {filter_text} in {folder}")
            )

    run_until_interrupted(run)
