"""What order costs end to end: `pairwise` beside `fifo`, in turns, in the same run.

Run as `python -m harness.benchmarks.order`.
"""

import json
from collections.abc import Sequence
from typing import Final

import attrs
import click

from harness import outcomes
from harness.benchmarks.measurement import Latency, Target, Throughput, latency, throughput
from harness.benchmarks.report import aligned, machine, middle_of
from harness.benchmarks.scenario import ORDER_SCENARIOS, QUICK, THOROUGH, Scenario, Timing

__all__ = ["Comparison", "command"]

_FIFO: Final = Target("concord", "fifo")
_PAIRWISE: Final = Target("concord", "pairwise")

_HEADINGS: Final = (
    "scenario",
    "fifo deliveries/s",
    "pairwise",
    "of fifo",
    "fifo p50 ms",
    "own broker",
    "others",
    "pairwise p50 ms",
    "own broker",
    "others",
)


@attrs.frozen
class Comparison:
    """One scenario under both orderings."""

    scenario: str
    fifo: Throughput
    pairwise: Throughput
    fifo_latency: Latency
    pairwise_latency: Latency


async def _compare(scenario: Scenario, timing: Timing) -> Comparison:
    return Comparison(
        scenario.name,
        fifo=await throughput(_FIFO, scenario, timing),
        pairwise=await throughput(_PAIRWISE, scenario, timing),
        fifo_latency=await latency(_FIFO, scenario, timing),
        pairwise_latency=await latency(_PAIRWISE, scenario, timing),
    )


async def _compare_all(scenarios: Sequence[Scenario], timing: Timing) -> list[Comparison]:
    rounds = []
    for number in range(1, timing.repeat + 1):
        round_ = []
        for scenario in scenarios:
            click.echo(f"run {number} of {timing.repeat}: {scenario.name}", err=True)
            round_.append(await _compare(scenario, timing))
        rounds.append(round_)
    return [middle_of(runs) for runs in zip(*rounds, strict=True)]


def _cells(comparison: Comparison) -> tuple[str, ...]:
    fifo, pairwise = comparison.fifo.deliveries_per_s, comparison.pairwise.deliveries_per_s
    return (
        comparison.scenario,
        f"{fifo:,.0f}",
        f"{pairwise:,.0f}",
        f"{pairwise / max(fifo, 1.0):.2f}",
        *_latency_cells(comparison.fifo_latency),
        *_latency_cells(comparison.pairwise_latency),
    )


def _latency_cells(measured: Latency) -> tuple[str, ...]:
    figures = (measured.p50_ms, measured.own_p50_ms, measured.other_p50_ms)
    return tuple("-" if figure is None else f"{figure:.2f}" for figure in figures)


@click.command()
@click.option("--repeat", type=click.IntRange(min=1), help="Runs to take the medians of.  [default: 3]")
@click.option("--quick", is_flag=True, help="One short run.")
@click.option("--only", metavar="TEXT", default="", help="Only scenarios with this in their names.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of a table.")
def command(*, repeat: int | None, quick: bool, only: str, json_: bool) -> None:
    """Measure what order costs: throughput and latency of pairwise beside fifo.

    Example: python -m harness.benchmarks.order --quick --only '3 brokers'
    """
    timing = QUICK if quick else THOROUGH
    if repeat is not None:
        timing = attrs.evolve(timing, repeat=repeat)
    scenarios = [scenario for scenario in ORDER_SCENARIOS if only in scenario.name]
    if not scenarios:
        raise click.UsageError(f"no scenario has {only!r} in its name")
    results = outcomes.run(_compare_all, scenarios, timing)
    if json_:
        content = {"machine": machine(), "results": [attrs.asdict(result) for result in results]}
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(
        f"pairwise beside fifo, 100-byte payloads, everything matching, deliveries read; medians of "
        f"{timing.repeat} on {machine()}.\nLatency at {timing.rate_per_s:.0f} events/s, all told and for "
        f"publishers at the subscriber's own broker and elsewhere.\n\n"
        f"{aligned([_HEADINGS, *map(_cells, results)])}"
    )


if __name__ == "__main__":
    command()
