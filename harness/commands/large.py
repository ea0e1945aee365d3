"""`concord harness large`: an overlay of thousands of brokers, simulated, and what it costs."""

import time
from pathlib import Path

import attrs
import click

from broker.commands.lines import to_json
from broker.commands.options import read_routing
from broker.routing import DEFAULT
from harness.commands.schedules import check_ordering
from harness.large.shape import LargeShape
from harness.large.survey import survey
from harness.tables import show

_SMALLEST = LargeShape()


@click.command("large", epilog="Example: concord harness large --brokers 100 --subscriptions 5000")
@click.option("--brokers", type=click.IntRange(2), default=_SMALLEST.brokers, show_default=True)
@click.option("--fanout", type=click.IntRange(1), default=_SMALLEST.fanout, show_default=True)
@click.option("--subscriptions", type=click.IntRange(1), default=_SMALLEST.subscriptions, show_default=True)
@click.option("--publishers", type=click.IntRange(1), default=_SMALLEST.publishers, show_default=True)
@click.option("--events", type=click.IntRange(0), default=_SMALLEST.events, show_default=True)
@click.option("--changes", type=click.IntRange(0), default=_SMALLEST.changes, show_default=True)
@click.option("--ordering", default="pairwise", show_default=True, help="The ordering plugin.")
@click.option("--routing", metavar="NAME[+NAME]", callback=read_routing, help=f"Default: {DEFAULT}.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes that share it.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the results there, as JSON."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def command(*, jobs: int, out: Path | None, as_json: bool, routing: str | None, **sizes: object) -> None:
    """Simulate a large overlay with the product's cores: tables, changes, hops and waiting.

    Time is in ticks, the delay of a link; the results but memory and processor time follow from the options.
    """
    shape = LargeShape(routing=routing or str(DEFAULT), **sizes)  # type: ignore[arg-type]  # click has checked them
    check_ordering(shape.ordering, {})
    begun_s = time.monotonic()
    found = survey(
        shape, jobs, lambda text: click.echo(f"{time.monotonic() - begun_s:6.0f} s  {text}", err=True)
    )
    if out is not None:
        out.write_text(to_json(attrs.asdict(found)) + "\n", encoding="utf-8")
    if as_json:
        click.echo(to_json(attrs.asdict(found)))
        return
    show(found.table())
    click.echo("")
    for line in found.lines():
        click.echo(line)
