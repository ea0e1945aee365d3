"""Results as people read them, and as programs do."""

import os
import platform
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

import attrs
import trio

from harness.benchmarks.measurement import Latency, Throughput

__all__ = ["Result", "as_json", "machine", "middle", "table"]

_HEADINGS: Final = (
    "scenario",
    "events/s",
    "deliveries/s",
    "relay deliveries/s",
    "of relay",
    "p50 ms",
    "p99 ms",
    "relay p50",
    "relay p99",
)


@attrs.frozen
class Result:
    """One scenario: what brokers did and what the raw relay did, in the same run."""

    scenario: str
    throughput: Throughput
    relay_throughput: Throughput
    latency: Latency
    relay_latency: Latency


def _middle_throughput(values: Sequence[Throughput]) -> Throughput:
    return Throughput(
        median(each.events_per_s for each in values), median(each.deliveries_per_s for each in values)
    )


def _middle_latency(values: Sequence[Latency]) -> Latency:
    return Latency(median(each.p50_ms for each in values), median(each.p99_ms for each in values))


def middle(results: Sequence[Result]) -> Result:
    """The median of repeated runs of one scenario, figure by figure."""
    return Result(
        results[0].scenario,
        _middle_throughput([each.throughput for each in results]),
        _middle_throughput([each.relay_throughput for each in results]),
        _middle_latency([each.latency for each in results]),
        _middle_latency([each.relay_latency for each in results]),
    )


def machine() -> str:
    """What the figures were measured on."""
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, Trio {trio.__version__}"
    )


def _cells(result: Result) -> tuple[str, ...]:
    share = result.throughput.deliveries_per_s / max(result.relay_throughput.deliveries_per_s, 1.0)
    return (
        result.scenario,
        f"{result.throughput.events_per_s:,.0f}",
        f"{result.throughput.deliveries_per_s:,.0f}",
        f"{result.relay_throughput.deliveries_per_s:,.0f}",
        f"{share:.0%}",
        f"{result.latency.p50_ms:.2f}",
        f"{result.latency.p99_ms:.2f}",
        f"{result.relay_latency.p50_ms:.2f}",
        f"{result.relay_latency.p99_ms:.2f}",
    )


def table(results: Iterable[Result]) -> str:
    """One line per scenario, names to the left and figures to the right."""
    rows = [_HEADINGS, *map(_cells, results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def as_json(results: Iterable[Result]) -> dict[str, object]:
    """Everything, with the machine."""
    return {"machine": machine(), "results": [attrs.asdict(result) for result in results]}
