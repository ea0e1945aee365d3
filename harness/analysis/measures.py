"""Measures of a run beside order: latencies, deliveries over time, brokers' counters, pauses after faults.

Latencies and deliveries over time come from the small histograms that workers made. Counters only grow, but
for a broker that was started again, which begins at nothing: so what is added up is how much each one grew
from one reading to the next.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from statistics import median
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.datasets import RunDatasets
from harness.analysis.kernels import histograms
from harness.analysis.reading import LATENCY, TIME, TraceClock

FRACTIONS: Final = (0.5, 0.9, 0.99, 0.999)
NAMES: Final = ("p50", "p90", "p99", "p999")

_CURVE: Final = tuple(1 - 10 ** (-place / 20) for place in range(1, 101))
"""For the figure of a distribution: from 11 % on, denser towards the end, up to one in 100,000."""

NS_A_MS: Final = 1_000_000

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

WINDOW_NS: Final = 10_000_000_000
"""A pause that begins later than this after a fault is not laid at its door."""

FAULTS_MAX: Final = 1_000
"""Pauses are looked up for each subscription and fault; runs with more faults are described by their first
ones."""


@attrs.frozen(eq=False)
class LatencyMeasure:
    """Durations of one kind, as a histogram with exact sum and maximum."""

    bins: NDArray[np.int64]
    counts: NDArray[np.int64]
    count: int
    total_ns: int
    max_ns: int
    negative: int

    def summary(self) -> dict[str, float]:
        """Percentiles, maximum and mean in milliseconds."""
        found = histograms.quantiles(self.bins, self.counts, FRACTIONS)
        named = {name: min(each, self.max_ns) / NS_A_MS for name, each in zip(NAMES, found, strict=True)}
        return named | {"max": self.max_ns / NS_A_MS, "mean": self.total_ns / self.count / NS_A_MS}

    def curve(self) -> list[tuple[float, float]]:
        """Return the part of all that took at most each number of milliseconds."""
        found = histograms.quantiles(self.bins, self.counts, _CURVE)
        return [(part, min(each, self.max_ns) / NS_A_MS) for part, each in zip(_CURVE, found, strict=True)]


@attrs.frozen(eq=False)
class LatencyMeasures:
    """All latencies, and those by distance in links; an unknown distance is left out."""

    all: LatencyMeasure | None
    by_distance: dict[int, LatencyMeasure]


def latencies(pieces: DataFrame) -> LatencyMeasures:
    """Return the latencies that all workers counted, added up."""
    rows = pieces.filter(F.col("kind") == LATENCY).select("key", "a", "b", "c").collect()
    by_distance: defaultdict[int, list[SparkRow]] = defaultdict(list)
    for row in rows:
        by_distance[row["key"]].append(row)
    everything = _merged(rows) if rows else None
    return LatencyMeasures(
        everything, {away: _merged(by_distance[away]) for away in sorted(by_distance) if away >= 0}
    )


def _merged(rows: Sequence[SparkRow]) -> LatencyMeasure:
    bins, counts = histograms.merged(_together(row["a"] for row in rows), _together(row["b"] for row in rows))
    totals = np.array([np.frombuffer(row["c"], np.int64) for row in rows])
    count, total_ns, negative = (int(totals[:, column].sum()) for column in (0, 1, 3))
    return LatencyMeasure(bins, counts, count, total_ns, int(totals[:, 2].max()), negative)


def timeline(pieces: DataFrame, clock: TraceClock) -> list[dict[str, float]]:
    """Deliveries per second and the longest latency, bin by bin."""
    rows = pieces.filter(F.col("kind") == TIME).select("a", "b", "c").collect()
    if not rows:
        return []
    bins, places = np.unique(_together(row["a"] for row in rows), return_inverse=True)
    counts, longest = np.zeros(len(bins), np.int64), np.zeros(len(bins), np.int64)
    np.add.at(counts, places, _together(row["b"] for row in rows))
    np.maximum.at(longest, places, _together(row["c"] for row in rows))
    width_s = clock.bin_ns / 1e9
    return [
        {"at_s": int(each) * width_s, "deliveries_s": int(count) / width_s, "max_ms": int(most) / NS_A_MS}
        for each, count, most in zip(bins, counts, longest, strict=True)
    ]


def _together(parts: Iterable[bytes]) -> NDArray[np.int64]:
    return np.concatenate([np.frombuffer(each, np.int64) for each in parts])


def grown(readings: DataFrame) -> Grown:
    """Return how much every counter of every broker grew over the run."""
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
    """Return the traffic of all brokers by kind; None for a kind that was not counted."""
    return {kind: _whole(counters, name) for kind, name in TRAFFIC.items()}


def detection_us(counters: Grown) -> dict[str, float | None]:
    """Return the time of detection, per publication and broker."""
    mean = _ratio(counters, "detection_seconds", "detected", 1e6)
    return {"mean": mean, "p99": _percentile(counters)}


def detection_by_place_us(counters: Grown, uplinks: Mapping[str, str]) -> dict[str, float | None]:
    """Return the mean time of detection at brokers that are an uplink (core), and at all others (edge)."""
    inner = set(uplinks.values())
    return {
        place: _ratio(_some(counters, brokers), "detection_seconds", "detected", 1e6)
        for place, brokers in (("core", set(uplinks) & inner), ("edge", set(uplinks) - inner))
    }


def _some(counters: Grown, brokers: AbstractSet[str]) -> Grown:
    return {
        name: {broker: value for broker, value in found.items() if broker in brokers}
        for name, found in counters.items()
    }


def deferral_ms(counters: Grown) -> dict[str, float | None]:
    """Return how many publications had to wait at a broker, and for how long."""
    mean = _ratio(counters, "deferred_seconds", "deferred", 1e3)
    return {"count": _whole(counters, "deferred"), "mean": mean}


def _sum(counters: Grown, name: str) -> float | None:
    return sum(counters[name].values()) if name in counters else None


def _whole(counters: Grown, name: str) -> int | None:
    total = _sum(counters, name)
    return None if total is None else round(total)


def _ratio(counters: Grown, total: str, count: str, unit: float) -> float | None:
    above, below = _sum(counters, total), _sum(counters, count)
    return unit * above / below if above is not None and below else None


def _percentile(counters: Grown) -> float | None:
    """From cumulative buckets, as Prometheus has them: the upper end of the one that holds the percentile."""
    prefix = _DETECTION_BUCKET
    ends = sorted(float(name.removeprefix(prefix)) for name in counters if name.startswith(prefix))
    if not ends:
        return None
    counts = {end: _sum(counters, f"{prefix}{end:g}") or 0.0 for end in ends}
    needed = _PERCENTILE * max(_sum(counters, "detected") or 0.0, *counts.values(), 1.0)
    return next((end for end in ends if counts[end] >= needed), ends[-1])


@attrs.frozen
class FaultRow:
    """One injected fault, as the run wrote it down."""

    at_ns: int
    kind: str
    target: str
    detail: str


def faults(run: RunDatasets) -> list[FaultRow]:
    """All faults of a run, in time."""
    if not run.has("faults"):
        return []
    rows = run.read("faults").orderBy("at_ns", "kind", "target").limit(FAULTS_MAX).collect()
    return [
        FaultRow(row["at_ns"], row["kind"] or "", row["target"] or "", row["detail"] or "") for row in rows
    ]


def windows(found: Sequence[FaultRow]) -> list[tuple[int, int]]:
    """For each fault the time in which a pause may be its doing."""
    return [(each.at_ns, each.at_ns + WINDOW_NS) for each in found]


def pauses(streams: DataFrame, found: Sequence[FaultRow], start_ns: int) -> list[dict[str, object]]:
    """Return every fault with the pauses of subscribers after it."""
    if not found:
        return []
    rows = streams.filter("deliveries > 0").select("subscriber", "pauses").collect()
    return [_noticed(each, index, rows, start_ns) for index, each in enumerate(found)]


def _noticed(
    fault: FaultRow, index: int, rows: Sequence[Sequence[object]], start_ns: int
) -> dict[str, object]:
    lengths: list[tuple[int, str]] = []
    for subscriber, times in rows:
        assert isinstance(times, list)
        lengths.append((times[2 * index], str(subscriber)))
    longest, who = max(lengths, key=lambda each: (each[0], each[1]), default=(0, ""))
    return {
        "at_s": (fault.at_ns - start_ns) / 1e9,
        "kind": fault.kind,
        "target": fault.target,
        "detail": fault.detail,
        "pause_ms": {
            "p50": median(length for length, _ in lengths) / NS_A_MS if lengths else None,
            "max": longest / NS_A_MS,
            "subscriber": who,
        },
    }
