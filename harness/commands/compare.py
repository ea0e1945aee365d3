"""`concord harness compare`: the same scenario under several orderings, judged, and one report of all."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
import click

from broker.commands.extras import require_extras
from broker.commands.lines import to_json
from harness.commands.run import asked, perform, scenario_options
from harness.commands.schedules import check_ordering
from harness.report.results import Result
from harness.runs.performance import Ending
from harness.tables import NONE, Table, show

PROMISING: Final = "pairwise"
"""The ordering with the promise that is examined, and the promise."""

BASELINE: Final = "fifo"
"""The ordering that latencies are compared with."""

VIOLATED: Final = 1
UNKNOWN: Final = 2


@attrs.frozen(eq=False)
class _Judged:
    """One run and the result of its analysis. `point` is empty if the scenario has only one."""

    point: str
    ending: Ending
    found: Result

    def verdict(self, promise: str) -> str:
        """Kept, broken or unknown."""
        return _KEPT.get(str(self.found.part("verdicts", promise, "word")), "unknown")


def _orderings(ctx: click.Context, param: click.Parameter, given: str | None) -> tuple[str, ...]:
    del ctx, param
    names = tuple(name.strip() for name in given.split(",")) if given else ()
    for name in names:
        check_ordering(name, {})
    return tuple(dict.fromkeys(names))


@click.command(
    "compare", epilog="Example: concord harness compare quick --out runs/quick --orderings pairwise,fifo"
)
@scenario_options
@click.option(
    "--orderings", callback=_orderings, help="Which, with commas between. Default: those of the scenario."
)
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs, as Spark writes it.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
def command(  # noqa: PLR0913 - one parameter per option
    *,
    scenario: str,
    out: Path,
    orderings: tuple[str, ...],
    master: str,
    faults: tuple[str, ...],
    seed: int | None,
    overrides: Mapping[str, object],
    replace: bool,
    is_quiet: bool,
    as_json: bool,
) -> None:
    """Perform SCENARIO under each ordering, judge every run, and write DIR/report/index.html.

    The exit status is 0 if pairwise kept its promise, 1 if it was broken, 2 if a verdict is unknown.
    """
    require_extras("analysis", "harness")
    study = asked(scenario, faults, seed, overrides)
    begun_s = time.monotonic()
    chosen = orderings or study.first.orderings
    endings = perform(study, out, chosen, replace=replace, is_quiet=is_quiet)
    say = _silent if is_quiet else _say
    judged = list(_judge(out, endings, master, say))
    report = _report(out)
    if as_json:
        rows = [{"point": each.point, **_row(each, judged)} for each in judged]
        click.echo(to_json({"runs": rows, "report": str(report)}))
    else:
        show(_table(judged))
        click.echo(f"\nreport: {report}    ({time.monotonic() - begun_s:.0f} s)")
    sys.exit(_status(judged))


def _silent(_: str) -> None:
    """Print nothing."""


def _say(text: str) -> None:
    click.echo(text, err=True)


def _judge(
    out: Path, endings: Sequence[Ending], master: str, say: Callable[[str], None]
) -> Iterator[_Judged]:
    """Analyse every run, in one Spark session."""
    # Spark is loaded for an analysis, and not for --help.
    from harness.analysis.analyzing import judged  # noqa: PLC0415 - see above
    from harness.analysis.session import session  # noqa: PLC0415 - see above

    say("analysing: starting Spark")
    with session(master) as spark:
        for ending in endings:
            say(f"analysing {ending.folder}")
            parts = ending.folder.relative_to(out).parts
            point = parts[1] if len(parts) > 2 else ""  # noqa: PLR2004 - points/POINT/ORDERING
            found = Result(ending.folder.name, {}, judged(spark, ending.folder))
            yield _Judged(point, ending, found)


def _report(out: Path) -> Path:
    from harness.report.page import write  # noqa: PLC0415 - only who has runs needs it

    return write(out)


def _row(judged: _Judged, all_judged: Sequence[_Judged]) -> dict[str, object]:
    """Return the table's row of one run. Ratios are to `fifo` at the same point."""
    row: dict[str, object] = {
        "ordering": judged.ending.ordering,
        "pairwise": judged.verdict("pairwise"),
        "publisher": judged.verdict("publisher"),
        "complete": judged.verdict("completeness"),
        "pairs_out_of_order": judged.found.number("pairs_out_of_order"),
        "pairs": judged.found.number("pairs"),
        "ordering_degree": judged.found.number("ordering_degree"),
        "delivered": judged.ending.delivered,
        "published": judged.ending.published,
        "p50_ms": judged.found.number("latency_ms", "p50"),
        "p99_ms": judged.found.number("latency_ms", "p99"),
        "max_ms": judged.found.number("latency_ms", "max"),
    }
    base = next((b for b in all_judged if b.point == judged.point and b.ending.ordering == BASELINE), None)
    for name, part in (("p50_ratio", "p50"), ("max_ratio", "max")):
        mine = judged.found.number("latency_ms", part)
        theirs = base.found.number("latency_ms", part) if base else None
        row[name] = mine / theirs if mine is not None and theirs else None
    return row


_COLUMNS: Final = (
    ("ordering", "ordering"),
    ("one order", "pairwise"),
    ("publisher order", "publisher"),
    ("pairs out of order", "pairs_out_of_order"),
    ("of", "pairs"),
    ("degree", "ordering_degree"),
    ("delivered", "delivered"),
    ("p50 ms", "p50_ms"),
    ("p99 ms", "p99_ms"),
    ("max ms", "max_ms"),
    ("p50 / fifo", "p50_ratio"),
    ("max / fifo", "max_ratio"),
)


_WORDS: Final = 3
"""Columns of words, on the left; the rest are numbers."""

_KEPT: Final = {"true": "kept", "false": "broken"}


def _table(judged: Sequence[_Judged]) -> Table:
    """A row for each run, with its point if there are several."""
    is_swept = any(each.point for each in judged)
    cells = [
        [*([each.point] if is_swept else []), *(_shown(row[key]) for _, key in _COLUMNS)]
        for each in judged
        for row in [_row(each, judged)]
    ]
    head = [*(["point"] if is_swept else []), *(title for title, _ in _COLUMNS)]
    return Table(head, cells, _WORDS + is_swept)


def _shown(value: object) -> str:
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and value > 1 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _status(judged: Sequence[_Judged]) -> int:
    promising = [each.found for each in judged if each.ending.ordering == PROMISING]
    if any(found.part("verdicts", PROMISING, "outcome") is False for found in promising):
        return VIOLATED
    return 0 if all(each.found.is_known for each in judged) else UNKNOWN
