"""`concord harness watch`: counts disagreements of a running overlay while it runs."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from broker.commands.options import ADDRESSES, check_filter
from harness.tables import Table, show

if TYPE_CHECKING:
    from broker.addresses import Address
    from harness.watch.verdict import LiveVerdict

DISAGREED: Final = 1

_FILE: Final = click.Path(exists=True, dir_okay=False)


@click.command(
    "watch",
    epilog="Example: concord harness watch --broker b2:7411 --broker b3:7411 --filter 'price > 0'",
)
@click.option(
    "--broker",
    "brokers",
    type=ADDRESSES,
    required=True,
    multiple=True,
    envvar="CONCORD_BROKER",
    help="Where to subscribe; repeat it, or put commas between several.",
)
@click.option(
    "--filter",
    "filters",
    required=True,
    multiple=True,
    help="What to subscribe to, at every broker; repeat it.",
)
@click.option(
    "--token", envvar="CONCORD_TOKEN", help="Proves who this client is; better given as CONCORD_TOKEN."
)
@click.option("--tls", is_flag=True, help="Connect with TLS, trusting the system's authorities.")
@click.option("--tls-ca", type=_FILE, help="Connect with TLS, trusting this authority (PEM).")
@click.option("--tls-cert", type=_FILE, help="Certificate that proves who this client is (PEM).")
@click.option("--tls-key", type=_FILE, help="Key of that certificate (PEM).")
@click.option(
    "--count", type=click.IntRange(min=1), help="End after so many deliveries, over all subscriptions."
)
@click.option("--every", default="0.5 seconds", show_default=True, help="How often Spark begins a batch.")
@click.option("--master", default="local[2]", show_default=True, help="Where Spark runs, as Spark writes it.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(  # noqa: PLR0913 - one parameter per option
    *,
    brokers: "Sequence[Sequence[Address]]",
    filters: Sequence[str],
    token: str | None,
    tls: bool,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    count: int | None,
    every: str,
    master: str,
    as_json: bool,
) -> None:
    """Subscribe to every filter at every broker, and count the pairs of events in different orders.

    Ends with Ctrl-C, and prints a summary. The exit status is 1 if there was a disagreement, 0 if there was
    none.
    """
    require_extras("analysis")
    places = tuple(dict.fromkeys(str(each) for given in brokers for each in given))
    texts = tuple(dict.fromkeys(filters))
    for each in texts:
        check_filter(each)
    if len(places) * len(texts) < 2:  # noqa: PLR2004 - a pair
        raise click.UsageError("one subscription agrees with itself: give another --broker or --filter")
    given = {"token": token, "tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key}
    access = {"tls": str(tls), **{name: each for name, each in given.items() if each is not None}}
    # Spark is loaded for watching, and not for --help.
    from harness.analysis.session import session  # noqa: PLC0415 - see above
    from harness.watch.watching import OverlayWatch  # noqa: PLC0415 - see above

    click.echo("starting Spark", err=True)
    with session(master) as spark, _interrupted() as stop:
        watch = OverlayWatch(spark, places, texts, access)
        with _shown(watch.verdict) as refresh:

            def is_over(is_subscribed: bool) -> bool:  # noqa: FBT001 - its one argument
                refresh(is_subscribed)
                return stop.is_set() or (count is not None and watch.verdict.delivered_count >= count)

            watch.run(is_over, every)
    print_summary(watch.verdict, as_json=as_json)
    sys.exit(DISAGREED if watch.verdict.disagreement_count else 0)


@contextmanager
def _interrupted() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C sets, instead of cancelling what Spark does."""
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _shown(verdict: "LiveVerdict") -> Iterator[Callable[[bool], object]]:
    """Give a function that writes the table anew on a terminal, or what is new on standard error."""
    if not sys.stdout.isatty():
        yield _WatchProgress(verdict)
        return
    from rich.live import Live  # noqa: PLC0415 - an extra, which only a terminal needs
    from rich.text import Text  # noqa: PLC0415 - likewise

    with Live(auto_refresh=False, transient=True) as live:
        yield lambda _: live.update(Text(_pairs(verdict).text()), refresh=True)


class _WatchProgress:
    """Prints a line when all is subscribed, and when deliveries have come since the last one."""

    def __init__(self, verdict: "LiveVerdict") -> None:
        self._verdict = verdict
        self._said = ""

    def __call__(self, is_subscribed: bool) -> None:  # noqa: FBT001 - its one argument
        verdict = self._verdict
        said = f"{verdict.delivered_count:,} deliveries, {verdict.disagreement_count:,} disagreements"
        if is_subscribed and said != self._said:
            self._said = said
            click.echo(said, err=True)


def _pairs(verdict: "LiveVerdict") -> Table:
    rows = [
        (each.one, each.other, f"{each.common_count:,}", f"{each.disagreement_count:,}")
        for each in verdict.pairs.values()
    ]
    return Table(("subscription", "other", "common events", "disagreements"), rows, words=2)


def print_summary(verdict: "LiveVerdict", *, as_json: bool) -> None:
    """Print what was found."""
    if as_json:
        click.echo(to_json(_content(verdict)))
        return
    show(_pairs(verdict))
    click.echo()
    rows = [
        (each.name, f"{each.delivered_count:,}", f"{each.gap_count:,}")
        for each in verdict.subscriptions.values()
    ]
    show(Table(("subscription", "delivered", "gaps"), rows))
    for pair in verdict.pairs.values():
        if pair.witness is not None:
            click.echo(f"\n{pair.one} and {pair.other}: {pair.witness.text()}")


def _content(verdict: "LiveVerdict") -> dict[str, object]:
    return {
        "disagreements": verdict.disagreement_count,
        "subscriptions": [
            {"name": each.name, "delivered": each.delivered_count, "gaps": each.gap_count}
            for each in verdict.subscriptions.values()
        ],
        "pairs": [
            {
                "one": each.one,
                "other": each.other,
                "common": each.common_count,
                "disagreements": each.disagreement_count,
                "witness": None if each.witness is None else each.witness.text(),
            }
            for each in verdict.pairs.values()
        ],
    }
