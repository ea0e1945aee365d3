"""Throughput and latency end to end, each scenario beside the raw relay of the same frames in the same run.

Run as `python -m harness.benchmarks.throughput`.
"""

import json
import os
from collections.abc import Sequence
from typing import Final

import attrs
import click

from harness import outcomes
from harness.benchmarks.measurement import Latency, Target, Throughput, latency, throughput
from harness.benchmarks.rounds import (
    SCENARIOS,
    BenchmarkScenario,
    RoundTiming,
    chosen,
    machine,
    measured,
    round_options,
)
from harness.tables import Column, show, table

_RELAY = Target("relay")

_IDLE_LOAD = 0.5
"""The load average, per core, up to which a machine counts as having nothing else to do."""


@attrs.frozen
class ThroughputResult:
    """One scenario: what brokers did and what the raw relay did, in the same run."""

    scenario: str
    throughput: Throughput
    relay_throughput: Throughput
    latency: Latency
    relay_latency: Latency

    @property
    def of_relay(self) -> float:
        """The part of the relay's deliveries that brokers make."""
        return self.throughput.deliveries_per_s / max(self.relay_throughput.deliveries_per_s, 1.0)


RATES: Final[Sequence[Column[ThroughputResult]]] = (
    ("scenario", lambda each: each.scenario),
    ("events/s", lambda each: f"{each.throughput.events_per_s:,.0f}"),
    ("deliveries/s", lambda each: f"{each.throughput.deliveries_per_s:,.0f}"),
    ("relay deliveries/s", lambda each: f"{each.relay_throughput.deliveries_per_s:,.0f}"),
    ("of relay", lambda each: f"{each.of_relay:.0%}"),
    ("p50 ms", lambda each: f"{each.latency.p50_ms:.2f}"),
    ("p99 ms", lambda each: f"{each.latency.p99_ms:.2f}"),
    ("relay p50", lambda each: f"{each.relay_latency.p50_ms:.2f}"),
    ("relay p99", lambda each: f"{each.relay_latency.p99_ms:.2f}"),
)

WORK: Final[Sequence[Column[ThroughputResult]]] = (
    ("us per delivery", lambda each: each.scenario),
    ("publishers", lambda each: f"{each.throughput.work.publishers_us:.2f}"),
    ("brokers", lambda each: f"{each.throughput.work.brokers_us:.2f}"),
    ("subscribers", lambda each: f"{each.throughput.work.subscribers_us:.2f}"),
    ("relay publishers", lambda each: f"{each.relay_throughput.work.publishers_us:.2f}"),
    ("relays", lambda each: f"{each.relay_throughput.work.brokers_us:.2f}"),
    ("relay subscribers", lambda each: f"{each.relay_throughput.work.subscribers_us:.2f}"),
)
"""Where the processor time of a delivery goes."""


def _warn_if_busy() -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > _IDLE_LOAD * cores:
        click.echo(f"the machine is busy (load {load:.1f} on {cores} cores): figures will be low", err=True)


@click.command()
@round_options
@click.option("--ordering", default="pairwise", show_default=True, help="The brokers' ordering plugin.")
@click.option("--unread", is_flag=True, help="Subscribers count deliveries without looking at them.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of a table.")
def command(*, repeat: int | None, quick: bool, only: str, ordering: str, unread: bool, json_: bool) -> None:  # noqa: PLR0913 - one for each option
    """Measure throughput and latency end to end.

    Example: python -m harness.benchmarks.throughput --quick --only '1 x 1'
    """
    scenarios, timing = chosen(SCENARIOS, repeat, only, quick=quick)
    _warn_if_busy()
    target = Target("concord", ordering, reads=not unread)

    async def measure(scenario: BenchmarkScenario, timing: RoundTiming) -> ThroughputResult:
        """Measure the relay right beside the system, so that both have the same machine."""
        return ThroughputResult(
            scenario.name,
            throughput=await throughput(target, scenario, timing),
            relay_throughput=await throughput(_RELAY, scenario, timing),
            latency=await latency(target, scenario, timing),
            relay_latency=await latency(_RELAY, scenario, timing),
        )

    results = outcomes.run(measured, measure, scenarios, timing)
    if json_:
        content = {"machine": machine(), "results": [attrs.asdict(each) for each in results]}
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(
        f"End to end with --ordering {ordering}, 100-byte payloads, everything matching, deliveries "
        f"{'counted unread' if unread else 'read'}; medians of {timing.repeat} on {machine()}.\n"
        f"Latency at {timing.rate_per_s:.0f} events/s.\n"
    )
    show(table(RATES, results))
    click.echo("\nProcessor time per delivery.\n")
    show(table(WORK, results))


if __name__ == "__main__":
    command()
