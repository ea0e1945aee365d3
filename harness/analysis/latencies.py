"""Latencies and deliveries over time, from the small histograms that workers made."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from harness.analysis.kernels import histograms
from harness.analysis.reading import LATENCY, TIME, Clock

__all__ = ["FRACTIONS", "Latencies", "Latency", "latencies", "timeline"]

FRACTIONS: Final = (0.5, 0.9, 0.99, 0.999)
NAMES: Final = ("p50", "p90", "p99", "p999")

_CURVE: Final = tuple(1 - 10 ** (-place / 20) for place in range(1, 101))
"""For the picture of a distribution: from 11 % on, denser towards the end, up to one in 100,000."""

NS_A_MS: Final = 1_000_000


@attrs.frozen(eq=False)
class Latency:
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
        """Which part of all took how many milliseconds at most."""
        found = histograms.quantiles(self.bins, self.counts, _CURVE)
        return [(part, min(each, self.max_ns) / NS_A_MS) for part, each in zip(_CURVE, found, strict=True)]


@attrs.frozen(eq=False)
class Latencies:
    """All latencies, and those by distance in links; a distance nobody knows is left out."""

    all: Latency | None
    by_distance: dict[int, Latency]


def latencies(pieces: DataFrame) -> Latencies:
    """Add up what workers counted."""
    rows = pieces.filter(F.col("kind") == LATENCY).select("key", "a", "b", "c").collect()
    by_distance: defaultdict[int, list[SparkRow]] = defaultdict(list)
    for row in rows:
        by_distance[row["key"]].append(row)
    everything = _merged(rows) if rows else None
    return Latencies(
        everything, {away: _merged(by_distance[away]) for away in sorted(by_distance) if away >= 0}
    )


def _merged(rows: Sequence[SparkRow]) -> Latency:
    bins, counts = histograms.merged(_together(row["a"] for row in rows), _together(row["b"] for row in rows))
    totals = np.array([np.frombuffer(row["c"], np.int64) for row in rows])
    count, total_ns, negative = (int(totals[:, column].sum()) for column in (0, 1, 3))
    return Latency(bins, counts, count, total_ns, int(totals[:, 2].max()), negative)


def timeline(pieces: DataFrame, clock: Clock) -> list[dict[str, float]]:
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
