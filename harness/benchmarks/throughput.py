"""Throughput and latency end to end, each scenario beside the raw relay of the same frames in the same run.

Run as `python -m harness.benchmarks.throughput`.
"""

import json
import os
from collections.abc import Sequence

import attrs
import click

from harness import outcomes
from harness.benchmarks.measurement import Target, latency, throughput
from harness.benchmarks.report import Result, as_json, machine, middle_of, table, work_table
from harness.benchmarks.scenario import QUICK, SCENARIOS, THOROUGH, Scenario, Timing

__all__ = ["command", "run"]

_RELAY = Target("relay")

_IDLE_LOAD = 0.5
"""The load average, per core, up to which a machine counts as having nothing else to do."""


async def _measure(target: Target, scenario: Scenario, timing: Timing) -> Result:
    """Once each, the relay right beside what it is compared with, so that both see the same machine."""
    return Result(
        scenario.name,
        throughput=await throughput(target, scenario, timing),
        relay_throughput=await throughput(_RELAY, scenario, timing),
        latency=await latency(target, scenario, timing),
        relay_latency=await latency(_RELAY, scenario, timing),
    )


async def _measure_all(target: Target, scenarios: Sequence[Scenario], timing: Timing) -> list[Result]:
    """Whole rounds, so that a slow minute of the machine does not hit all runs of one scenario."""
    rounds = []
    for number in range(1, timing.repeat + 1):
        round_ = []
        for scenario in scenarios:
            click.echo(f"run {number} of {timing.repeat}: {scenario.name}", err=True)
            round_.append(await _measure(target, scenario, timing))
        rounds.append(round_)
    return [middle_of(runs) for runs in zip(*rounds, strict=True)]


def run(target: Target, scenarios: Sequence[Scenario], timing: Timing) -> list[Result]:
    """Measure the scenarios; everything that is started ends before this returns, also if it fails."""
    return outcomes.run(_measure_all, target, scenarios, timing)


def _describe(results: Sequence[Result], target: Target, timing: Timing) -> str:
    """The table, under a line that says what it shows."""
    return (
        f"End to end with --ordering {target.ordering}, 100-byte payloads, everything matching, deliveries "
        f"{'read' if target.reads else 'counted unread'}; "
        f"medians of {timing.repeat} on {machine()}.\n"
        f"Latency at {timing.rate_per_s:.0f} events/s.\n\n{table(results)}\n\n"
        f"Processor time per delivery.\n\n{work_table(results)}"
    )


def _warn_if_busy() -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > _IDLE_LOAD * cores:
        click.echo(f"the machine is busy (load {load:.1f} on {cores} cores): figures will be low", err=True)


@click.command()
@click.option("--repeat", type=click.IntRange(min=1), help="Runs to take the medians of.  [default: 3]")
@click.option("--quick", is_flag=True, help="One short run.")
@click.option("--only", metavar="TEXT", default="", help="Only scenarios with this in their names.")
@click.option("--ordering", default="pairwise", show_default=True, help="The brokers' ordering plugin.")
@click.option("--unread", is_flag=True, help="Subscribers count deliveries without looking at them.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of a table.")
def command(*, repeat: int | None, quick: bool, only: str, ordering: str, unread: bool, json_: bool) -> None:  # noqa: PLR0913 - one for each option
    """Measure throughput and latency end to end.

    Example: python -m harness.benchmarks.throughput --quick --only '1 x 1'
    """
    timing = QUICK if quick else THOROUGH
    if repeat is not None:
        timing = attrs.evolve(timing, repeat=repeat)
    scenarios = [scenario for scenario in SCENARIOS if only in scenario.name]
    if not scenarios:
        known = ", ".join(scenario.name for scenario in SCENARIOS)
        raise click.UsageError(f"no scenario has {only!r} in its name; there are: {known}")
    _warn_if_busy()
    target = Target("concord", ordering, reads=not unread)
    results = run(target, scenarios, timing)
    click.echo(json.dumps(as_json(results), indent=2) if json_ else _describe(results, target, timing))


if __name__ == "__main__":
    command()
