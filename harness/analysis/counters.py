"""What brokers counted: traffic by kind, how long detection took, how long publications were deferred.

Counters only grow, but for a broker that was started again, which begins at nothing. So what is added up is
how much each one grew from one reading to the next.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

__all__ = ["TRAFFIC", "deferral_ms", "detection_us", "grown", "traffic"]

TRAFFIC: Final = {
    "publications": "publications_out",
    "acknowledgements": "acknowledgements_out",
    "control": "control_out",
    "bytes": "bytes_out",
}
"""Kinds of traffic, and the counter of each."""

_DETECTION_BUCKET: Final = "detection_us_le_"
_PERCENTILE: Final = 0.99

Grown = Mapping[str, Mapping[str, float]]
"""By counter and broker."""


def grown(readings: DataFrame) -> Grown:
    """How much every counter of every broker grew over the run."""
    before = F.lag("value").over(Window.partitionBy("broker", "counter").orderBy("at_ns", "value"))
    growth = F.when(before.isNull() | (F.col("value") < before), F.col("value")).otherwise(
        F.col("value") - before
    )
    rows = (
        readings.withColumn("growth", growth)
        .groupBy("counter", "broker")
        .agg(F.sum("growth").alias("growth"))
        .orderBy("counter", "broker")
        .collect()
    )
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row["counter"], {})[row["broker"]] = row["growth"]
    return found


def traffic(counters: Grown) -> dict[str, int | None]:
    """Traffic by kind, all brokers together; None for what nobody counted."""
    return {kind: _whole(counters, name) for kind, name in TRAFFIC.items()}


def detection_us(counters: Grown) -> dict[str, float | None]:
    """What finding out whether a publication must wait took, per publication and broker."""
    mean = _ratio(counters, "detection_seconds", "detected")
    return {"mean": None if mean is None else mean * 1e6, "p99": _percentile(counters)}


def deferral_ms(counters: Grown) -> dict[str, float | None]:
    """How many publications had to wait at a broker, and for how long."""
    mean = _ratio(counters, "deferred_seconds", "deferred")
    return {"count": _whole(counters, "deferred"), "mean": None if mean is None else mean * 1e3}


def _sum(counters: Grown, name: str) -> float | None:
    return sum(counters[name].values()) if name in counters else None


def _whole(counters: Grown, name: str) -> int | None:
    total = _sum(counters, name)
    return None if total is None else round(total)


def _ratio(counters: Grown, total: str, count: str) -> float | None:
    above, below = _sum(counters, total), _sum(counters, count)
    return above / below if above is not None and below else None


def _percentile(counters: Grown) -> float | None:
    """From cumulative buckets, as Prometheus has them: the upper end of the one that holds the percentile."""
    prefix = _DETECTION_BUCKET
    ends = sorted(float(name.removeprefix(prefix)) for name in counters if name.startswith(prefix))
    if not ends:
        return None
    counts = {end: _sum(counters, f"{prefix}{end:g}") or 0.0 for end in ends}
    needed = _PERCENTILE * max(_sum(counters, "detected") or 0.0, *counts.values(), 1.0)
    return next((end for end in ends if counts[end] >= needed), ends[-1])
