"""Measures what `concord broker --workers N` does for many subscribers: `python -m harness.peers.cores`.

The workload is that of `concord harness peers`, 10 publishers and 50 subscribers, all at the one address of
the workers; the system deals out their connections. A machine of two cores cannot show what more of them
would do, so the split is measured: the processor time of each worker, for the deliveries of all. The busiest
worker is the limit where every worker has a core, and clients have cores of their own.
"""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import click
import trio
from attrs import evolve, frozen

from harness.peers import measurement
from harness.peers.board import BoardPhase
from harness.peers.concord import Concord
from harness.peers.workload import SHAPES, WorkloadTiming
from harness.tables import show, shown, table_of

WORKERS: Final = (1, 2, 4, 8)
SHAPE: Final = next(
    shape for shape in SHAPES if shape.subscribers == max(each.subscribers for each in SHAPES)
)
WARM_UP_S: Final = 1.0
MEASURE_S: Final = 3.0
REPEAT: Final = 3


@frozen
class SplitRow:
    """What so many workers took."""

    workers: int
    deliveries_per_s: float = shown("deliveries/s here", ",.0f")
    all_us: float = shown("all workers us", ".3f")
    busiest_us: float = shown("the busiest us", ".3f")
    limit_per_s: float = shown("deliveries/s if each has a core", ",.0f")


def _worker_times_s(supervisor: int, workers: int) -> list[float]:
    """Return the processor time of every worker; one alone is its own supervisor."""
    if workers == 1:
        return [measurement.used_s(supervisor)]
    threads = Path(f"/proc/{supervisor}/task").glob("*/children")
    children = [int(number) for thread in threads for number in thread.read_text(encoding="ascii").split()]
    return [measurement.used_s(child) for child in children]


async def _measure(workers: int, folder: Path) -> SplitRow:
    async with measurement.running(Concord(workers=workers), SHAPE, WorkloadTiming(), folder) as system:
        board, supervisor = system.board, system.servers[0].process.pid
        board.enter(BoardPhase.FLAT_OUT)
        await trio.sleep(WARM_UP_S)
        used_s, delivered, began_s = (
            _worker_times_s(supervisor, workers),
            sum(board.delivered),
            trio.current_time(),
        )
        await trio.sleep(MEASURE_S)
        now_s, count = _worker_times_s(supervisor, workers), sum(board.delivered) - delivered
        taken_s = trio.current_time() - began_s
        board.enter(BoardPhase.OVER)
    each_us = [1e6 * (now - then) / count for now, then in zip(now_s, used_s, strict=True)]
    return SplitRow(workers, count / taken_s, sum(each_us), max(each_us), 1e6 / max(each_us))


def run(workers: Sequence[int] = WORKERS, repeat: int = REPEAT) -> list[SplitRow]:
    """Measure every number of workers so often; return the medians."""
    rows = []
    for count in workers:
        with tempfile.TemporaryDirectory(prefix="concord-cores-") as folder:
            runs = [trio.run(partial(_measure, count, Path(folder))) for _ in range(repeat)]
        names = ("deliveries_per_s", "all_us", "busiest_us", "limit_per_s")
        rows.append(evolve(runs[0], **{name: median(getattr(each, name) for each in runs) for name in names}))
    return rows


@click.command()
@click.option("--quick", is_flag=True, help="One run of each.")
def command(*, quick: bool) -> None:
    """Measure how the work of a broker splits into workers.

    Example: python -m harness.peers.cores --quick
    """
    click.echo(f"Workers, {SHAPE.name}: processor time per delivery.\n")
    show(table_of(run(repeat=1 if quick else REPEAT), words=0))


if __name__ == "__main__":
    command()
