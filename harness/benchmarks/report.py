"""Results as people read them, and as programs do."""

import os
import platform
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, TypeVar

import attrs
import trio

from harness.benchmarks.measurement import Latency, Throughput

__all__ = ["Result", "aligned", "as_json", "machine", "middle_of", "table", "work_table"]

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

_WORK_HEADINGS: Final = (
    "us per delivery",
    "publishers",
    "brokers",
    "subscribers",
    "relay publishers",
    "relays",
    "relay subscribers",
)


@attrs.frozen
class Result:
    """One scenario: what brokers did and what the raw relay did, in the same run."""

    scenario: str
    throughput: Throughput
    relay_throughput: Throughput
    latency: Latency
    relay_latency: Latency


_Repeated = TypeVar("_Repeated")


def middle_of(results: Sequence[_Repeated]) -> _Repeated:
    """The median of repeated runs of one scenario, figure by figure."""
    result = _middle(results)
    assert isinstance(result, type(results[0]))
    return result


def _middle(values: Sequence[object]) -> object:
    kind = type(values[0])
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind)]
        return kind(**{name: _middle([getattr(value, name) for value in values]) for name in names})
    figures = [value for value in values if isinstance(value, int | float)]
    return median(figures) if figures else values[0]


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


def _work_cells(result: Result) -> tuple[str, ...]:
    works = (result.throughput.work, result.relay_throughput.work)
    return (result.scenario, *(f"{figure:.2f}" for work in works for figure in attrs.astuple(work)))


def table(results: Iterable[Result]) -> str:
    """Throughput and latency, one line per scenario."""
    return aligned([_HEADINGS, *map(_cells, results)])


def work_table(results: Iterable[Result]) -> str:
    """Where the processor time of a delivery goes, one line per scenario."""
    return aligned([_WORK_HEADINGS, *map(_work_cells, results)])


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Names to the left and figures to the right."""
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
