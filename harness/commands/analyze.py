"""`concord harness analyze`: judge a run's datasets, as `analysis.json` and a short table.

`concord harness report` writes one page about every analysed run in a directory.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from harness.analysis.promises import PROMISES, status
from harness.report.page import write
from harness.tables import NONE, Table, show


class _AnalysisProgress:
    """Prints on standard error the present step, and when that began."""

    def __init__(self) -> None:
        self._begun_s = time.monotonic()

    def __call__(self, step: str) -> None:
        click.echo(f"{time.monotonic() - self._begun_s:6.1f} s  {step}", err=True)


class _Promises(click.ParamType[tuple[str, ...]]):
    """One promise, or several with commas between."""

    name = "PROMISE[,PROMISE]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in str(value).split(","))
        for name in names:
            if name not in PROMISES:
                self.fail(f"{name!r} is no promise; there are {', '.join(PROMISES)}", param, ctx)
        return names


@click.command("analyze", epilog="Example: concord harness analyze runs/quick/pairwise --require pairwise")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs, as Spark writes it.")
@click.option(
    "--require",
    type=_Promises(),
    default=(),
    help=f"End with status 1 if this was broken, 2 if it is unknown: {', '.join(PROMISES)}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print analysis.json instead of a table.")
@click.option("--quiet", is_flag=True, help="Do not say which step it is at.")
def command(*, directory: Path, master: str, require: tuple[str, ...], as_json: bool, quiet: bool) -> None:
    """Judge the run in DIR and write DIR/analysis.json and DIR/tables.

    All pairs of subscribers are compared. The exit status is 0 if there is an answer, 1 if what --require
    names was broken, and 2 if the datasets allow no verdict; then the reason is printed.
    """
    require_extras("analysis")
    # Spark is loaded for an analysis, and not for --help.
    from harness.analysis.analyzing import judged  # noqa: PLC0415 - see above
    from harness.analysis.session import session  # noqa: PLC0415 - see above

    progress = _AnalysisProgress()
    say = (lambda _: None) if quiet else progress
    say("starting Spark")
    with session(master) as spark:
        analysis = judged(spark, directory, say)
    if as_json:
        click.echo(to_json(analysis))
    else:
        _print(analysis)
    code, reason = status(analysis, require)
    if reason:
        click.echo(f"concord: {reason}", err=True)
    sys.exit(code)


def _verdicts(analysis: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    found = analysis["verdicts"]
    assert isinstance(found, Mapping)
    return found


def _reports(analysis: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return whether one sequence explains every stream, and whether equal audiences agree."""
    found = analysis.get("reports")
    assert isinstance(found, Mapping)
    return [(name, str(report["word"])) for name, report in found.items()]


_SHOWN: Final = (
    "publications",
    "deliveries",
    "subscribers",
    "pairs",
    "pairs_out_of_order",
    "inversions",
    "ordering_degree",
    "publications_per_conflict",
    "publisher_violations",
    "duplicates",
    "missing",
)


def _print(analysis: Mapping[str, object]) -> None:
    verdicts = [(name, str(verdict["word"])) for name, verdict in _verdicts(analysis).items()]
    if "reason" in analysis:
        show(Table((), verdicts, words=2))
        return
    reports = [(f"{name}, not promised", word) for name, word in _reports(analysis)]
    rows = [*verdicts, *reports, *((name.replace("_", " "), _number(analysis[name])) for name in _SHOWN)]
    for name, title in (("latency_ms", "latency"), ("latency_same_broker_ms", "latency, same broker")):
        latency = analysis[name]
        if isinstance(latency, Mapping):
            shown = ", ".join(f"{each} {latency[each]:.2f}" for each in ("p50", "p99", "max"))
            rows.append((title, f"{shown} ms"))
    show(Table((), rows, words=2))
    witnesses = analysis["witnesses"]
    assert isinstance(witnesses, Sequence)
    for each in witnesses[:1]:
        click.echo(f"{each['kind']}: {each['text']}")


def _number(value: object) -> str:
    if value is None:
        return NONE
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


@click.command("report", epilog="Example: concord harness report runs/quick")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
def report(*, directory: Path) -> None:
    """Write DIR/report/index.html about all analysed runs in DIR and below.

    It is one page that needs nothing else; the data of its figures is beside it, as CSV.
    """
    click.echo(str(write(directory)))
