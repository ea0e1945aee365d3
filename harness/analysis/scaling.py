"""How long an analysis takes, and how much memory: `python -m harness.analysis.scaling`.

Made runs, in the order that pairwise keeps and some steps away from it, since what is out of order is what
costs. The time is that of the whole analysis, with reading and without starting Spark; Java is warm, as it is
for all runs of a comparison but the first. Memory is that of Java, of Python's workers and of this program
together, what they share counted once. With `--executors`, the first size is analysed again on local clusters
of so many executors, with a core each.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final, Self

import attrs
import click
from pyspark.sql import SparkSession

from harness.analysis.analyzing import analyze
from harness.analysis.session import session
from harness.analysis.synthetic import SyntheticShape, make
from harness.tables import Column, show, table, whole

MILLION: Final = 1_000_000
DISORDER: Final = 12.0
"""Steps that a delivery is away from its place, at most, where there is no common order."""

WARM: Final = SyntheticShape(deliveries=100_000)

EXECUTOR_MB: Final = 2_048
"""Java's part of an executor; its Python worker holds the arrays beside that."""

LOOK_S: Final = 0.2
_KIB: Final = 1024

Measured = dict[str, float]


@attrs.define(eq=False)
class PeakMemory:
    """Watches this program and all that it started, while its block lasts. Only Linux counts that."""

    peak_bytes: int = 0
    _over: Event = attrs.Factory(Event)
    _thread: Thread = attrs.field(init=False)

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.peak_bytes = max(self.peak_bytes, sum(map(_own_bytes, _family())))
            if self._over.wait(LOOK_S):
                return


def _family() -> Iterator[int]:
    """Yield this process and all its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            parent = int(stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    todo = [os.getpid()]
    while todo:
        pid = todo.pop()
        yield pid
        todo += children.get(pid, [])


def _own_bytes(pid: int) -> int:
    """Return the memory of a process, with its share of what it has in common with others."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * _KIB
    return 0


def measure(spark: SparkSession, shape: SyntheticShape) -> Measured:
    """Make a run, analyse it, and return what that took."""
    with tempfile.TemporaryDirectory(prefix="concord-scaling-") as folder:
        run = make(Path(folder), shape)
        begun_s = time.monotonic()
        with PeakMemory() as memory:
            analysis = analyze(spark, run)
        taken_s = time.monotonic() - begun_s
    pairs, inversions = analysis["pairs"], analysis["inversions"]
    assert isinstance(pairs, int)
    assert isinstance(inversions, int)
    return {
        "deliveries": shape.deliveries,
        "subscribers": shape.subscribers,
        "pairs": pairs,
        "inversions": inversions,
        "seconds": taken_s,
        "peak_mb": memory.peak_bytes / 1e6,
    }


def _all(shapes: Sequence[SyntheticShape], executors: Sequence[int], master: str) -> Iterator[Measured]:
    with session(master) as spark:
        measure(spark, WARM)
        for shape in shapes:
            yield measure(spark, shape)
    for many in executors:
        with session(f"local-cluster[{many},1,{EXECUTOR_MB}]") as spark:
            measure(spark, WARM)
            yield {**measure(spark, shapes[0]), "executors": many}


COLUMNS: Final[Sequence[Column[Mapping[str, float]]]] = (
    ("deliveries", lambda row: f"{row['deliveries']:,.0f}"),
    ("subscribers", lambda row: whole(row.get("subscribers"))),
    ("pairs compared", lambda row: f"{row['pairs']:,.0f}"),
    ("inversions", lambda row: f"{row['inversions']:,.0f}"),
    ("executors", lambda row: whole(row.get("executors"))),
    ("seconds", lambda row: f"{row['seconds']:.0f}"),
    ("memory at most, MB", lambda row: whole(row.get("peak_mb"))),
)


@click.command("scaling")
@click.option("--millions", default="1,3,10,30", show_default=True, help="How many deliveries, in millions.")
@click.option("--subscribers", type=click.IntRange(2), default=200, show_default=True)
@click.option("--ordered", is_flag=True, help="Only in the order that pairwise keeps.")
@click.option("--executors", default="", help="The first size again on local clusters, such as 1,2,4.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("--out", type=click.Path(path_type=Path), help="Write what was measured there, as JSON.")
@click.option("--add", is_flag=True, help="Keep what --out has already.")
def command(  # noqa: PLR0913 - one parameter for each option
    *,
    millions: str,
    subscribers: int,
    ordered: bool,
    executors: str,
    master: str,
    out: Path | None,
    add: bool,
) -> None:
    """Measure how long an analysis takes, and print a table."""
    click.echo(f"{os.cpu_count()} cores, {master}")
    shapes = [
        SyntheticShape(subscribers, deliveries=int(float(each) * MILLION), disorder=disorder)
        for each in millions.split(",")
        for disorder in ((0.0,) if ordered else (0.0, DISORDER))
    ]
    clusters = [int(each) for each in executors.split(",") if each]
    rows = json.loads(out.read_text(encoding="utf-8")) if add and out is not None and out.is_file() else []
    for row in _all(shapes, clusters, master):
        rows.append(row)
        click.echo(
            f"{row['deliveries']:,.0f} deliveries, {row['inversions']:,.0f} inversions: "
            f"{row['seconds']:.1f} s, {row['peak_mb']:,.0f} MB"
        )
        if out is not None:
            # After each, so that an interrupt costs one measurement.
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(rows), encoding="utf-8")
    show(table(COLUMNS, rows, words=0))


if __name__ == "__main__":
    command()
