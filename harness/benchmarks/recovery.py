"""How long it takes to make a broker's state again out of its journal.

A station takes runs of publications as a broker under load does, with a subscription that takes all of them
at once, and writes them down; then it is made again, from the records alone and from a picture.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final, cast

import attrs
import trio

from broker.addresses import Address
from broker.filters import parse
from broker.journal import Journal
from broker.messages import Publication
from broker.server.apart import Apart
from broker.server.collector import undisturbed
from broker.server.memory import remember
from broker.server.settings import Settings
from broker.station import Station, picture_of, recover
from broker.station.inputs import read_frames
from broker.wire import encode_publication, publication_prefix
from harness.benchmarks.frames import ADVERTISED, EVENTS, PAYLOAD_BYTES, SUBSCRIBED
from ordering.interface import OrderingFactory
from ordering.plugins import load

__all__ = [
    "QUICK_COUNTS",
    "QUICK_SUBSCRIPTIONS",
    "THOROUGH_COUNTS",
    "THOROUGH_SUBSCRIPTIONS",
    "Pictured",
    "Start",
    "pictured",
    "starts",
]

QUICK_COUNTS: Final = (10_000, 50_000)
THOROUGH_COUNTS: Final = (10_000, 50_000, 200_000, 800_000)

QUICK_SUBSCRIPTIONS: Final = (1_000,)
THOROUGH_SUBSCRIPTIONS: Final = (1_000, 10_000, 100_000)
"""Local subscriptions of the stations that pictures are taken of. The last takes 3 GB."""

_RUN: Final = 400
"""Publications that a busy broker reads at once."""

_PUBLISHER: Final = "p@B1/1"
_SUBSCRIPTION: Final = "s@B1/2"
_PREFIX: Final = publication_prefix(_PUBLISHER)
_PAYLOAD: Final = bytes(PAYLOAD_BYTES)


@attrs.frozen
class Start:
    """One journal, and how long it took to start from it."""

    publications: int
    journal_bytes: int
    replayed_s: float
    pictured_s: float


def _run(first: int) -> list[Publication]:
    frames = [
        encode_publication(_PREFIX, number, 0, EVENTS[number % len(EVENTS)], _PAYLOAD, ordered=True)
        for number in range(first, first + _RUN)
    ]
    return cast("list[Publication]", read_frames(b"".join(frames)))


def _live(station: Station, journal: Journal, count: int) -> None:
    station.begin(journal.append)
    station.advertise(_PUBLISHER, parse(ADVERTISED), client="p", user="")
    station.subscribe(_SUBSCRIPTION, parse(SUBSCRIBED), ordered=True)
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


def _measure(count: int, directory: Path) -> Start:
    settings = Settings(name="B1", listen=Address("127.0.0.1", 0), journal=directory / str(count))
    _, station, journal = _start(settings)
    _live(station, journal, count)
    written_bytes = journal.written_bytes
    journal.close()
    replayed_s, station, journal = _start(settings)
    station.begin(journal.append)
    journal.snapshot(picture_of(station), journal.appended)
    journal.close()
    pictured_s, _, journal = _start(settings)
    journal.close()
    return Start(count, written_bytes, replayed_s, pictured_s)


def starts(counts: Sequence[int], directory: Path) -> list[Start]:
    """Measure a start for each number of publications."""
    place = Path(tempfile.mkdtemp(prefix="concord-journals-", dir=directory))
    try:
        return [_measure(count, place) for count in counts]
    finally:
        shutil.rmtree(place, ignore_errors=True)


@attrs.frozen
class Pictured:
    """A station with many subscriptions: what its picture costs here, apart, and at a start."""

    subscriptions: int
    picture_bytes: int
    here_s: float
    stall_s: float
    start_s: float


def _station_of(subscriptions: int, ordering: OrderingFactory) -> Station:
    station = Station("B1", ordering, "1", ordering_name="pairwise")
    for number in range(subscriptions):
        wanted = parse(f"symbol == 'S{number}' and price > {number % 100}")
        station.subscribe(f"s{number}", wanted, ordered=True, client="c")
    station.take()
    return station


async def _apart_s(picture: Callable[[], bytes]) -> float:
    apart = Apart()
    await apart(picture)
    return apart.last_stall_s


def pictured(subscriptions: int) -> Pictured:
    """Measure pictures of a station with so many subscriptions."""
    ordering = load("pairwise", {})
    station = _station_of(subscriptions, ordering)
    stall_s = trio.run(_apart_s, partial(picture_of, station))
    with undisturbed():
        started_s = perf_counter()
        picture = picture_of(station)
        taken_s = perf_counter()
        recover("B1", ordering, "pairwise", picture, ())
        done_s = perf_counter()
    return Pictured(subscriptions, len(picture), taken_s - started_s, stall_s, done_s - taken_s)
