"""`concord harness peers`: Concord and its peers, one workload, one accounting, one verdict."""

from pathlib import Path

import attrs
import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from harness import outcomes
from harness.peers.adapters import PEERS
from harness.peers.workload import PINS, SHAPES, WorkloadShape, WorkloadTiming
from harness.runs.directory import prepare
from harness.tables import show

_OTHERS = ",".join(name for name in PEERS if name != "concord")


def _peers(ctx: click.Context, param: click.Parameter, given: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    for name in names:
        if name not in PEERS:
            raise click.BadParameter(f"{name!r} is no peer; there are {', '.join(PEERS)}", ctx, param)
    return tuple(dict.fromkeys(("concord", *names)))


def _shapes(ctx: click.Context, param: click.Parameter, given: str) -> list[WorkloadShape]:
    found = [shape for shape in SHAPES if given in shape.name]
    if not found:
        known = "; ".join(shape.name for shape in SHAPES)
        raise click.BadParameter(f"no shape has {given!r} in its name; there are: {known}", ctx, param)
    return found


@click.command("peers", epilog="Example: concord harness peers --peers nats,zenoh --out runs/peers --quick")
@click.option(
    "--peers",
    default=_OTHERS,
    show_default=True,
    callback=_peers,
    metavar="NAMES",
    help="What Concord is compared with, with commas between; `relay` is the floor.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Where to write.")
@click.option("--replace", is_flag=True, help="Overwrite what an earlier run left in DIR.")
@click.option(
    "--only",
    "shapes",
    default="",
    callback=_shapes,
    metavar="TEXT",
    help="Only shapes with this in their names.",
)
@click.option("--quick", is_flag=True, help="One short run of each.")
@click.option("--repeat", type=click.IntRange(min=1), help="Runs to take the medians of.  [default: 3]")
@click.option(
    "--pin",
    type=click.Choice(PINS),
    default="latency",
    show_default=True,
    help="When servers are kept on one half of the cores and clients on the other.",
)
@click.option(
    "--judge",
    "rounds",
    type=click.IntRange(min=0),
    metavar="N",
    help="Judge the first N runs of each; all, unless something else is asked for.",
)
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs, as Spark writes it.")
@click.option("--page", type=click.Path(path_type=Path), metavar="FILE", help="Renew its results.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def command(  # noqa: PLR0913 - one parameter per option
    *,
    peers: tuple[str, ...],
    out: Path,
    replace: bool,
    shapes: list[WorkloadShape],
    quick: bool,
    repeat: int | None,
    pin: str,
    rounds: int | None,
    master: str,
    page: Path | None,
    as_json: bool,
) -> None:
    """Run the same workload through Concord and its peers, and judge the order of each.

    Servers are started on free ports of this machine, and ended. A peer that is not installed is named and
    left out. DIR gets the datasets of every run, peers.json, and report/index.html.
    """
    require_extras("analysis", "harness")
    from harness.peers import report  # noqa: PLC0415 - only who has results needs it
    from harness.peers.campaign import gathered, judge, measure_all  # noqa: PLC0415 - likewise

    prepare(out, replace=replace)
    timing = WorkloadTiming.of(quick=quick, repeat=repeat, pin=pin)
    absent = {name: missing for name in peers if (missing := PEERS[name].missing())}
    for name, missing in absent.items():
        _say(f"{name} is left out: {missing}")
    adapters = [PEERS[name] for name in peers if name not in absent]
    about = report.about(adapters, absent, timing)
    measured, failed = outcomes.run(measure_all, adapters, shapes, timing, out, _say)
    about = attrs.evolve(about, failed=failed, loads=[each.load for each in measured])
    results = gathered(measured)
    written = report.write(out, about, results)  # What was measured is not lost if judging is cut short.
    if rounds is None or rounds > 0:
        results = judge(measured, timing.repeat if rounds is None else rounds, master, _say)
        written = report.write(out, about, results)
    if page is not None:
        report.renew(page, about, results)
    if as_json:
        click.echo(to_json(report.content(about, results)))
        return
    show(report.shown(results))
    click.echo(f"\nreport: {written}")


def _say(text: str) -> None:
    click.echo(text, err=True)
