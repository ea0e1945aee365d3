"""How long an analysis takes, over the number of deliveries: `python -m harness.analysis.scaling`.

Made runs of 200 subscribers, in the order that pairwise keeps and some steps away from it, since what is out
of order is what costs. The time is that of the whole analysis, with reading and without starting Spark; Java
is warm, as it is for all runs of a comparison but the first.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from pyspark.sql import SparkSession

from harness.analysis.analyzing import analyze
from harness.analysis.session import session
from harness.analysis.synthetic import SyntheticShape, make
from harness.tables import Column, show, table

MILLION: Final = 1_000_000
DISORDER: Final = 12.0
"""Steps that a delivery is away from its place, at most, where there is no common order."""

WARM: Final = SyntheticShape(deliveries=100_000)

Measured = dict[str, float]


def _measured(spark: SparkSession, shape: SyntheticShape) -> Measured:
    with tempfile.TemporaryDirectory(prefix="concord-scaling-") as folder:
        run = make(Path(folder), shape)
        begun_s = time.monotonic()
        analysis = analyze(spark, run)
        taken_s = time.monotonic() - begun_s
    pairs, inversions = analysis["pairs"], analysis["inversions"]
    assert isinstance(pairs, int)
    assert isinstance(inversions, int)
    return {"deliveries": shape.deliveries, "pairs": pairs, "inversions": inversions, "seconds": taken_s}


def _all(sizes: list[float], disorders: tuple[float, ...], master: str) -> Iterator[Measured]:
    with session(master) as spark:
        _measured(spark, WARM)
        for millions in sizes:
            for disorder in disorders:
                yield _measured(spark, SyntheticShape(deliveries=int(millions * MILLION), disorder=disorder))


COLUMNS: Final[Sequence[Column[Mapping[str, float]]]] = (
    ("deliveries", lambda row: f"{row['deliveries']:,.0f}"),
    ("pairs compared", lambda row: f"{row['pairs']:,.0f}"),
    ("inversions", lambda row: f"{row['inversions']:,.0f}"),
    ("seconds", lambda row: f"{row['seconds']:.0f}"),
)


@click.command("scaling")
@click.option("--millions", default="1,3,10,30", show_default=True, help="How many deliveries, in millions.")
@click.option("--ordered", is_flag=True, help="Only in the order that pairwise keeps.")
@click.option("--master", default="local[*]", show_default=True, help="Where Spark runs.")
@click.option("--out", type=click.Path(path_type=Path), help="Write what was measured there, as JSON.")
def command(*, millions: str, ordered: bool, master: str, out: Path | None) -> None:
    """Measure how long an analysis takes, and print a table."""
    click.echo(f"{os.cpu_count()} cores, {master}")
    sizes = [float(each) for each in millions.split(",")]
    rows = []
    for row in _all(sizes, (0.0,) if ordered else (0.0, DISORDER), master):
        rows.append(row)
        click.echo(
            f"{row['deliveries']:,.0f} deliveries, {row['inversions']:,.0f} inversions: "
            f"{row['seconds']:.1f} s"
        )
        if out is not None:
            # After each, so that an interrupt costs one measurement.
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(rows), encoding="utf-8")
    show(table(COLUMNS, rows, words=0))


if __name__ == "__main__":
    command()
