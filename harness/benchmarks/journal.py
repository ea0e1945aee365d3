"""What the journal costs: throughput and latency with it on beside off, starts, and pictures.

Run as `python -m harness.benchmarks.journal`: all figures about journals but those of `make soak`. The disk
is the one of `--directory`: a sync there is timed and shown, because everything depends on it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final

import attrs
import click

from harness import outcomes
from harness.benchmarks import stores
from harness.benchmarks.measurement import Latency, Target, Throughput, latency, throughput
from harness.benchmarks.recovery import (
    QUICK_COUNTS,
    QUICK_SUBSCRIPTIONS,
    THOROUGH_COUNTS,
    THOROUGH_SUBSCRIPTIONS,
    Pictured,
    Start,
    pictured,
    starts,
)
from harness.benchmarks.report import aligned, machine, middle_of
from harness.benchmarks.scenario import QUICK, SCENARIOS, THOROUGH, Scenario, Timing

__all__ = ["Comparison", "command", "sync_ms"]

_MEASURED: Final = ("1 broker, 1 x 1", "1 broker, 4 x 4", "1 broker, 10 x 50", "5 brokers, 4 x 4")

_SYNCS: Final = 100

_HEADINGS: Final = (
    "scenario",
    "deliveries/s",
    "with journal",
    "on over off",
    "p50 ms",
    "with journal",
    "p99 ms",
    "with journal",
)

_START_HEADINGS: Final = (
    "publications",
    "journal MB",
    "replayed in s",
    "per publication us",
    "from a snapshot s",
)


_PICTURE_HEADINGS: Final = (
    "subscriptions",
    "picture MB",
    "taken here s",
    "held up by a process apart ms",
    "start s",
)


@attrs.frozen
class Comparison:
    """One scenario without and with journals."""

    scenario: str
    off: Throughput
    on: Throughput
    off_latency: Latency
    on_latency: Latency


@contextmanager
def _journals(directory: Path) -> Iterator[Target]:
    """Brokers whose journals are there while the block lasts."""
    place = Path(tempfile.mkdtemp(prefix="concord-journals-", dir=directory))
    try:
        yield Target("concord", journals=place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _compare(scenario: Scenario, timing: Timing, directory: Path) -> Comparison:
    off = Target("concord")
    off_throughput = await throughput(off, scenario, timing)
    with _journals(directory) as on:
        on_throughput = await throughput(on, scenario, timing)
    off_latency = await latency(off, scenario, timing)
    with _journals(directory) as on:
        on_latency = await latency(on, scenario, timing)
    return Comparison(scenario.name, off_throughput, on_throughput, off_latency, on_latency)


async def _compare_all(scenarios: Sequence[Scenario], timing: Timing, directory: Path) -> list[Comparison]:
    rounds = []
    for number in range(1, timing.repeat + 1):
        round_ = []
        for scenario in scenarios:
            click.echo(f"run {number} of {timing.repeat}: {scenario.name}", err=True)
            round_.append(await _compare(scenario, timing, directory))
        rounds.append(round_)
    return [middle_of(runs) for runs in zip(*rounds, strict=True)]


def sync_ms(directory: Path) -> float:
    """The median time of writing and syncing a page there."""
    with tempfile.TemporaryFile(dir=directory) as file:
        page = bytes(4096)
        os.pwrite(file.fileno(), page * _SYNCS, 0)
        os.fsync(file.fileno())
        times_s = []
        for number in range(_SYNCS):
            started_s = perf_counter()
            os.pwrite(file.fileno(), page, number * len(page))
            os.fdatasync(file.fileno())
            times_s.append(perf_counter() - started_s)
    return sorted(times_s)[_SYNCS // 2] * 1000


def _cells(each: Comparison) -> tuple[str, ...]:
    off, on = each.off.deliveries_per_s, each.on.deliveries_per_s
    return (
        each.scenario,
        f"{off:,.0f}",
        f"{on:,.0f}",
        f"{on / max(off, 1.0):.2f}",
        f"{each.off_latency.p50_ms:.2f}",
        f"{each.on_latency.p50_ms:.2f}",
        f"{each.off_latency.p99_ms:.2f}",
        f"{each.on_latency.p99_ms:.2f}",
    )


def _start_cells(start: Start) -> tuple[str, ...]:
    return (
        f"{start.publications:,}",
        f"{start.journal_bytes / 1e6:.1f}",
        f"{start.replayed_s:.2f}",
        f"{start.replayed_s / start.publications * 1e6:.1f}",
        f"{start.pictured_s:.2f}",
    )


def _picture_cells(each: Pictured) -> tuple[str, ...]:
    return (
        f"{each.subscriptions:,}",
        f"{each.picture_bytes / 1e6:.1f}",
        f"{each.here_s:.2f}",
        f"{each.stall_s * 1000:.1f}",
        f"{each.start_s:.2f}",
    )


@click.command()
@click.option("--repeat", type=click.IntRange(min=1), help="Runs to take the medians of.  [default: 3]")
@click.option("--quick", is_flag=True, help="One short run.")
@click.option("--only", metavar="TEXT", default="", help="Only scenarios with this in their names.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path(),
    help="Where the journals are kept meanwhile.  [default: here]",
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of tables.")
def command(*, repeat: int | None, quick: bool, only: str, directory: Path, json_: bool) -> None:
    """Measure what the journal costs, and how long a broker takes to start from one.

    Example: python -m harness.benchmarks.journal --quick --only '1 broker, 1 x 1'
    """
    timing = QUICK if quick else THOROUGH
    if repeat is not None:
        timing = attrs.evolve(timing, repeat=repeat)
    measured = _MEASURED[:2] if quick else _MEASURED
    scenarios = [each for each in SCENARIOS if each.name in measured and only in each.name]
    if not scenarios:
        raise click.UsageError(f"no scenario has {only!r} in its name; there are: {'; '.join(measured)}")
    results = outcomes.run(_compare_all, scenarios, timing, directory)
    started = starts(QUICK_COUNTS if quick else THOROUGH_COUNTS, directory)
    pictures = [pictured(count) for count in (QUICK_SUBSCRIPTIONS if quick else THOROUGH_SUBSCRIPTIONS)]
    synced_ms = sync_ms(directory)
    if json_:
        content = {
            "machine": machine(),
            "sync_ms": synced_ms,
            "results": [attrs.asdict(each) for each in results],
            "starts": [attrs.asdict(each) for each in started],
            "pictures": [attrs.asdict(each) for each in pictures],
        }
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(
        f"With a journal beside without, pairwise, 100-byte payloads, everything matching; medians of "
        f"{timing.repeat} on {machine()}.\nLatency at {timing.rate_per_s:.0f} events/s. A page is synced in "
        f"{synced_ms:.2f} ms.\n\n{aligned([_HEADINGS, *map(_cells, results)])}\n\n"
        f"Starting from a journal, without any snapshot and with one of the last state.\n\n"
        f"{aligned([_START_HEADINGS, *map(_start_cells, started)])}\n\n"
        f"Pictures of brokers with many subscriptions, and starting from one.\n\n"
        f"{aligned([_PICTURE_HEADINGS, *map(_picture_cells, pictures)])}\n\n"
        f"Segments of our own beside SQLite: {stores.table(directory)}"
    )


if __name__ == "__main__":
    command()
