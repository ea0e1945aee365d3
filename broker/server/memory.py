"""How a broker starts: recovered from its journal, or fresh.

Law: every error, from the directory to a record that does not fit, is found before a socket is opened, and
reported in one sentence.
"""

import secrets
from collections.abc import Callable
from time import perf_counter

import structlog
from attrs import frozen

from broker.journal import Journal, open_journal
from broker.server.collector import undisturbed
from broker.server.settings import Settings, SettingsError
from broker.station import Station, recover
from ordering.interface import OptionError, OrderingFactory
from ordering.plugins import UnknownOrderingError, caution, load

_INCARNATION_BYTES = 4
"""Enough that two runs of one broker are never taken for each other."""

Over = Callable[[OrderingFactory], OrderingFactory]
"""Makes another ordering plugin out of one, such as one that is watched."""

_log = structlog.get_logger()


@frozen
class Memory:
    """The station, and its journal if there is one.

    `replayed_s` is how long replaying took: the next start would take as long, but for a snapshot.
    """

    station: Station
    journal: Journal | None
    replayed_s: float = 0.0


def remember(settings: Settings, over: Over | None = None) -> Memory:
    """Make or recover the station, its ordering plugin wrapped if wanted. Raises `ConcordError`."""
    try:
        ordering = load(settings.ordering, settings.ordering_options)
        memory = _remember(settings, ordering if over is None else over(ordering))
    except (UnknownOrderingError, OptionError) as error:
        # Options are looked at when the plugin is made, which is when the station is.
        raise SettingsError(f"--ordering {settings.ordering}: {error}") from error
    if text := caution(settings.ordering):
        _log.warning(text, ordering=settings.ordering)
    return memory


def _remember(settings: Settings, ordering: OrderingFactory) -> Memory:
    if settings.journal is None:
        incarnation = secrets.token_hex(_INCARNATION_BYTES)
        return Memory(_fresh(settings, ordering, incarnation), None)
    journal = open_journal(settings.journal, settings.name)
    try:
        started_s = perf_counter()
        station = _recovered(settings, ordering, journal)
        # Without records all of it was the snapshot, and another snapshot would change nothing.
        replayed_s = perf_counter() - started_s if journal.recovered.count else 0.0
        return Memory(station, journal, replayed_s)
    except BaseException:
        journal.close()
        raise


def _ordering_name(settings: Settings) -> str:
    """The plugin with its options, and the routing: what is written with one makes no sense to another.

    Routing is always named: a journal outlives what brokers do if nothing is said.
    """
    options = sorted(settings.ordering_options.items())
    words = [settings.ordering, *(f"{key}={value}" for key, value in options)]
    return f"{' '.join(words)}, routing {settings.routing}"


def _fresh(settings: Settings, ordering: OrderingFactory, incarnation: str) -> Station:
    return Station(
        settings.name, ordering, incarnation, ordering_name=_ordering_name(settings), routing=settings.routing
    )


def _recovered(settings: Settings, ordering: OrderingFactory, journal: Journal) -> Station:
    """Replay the records of the journal; new ones are written after `Station.begin`."""
    recovered = journal.recovered
    for note in recovered.notes:
        _log.warning("journal repaired", journal=str(journal.path), what=note)
    started_s = perf_counter()
    snapshot_bytes = len(recovered.snapshot or b"")
    with undisturbed():
        station = recover(
            settings.name,
            ordering,
            _ordering_name(settings),
            recovered.snapshot,
            recovered.records(),
            settings.routing,
        )
    recovered.forget()
    if station is None:
        _log.info("journal begun", journal=str(journal.path))
        return _fresh(settings, ordering, journal.incarnation)
    _log.info(
        "journal replayed",
        journal=str(journal.path),
        records=recovered.count,
        snapshot_bytes=snapshot_bytes,
        seconds=round(perf_counter() - started_s, 3),
    )
    return station
