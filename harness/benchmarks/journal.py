"""Measures the journal: throughput and latency with it on beside off, starts, and snapshots.

Run as `python -m harness.benchmarks.journal`: all figures about journals but those of `make soak`. The disk
is the one of `--directory`: a sync there is timed and shown, because everything depends on it.

For a start a station takes runs of publications as a broker under load does, with a subscription that takes
all of them at once, and writes them down; then it is made again, from the records alone and from a snapshot.
"""

import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Final, TypeVar, cast

import attrs
import click
import trio

from broker.addresses import Address
from broker.filters import parse
from broker.journal import Journal
from broker.messages import Publication
from broker.server.apart import Apart
from broker.server.collector import undisturbed
from broker.server.memory import remember
from broker.server.settings import Settings
from broker.station import Station, SubscriptionTerms, recover, snapshot_of
from broker.station.inputs import read_frames
from broker.wire import encode_publication, publication_prefix
from harness import outcomes
from harness.benchmarks import stores
from harness.benchmarks.jobs import ADVERTISED, EVENTS, PAYLOAD_BYTES, SUBSCRIBED
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
from harness.tables import Column, show, shown, table, table_of
from ordering.interface import OrderingFactory
from ordering.plugins import load

_Found = TypeVar("_Found")

_MEASURED: Final = ("1 broker, 1 x 1", "1 broker, 4 x 4", "1 broker, 10 x 50", "5 brokers, 4 x 4")

_SYNCS: Final = 100

QUICK_COUNTS: Final = (10_000, 50_000)
THOROUGH_COUNTS: Final = (10_000, 50_000, 200_000, 800_000)

QUICK_SUBSCRIPTIONS: Final = (1_000,)
THOROUGH_SUBSCRIPTIONS: Final = (1_000, 10_000, 100_000)
"""Local subscriptions of the stations in the measured snapshots. The last takes 3 GB."""

_RUN: Final = 400
"""Publications that a busy broker reads at once."""

_PUBLISHER: Final = "p@B1/1"
_SUBSCRIPTION: Final = "s@B1/2"
_PREFIX: Final = publication_prefix(_PUBLISHER)
_PAYLOAD: Final = bytes(PAYLOAD_BYTES)


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f}"


@attrs.frozen
class StartTimes:
    """One journal, and how long it took to start from it."""

    publications: int = shown("publications", ",")
    journal_bytes: int = shown("journal MB", _megabytes)
    replayed_s: float = shown("replayed in s", ".2f")
    per_publication_us: float = shown("per publication us", ".1f")
    from_snapshot_s: float = shown("from a snapshot s", ".2f")


def _run(first: int) -> list[Publication]:
    frames = [
        encode_publication(_PREFIX, number, 0, EVENTS[number % len(EVENTS)], _PAYLOAD, ordered=True)
        for number in range(first, first + _RUN)
    ]
    return cast("list[Publication]", read_frames(b"".join(frames)))


def _live(station: Station, journal: Journal, count: int) -> None:
    station.begin(journal.append)
    station.advertise(_PUBLISHER, parse(ADVERTISED), client="p", user="")
    station.subscribe(_SUBSCRIPTION, SubscriptionTerms(parse(SUBSCRIBED), ordered=True))
    station.take()
    for first in range(1, count + 1, _RUN):
        station.publish(_PUBLISHER, _run(first))
        station.take()
        station.taken(_SUBSCRIPTION, first + _RUN - 1)
        station.take()
        journal.flush()


def _start(settings: Settings) -> tuple[float, Station, Journal]:
    started_s = perf_counter()
    memory = remember(settings)
    took_s = perf_counter() - started_s
    assert memory.journal is not None
    return took_s, memory.station, memory.journal


def _measure(count: int, directory: Path) -> StartTimes:
    settings = Settings(name="B1", listen=Address("127.0.0.1", 0), journal=directory / str(count))
    _, station, journal = _start(settings)
    _live(station, journal, count)
    written_bytes = journal.written_bytes
    journal.close()
    replayed_s, station, journal = _start(settings)
    station.begin(journal.append)
    journal.snapshot(snapshot_of(station), journal.appended)
    journal.close()
    from_snapshot_s, _, journal = _start(settings)
    journal.close()
    return StartTimes(count, written_bytes, replayed_s, replayed_s / count * 1e6, from_snapshot_s)


def starts(counts: Sequence[int], directory: Path) -> list[StartTimes]:
    """Measure a start for each number of publications."""
    with _folder(directory) as place:
        return [_measure(count, Path(place)) for count in counts]


@attrs.frozen
class SnapshotTimes:
    """A station with many subscriptions: its snapshot taken here, in a process apart, and loaded."""

    subscriptions: int = shown("subscriptions", ",")
    snapshot_bytes: int = shown("snapshot MB", _megabytes)
    here_s: float = shown("taken here s", ".2f")
    stall_s: float = shown("broker stopped by a process apart ms", lambda stall_s: f"{stall_s * 1000:.1f}")
    start_s: float = shown("start s", ".2f")
    start_processor_s: float = shown("of it processor s", ".2f")


def _station_of(subscriptions: int, ordering: OrderingFactory) -> Station:
    station = Station("B1", ordering, "1", ordering_name="pairwise")
    for number in range(subscriptions):
        wanted = parse(f"symbol == 'S{number}' and price > {number % 100}")
        station.subscribe(f"s{number}", SubscriptionTerms(wanted, ordered=True, client="c"))
    station.take()
    return station


async def _apart_s(snapshot: Callable[[], bytes]) -> float:
    apart = Apart()
    await apart(snapshot)
    return apart.last_stall_s


def snapshot_times(subscriptions: int) -> SnapshotTimes:
    """Measure snapshots of a station with so many subscriptions."""
    ordering = load("pairwise", {})
    station = _station_of(subscriptions, ordering)
    stall_s = trio.run(_apart_s, partial(snapshot_of, station))
    with undisturbed():
        started_s = perf_counter()
        snapshot = snapshot_of(station)
        taken_s, used_s = perf_counter(), process_time()
        recover("B1", ordering, "pairwise", snapshot, ())
        done_s, used_s = perf_counter(), process_time() - used_s
    return SnapshotTimes(subscriptions, len(snapshot), taken_s - started_s, stall_s, done_s - taken_s, used_s)


@attrs.frozen
class JournalComparison:
    """One scenario without and with journals."""

    scenario: str
    off: Throughput
    on: Throughput
    off_latency: Latency
    on_latency: Latency


def _folder(directory: Path) -> tempfile.TemporaryDirectory[str]:
    """Where journals are kept for a while."""
    return tempfile.TemporaryDirectory(prefix="concord-journals-", dir=directory, ignore_cleanup_errors=True)


async def _compare(directory: Path, scenario: BenchmarkScenario, timing: RoundTiming) -> JournalComparison:
    async def kept(measure: Callable[[Target, BenchmarkScenario, RoundTiming], Awaitable[_Found]]) -> _Found:
        with _folder(directory) as place:
            return await measure(Target("concord", journals=Path(place)), scenario, timing)

    off = Target("concord")
    return JournalComparison(
        scenario.name,
        off=await throughput(off, scenario, timing),
        on=await kept(throughput),
        off_latency=await latency(off, scenario, timing),
        on_latency=await kept(latency),
    )


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


_COMPARISONS: Final[Sequence[Column[JournalComparison]]] = (
    ("scenario", lambda each: each.scenario),
    ("deliveries/s", lambda each: f"{each.off.deliveries_per_s:,.0f}"),
    ("with journal", lambda each: f"{each.on.deliveries_per_s:,.0f}"),
    ("on over off", lambda each: f"{each.on.deliveries_per_s / max(each.off.deliveries_per_s, 1.0):.2f}"),
    ("p50 ms", lambda each: f"{each.off_latency.p50_ms:.2f}"),
    ("with journal", lambda each: f"{each.on_latency.p50_ms:.2f}"),
    ("p99 ms", lambda each: f"{each.off_latency.p99_ms:.2f}"),
    ("with journal", lambda each: f"{each.on_latency.p99_ms:.2f}"),
)


@click.command()
@round_options
@click.option(
    "--directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path(),
    help="Where the journals are kept meanwhile.  [default: here]",
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object instead of tables.")
def command(*, repeat: int | None, quick: bool, only: str, directory: Path, json_: bool) -> None:
    """Measure the cost of the journal, and how long a broker takes to start from one.

    Example: python -m harness.benchmarks.journal --quick --only '1 broker, 1 x 1'
    """
    offered = _MEASURED[:2] if quick else _MEASURED
    scenarios = [scenario for scenario in SCENARIOS if scenario.name in offered]
    scenarios, timing = chosen(scenarios, repeat, only, quick=quick)
    results = outcomes.run(measured, partial(_compare, directory), scenarios, timing)
    started = starts(QUICK_COUNTS if quick else THOROUGH_COUNTS, directory)
    snapshots = [
        snapshot_times(count) for count in (QUICK_SUBSCRIPTIONS if quick else THOROUGH_SUBSCRIPTIONS)
    ]
    synced_ms = sync_ms(directory)
    if json_:
        content = {
            "machine": machine(),
            "sync_ms": synced_ms,
            "results": [attrs.asdict(each) for each in results],
            "starts": [attrs.asdict(each) for each in started],
            "snapshots": [attrs.asdict(each) for each in snapshots],
        }
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(
        f"With a journal beside without, pairwise, 100-byte payloads, everything matching; medians of "
        f"{timing.repeat} on {machine()}.\nLatency at {timing.rate_per_s:.0f} events/s. A page is synced in "
        f"{synced_ms:.2f} ms.\n"
    )
    show(table(_COMPARISONS, results))
    click.echo("\nStarting from a journal, without any snapshot and with one of the last state.\n")
    show(table_of(started, words=0))
    click.echo("\nSnapshots of brokers with many subscriptions, and starting from one.\n")
    show(table_of(snapshots, words=0))
    click.echo("\nSegments of our own beside SQLite: ", nl=False)
    stores.compare(directory)


if __name__ == "__main__":
    command()
