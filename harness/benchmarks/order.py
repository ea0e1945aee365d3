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
from harness.benchmarks.rounds import (
    ORDER_SCENARIOS,
    BenchmarkScenario,
    RoundTiming,
    chosen,
    machine,
    measured,
    round_options,
)
from harness.tables import NONE, Column, show, table

_FIFO: Final = Target("concord", "fifo")
_PAIRWISE: Final = Target("concord", "pairwise")


@attrs.frozen
class Comparison:
    """One scenario under both orderings."""

    scenario: str
    fifo: Throughput
    pairwise: Throughput
    fifo_latency: Latency
    pairwise_latency: Latency

    @property
    def of_fifo(self) -> float:
        """The part of the deliveries under `fifo` that `pairwise` makes."""
        return self.pairwise.deliveries_per_s / max(self.fifo.deliveries_per_s, 1.0)


async def _compare(scenario: BenchmarkScenario, timing: RoundTiming) -> Comparison:
    return Comparison(
        scenario.name,
        fifo=await throughput(_FIFO, scenario, timing),
        pairwise=await throughput(_PAIRWISE, scenario, timing),
        fifo_latency=await latency(_FIFO, scenario, timing),
        pairwise_latency=await latency(_PAIRWISE, scenario, timing),
    )


def _ms(figure: float | None) -> str:
    return NONE if figure is None else f"{figure:.2f}"


_COLUMNS: Final[Sequence[Column[Comparison]]] = (
    ("scenario", lambda each: each.scenario),
    ("fifo deliveries/s", lambda each: f"{each.fifo.deliveries_per_s:,.0f}"),
    ("pairwise", lambda each: f"{each.pairwise.deliveries_per_s:,.0f}"),
    ("of fifo", lambda each: f"{each.of_fifo:.2f}"),
    ("fifo p50 ms", lambda each: _ms(each.fifo_latency.p50_ms)),
    ("own broker", lambda each: _ms(each.fifo_latency.own_p50_ms)),
    ("others", lambda each: _ms(each.fifo_latency.other_p50_ms)),
    ("pairwise p50 ms", lambda each: _ms(each.pairwise_latency.p50_ms)),
    ("own broker", lambda each: _ms(each.pairwise_latency.own_p50_ms)),
    ("others", lambda each: _ms(each.pairwise_latency.other_p50_ms)),
)


@click.command()
@round_options
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of a table.")
def command(*, repeat: int | None, quick: bool, only: str, json_: bool) -> None:
    """Measure the cost of order: throughput and latency of pairwise beside fifo.

    Example: python -m harness.benchmarks.order --quick --only '3 brokers'
    """
    scenarios, timing = chosen(ORDER_SCENARIOS, repeat, only, quick=quick)
    results = outcomes.run(measured, _compare, scenarios, timing)
    if json_:
        content = {"machine": machine(), "results": [attrs.asdict(result) for result in results]}
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(
        f"pairwise beside fifo, 100-byte payloads, everything matching, deliveries read; medians of "
        f"{timing.repeat} on {machine()}.\nLatency at {timing.rate_per_s:.0f} events/s, of all deliveries "
        f"and of those from publishers at the subscriber's own broker and elsewhere.\n"
    )
    show(table(_COLUMNS, results))


if __name__ == "__main__":
    command()
