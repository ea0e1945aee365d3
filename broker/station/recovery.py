"""A station made again out of a snapshot and the records after it.

Law: it is the same as if it had never stopped. Nothing is connected, and nothing is left to be taken.
"""

from collections.abc import Iterable

from broker.routing import DEFAULT, Routing
from broker.station.errors import StationError
from broker.station.inputs import Begun, Input, read_record
from broker.station.picture import check_owner, station_from
from broker.station.replaying import replay
from broker.station.station import Station
from ordering.interface import OrderingFactory


def recover(  # noqa: PLR0913, PLR0917 - who the broker is, how it works, and what was written down
    name: str,
    ordering: OrderingFactory,
    ordering_name: str,
    snapshot: bytes | None,
    records: Iterable[bytes],
    routing: Routing = DEFAULT,
) -> Station | None:
    """Return the broker's station as it was, or None if nothing was written down.

    Raises:
        StationError: it is another broker's, another plugin's or another version's, or records are missing.
    """
    following = iter(records)
    if snapshot is not None:
        station = station_from(snapshot, name, ordering, ordering_name, routing)
    else:
        first = next(following, None)
        if first is None:
            return None
        station = _begun(read_record(first)[0], name, ordering, ordering_name, routing)
    for record in following:
        replay(station, record)
    station.recovered()
    return station


def _begun(
    first: Input, name: str, ordering: OrderingFactory, ordering_name: str, routing: Routing
) -> Station:
    if not isinstance(first, Begun):
        raise StationError(
            "the first record does not say whose the records are: records are missing before it"
        )
    check_owner(first, name, ordering_name)
    return Station(name, ordering, first.incarnation, ordering_name=ordering_name, routing=routing)
