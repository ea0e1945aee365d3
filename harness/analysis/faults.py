"""Injected faults, and the longest pauses in deliveries around each."""

from collections.abc import Sequence
from statistics import median
from typing import Final

import attrs
from pyspark.sql import DataFrame

from harness.analysis.datasets import Run

__all__ = ["Fault", "faults", "pauses", "windows"]

WINDOW_NS: Final = 10_000_000_000
"""A pause that begins later than this after a fault is not laid at its door."""

FAULTS_MAX: Final = 1_000
"""Pauses are looked up for each subscription and fault; runs with more faults are told by their first
ones."""

NS_A_MS: Final = 1_000_000


@attrs.frozen
class Fault:
    """One injected fault, as the run wrote it down."""

    at_ns: int
    kind: str
    target: str
    detail: str


def faults(run: Run) -> list[Fault]:
    """All faults of a run, in time."""
    if not run.has("faults"):
        return []
    rows = run.read("faults").orderBy("at_ns", "kind", "target").limit(FAULTS_MAX).collect()
    return [Fault(row["at_ns"], row["kind"] or "", row["target"] or "", row["detail"] or "") for row in rows]


def windows(found: Sequence[Fault]) -> list[tuple[int, int]]:
    """For each fault the time in which a pause may be its doing."""
    return [(each.at_ns, each.at_ns + WINDOW_NS) for each in found]


def pauses(streams: DataFrame, found: Sequence[Fault], start_ns: int) -> list[dict[str, object]]:
    """Every fault with what subscribers noticed of it."""
    if not found:
        return []
    rows = streams.filter("deliveries > 0").select("subscriber", "pauses").collect()
    return [_noticed(each, index, rows, start_ns) for index, each in enumerate(found)]


def _noticed(fault: Fault, index: int, rows: Sequence[Sequence[object]], start_ns: int) -> dict[str, object]:
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
