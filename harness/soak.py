"""Kills core brokers every second, under load and with journals, and judges the deliveries.

Prints how many publications were taken over and delivered, how many deliveries are lost, repeated or out of
order, and for each kill how long the subscription that had to wait longest waited for its next delivery.

Run as `python -m harness.soak --minutes 10 --out runs/soak`.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.commands.run import perform
from harness.runs.performance import Ending
from harness.scenarios import find
from harness.tables import Table, show
from harness.traces import DELIVERIES, FAULTS

SCENARIO: Final = "crash-core"
DRAIN_S: Final = 60.0
"""After the last kill everything has to arrive; a loaded machine is given its time."""

BROKEN: Final = 1
NS_PER_S: Final = 1e9


def waits_s(run: Path) -> list[float]:
    """For each kill, the longest time from it to a subscription's next delivery."""
    faults = pq.read_table(FAULTS.folder(run))
    kills = faults.filter(pc.starts_with(faults["detail"], "SIGKILL"))["at_ns"].to_numpy()
    waits = np.zeros(len(kills))
    for times in _streams(run):
        following = np.searchsorted(times, kills)
        has_more = following < len(times)
        found = (times[following[has_more]] - kills[has_more]) / NS_PER_S
        waits[has_more] = np.maximum(waits[has_more], found)
    return sorted(waits.tolist())


def _streams(run: Path) -> "Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]":
    """Return when each subscription was delivered something, over all its streams."""
    table = pq.read_table(DELIVERIES.folder(run), columns=["subscriber", "delivered_ns"])
    names = np.array([name.partition("#")[0] for name in table["subscriber"].to_pylist()])
    times = table["delivered_ns"].to_numpy()
    for name in np.unique(names):
        yield np.sort(times[names == name])


def _judged(ending: Ending) -> Mapping[str, object]:
    from harness.analysis.analyzing import judged  # noqa: PLC0415 - Spark is loaded when there is a run
    from harness.analysis.session import session  # noqa: PLC0415 - likewise

    with session() as spark:
        return judged(spark, ending.folder)


def _outcome(ending: Ending, analysis: Mapping[str, object], waits: Sequence[float]) -> dict[str, object]:
    return {
        "kills": len(waits),
        "taken_over": ending.published,
        "delivered": ending.delivered,
        "lost": analysis.get("missing"),
        "repeated": analysis.get("duplicates"),
        "pairs_out_of_order": analysis.get("pairs_out_of_order"),
        "publisher_order_broken": analysis.get("publisher_violations"),
        "wait_p50_s": round(waits[len(waits) // 2], 3) if waits else None,
        "wait_max_s": round(waits[-1], 3) if waits else None,
    }


@click.command(epilog="Example: python -m harness.soak --minutes 1 --out runs/soak")
@click.option("--minutes", type=click.FloatRange(0.05), default=10.0, show_default=True, help="How long.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/soak"), show_default=True)
@click.option("--every", default="1s", show_default=True, help="Time between two kills.")
@click.option("--ordering", default="pairwise", show_default=True, help="The ordering plugin.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(*, minutes: float, out: Path, every: str, ordering: str, as_json: bool) -> None:
    """Kill core brokers again and again, and count what is lost, repeated and out of order.

    The exit status is 1 if anything was.
    """
    changes: dict[str, object] = {
        "duration_s": 60 * minutes,
        "drain_s": DRAIN_S,
        "ordering": ordering,
        "matches": "yes",
        "faults": [f"kill core-* every {every} after 500ms"],
    }
    (ending,) = perform(find(SCENARIO, changes), out, (), replace=True, is_quiet=False)
    outcome = _outcome(ending, _judged(ending), waits_s(out))
    if as_json:
        click.echo(json.dumps(outcome))
    else:
        show(Table((), [(name.replace("_", " "), str(value)) for name, value in outcome.items()], words=2))
    broken = ("lost", "repeated", "pairs_out_of_order", "publisher_order_broken")
    sys.exit(BROKEN if any(outcome[name] for name in broken) else 0)


if __name__ == "__main__":
    command()
