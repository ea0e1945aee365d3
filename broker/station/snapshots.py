"""A snapshot of a whole station, taken between two steps, and the station restored from it.

A snapshot holds the state of each *part* of the core and of the ordering plugin, and the states of links,
publishers and subscriptions. State that follows from the rest is left out and computed again: compiled
filters, the matching index, routes, fans of hops. The constructors of the core connect the parts, so these
references are not written. So a new field of any part is in the snapshot without a line here, unless its
value cannot be written; that is an error at the first snapshot.

Law: a station that is restored from a snapshot behaves from then on as the other would have.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import cbor2

from broker.core import BrokerCore
from broker.core.hops import HopTable
from broker.core.tables import RoutingTables
from broker.errors import StationError
from broker.replay import Cache
from broker.routing import DEFAULT, Routing
from broker.station.inputs import FORMAT as RECORD_FORMAT
from broker.station.inputs import Begun
from broker.station.station import Station
from broker.station.value_reader import ValueReader
from broker.station.values import Writer
from broker.wire import WireError
from broker.wire.cbor import KNOWN_TAGS
from ordering.interface import Context, OrderingFactory

FORMAT: Final = f"11.{RECORD_FORMAT}"
"""Of snapshots: ours, and that of the frames in them."""

DERIVED: Final[Mapping[type, frozenset[str]]] = {
    BrokerCore: frozenset({"_handlers", "ordering", "ways"}),
    HopTable: frozenset({"_fan_outs"}),
    RoutingTables: frozenset({"_interests", "_index", "_named", "offered"}),
    Cache: frozenset({"_runs", "_chains"}),
}
"""Fields of parts that are computed again, not written. The ways and the cache are written on their own."""

PACKAGES: Final = (
    "broker.core",
    "broker.healing",
    "broker.messages",
    "broker.move_messages",
    "broker.routing",
    "broker.replay",
    "broker.replay_messages",
    "broker.sessions",
    "broker.station",
    "ordering.interface",
)
"""The packages whose classes a snapshot may hold, beside the package of the plugin."""

_BIGNUM_TAGS: Final = frozenset({2, 3})
"""Sets of hops are whole numbers of any length."""


def _refuse_tag(*_: object) -> object:
    raise ValueError("it has a tag that no snapshot has")


_TAGS: Final = {tag: _refuse_tag for tag in KNOWN_TAGS if tag not in _BIGNUM_TAGS}


_DAMAGES: Final = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RecursionError,
    WireError,
    cbor2.CBORError,
)
"""Errors that a damaged snapshot may raise when it is read; its file's checksum finds damage before."""


def snapshot_of(station: Station) -> bytes:
    """Return the snapshot of a station whose effects have just been taken.

    Raises:
        SnapshotError: the state of its ordering plugin cannot be written.
    """
    core = station.core
    parts = core.parts()
    writer = Writer(parts)
    state = [
        [list(state_of(part, parts, writer)) for part in parts],
        writer.write(core.ways.passed()),
        writer.write(core.tables.exposures()),
        writer.write(core.cache.columns()),
        [writer.write(each) for each in station.state()],
    ]
    owner = [FORMAT, station.name, station.incarnation, station.ordering_name]
    return cbor2.dumps([*owner, writer.tables(), state])


def station_from(
    snapshot: bytes, name: str, ordering: OrderingFactory, ordering_name: str, routing: Routing = DEFAULT
) -> Station:
    """Restore the station of a snapshot.

    Raises:
        StationError: it is no snapshot of this broker with this plugin by this version.
    """
    try:
        begun, tables, state = _load(snapshot)
        check_owner(begun, name, ordering_name)
        station = Station(name, ordering, begun.incarnation, ordering_name=ordering_name, routing=routing)
        _fill(station, tables, state)
    except _DAMAGES as error:
        raise StationError(
            f"a snapshot of {len(snapshot)} bytes cannot be read ({error!r}): "
            "it is damaged, or was written by another version"
        ) from error
    return station


def _load(snapshot: bytes) -> tuple[Begun, list[Any], list[Any]]:
    written = cbor2.loads(snapshot, semantic_decoders=_TAGS, tag_hook=_refuse_tag)
    if written[0] != FORMAT:
        raise StationError(
            f"a snapshot of format {written[0]} cannot be read by this version, which writes {FORMAT}: "
            "start the version that wrote it, or begin with an empty journal"
        )
    _, name, incarnation, ordering, tables, state = written
    return Begun(RECORD_FORMAT, name, incarnation, ordering), tables, state


def check_owner(begun: Begun, name: str, ordering_name: str) -> None:
    """Refuse a snapshot or records of another broker, or of another ordering plugin.

    Raises:
        StationError: the name or the ordering differs.
    """
    if begun.name != name:
        raise StationError(
            f"this was written by the broker {begun.name}, and this is {name}: "
            "every broker needs a journal of its own"
        )
    if begun.ordering != ordering_name:
        raise StationError(
            f"this was written with the ordering {begun.ordering!r}, and this broker has {ordering_name!r}: "
            "start it with that ordering, or begin with an empty journal"
        )


def _fill(station: Station, tables: list[Any], state: list[Any]) -> None:
    core = station.core
    parts = core.parts()
    plugin_package = type(parts[-1]).__module__.partition(".")[0]
    reader = ValueReader(tables, parts, (*PACKAGES, plugin_package))
    part_states, ways, exposures, cached, station_state = state
    for part, fields in zip(parts, part_states, strict=True):
        allowed = set(_fields_of(part))
        for field, value in fields:
            if field not in allowed:
                raise StationError(
                    f"a snapshot has {field} of a {type(part).__name__}: it is of another version"
                )
            object.__setattr__(part, field, reader.read(value))
    core.ways.restore(reader.read(ways))
    core.tables.rebuild(reader.read(exposures))
    core.rebuild()
    core.cache.restore(reader.read(cached))
    station.restore(*[reader.read(value) for value in station_state])


def state_of(part: object, parts: Sequence[object], writer: Writer) -> Iterator[list[object]]:
    """Yield the fields of a part that hold state, with their values."""
    for field in _fields_of(part):
        value = getattr(part, field)
        is_wired = callable(value) or isinstance(value, Context) or any(value is each for each in parts)
        if not is_wired:
            yield [field, writer.write(value)]


def _fields_of(part: object) -> list[str]:
    owner = type(part)
    named = [each.name for each in attrs.fields(owner)] if attrs.has(owner) else list(vars(part))
    derived = DERIVED.get(owner, frozenset()) | getattr(owner, "DERIVED", frozenset())
    return [field for field in named if field not in derived]
