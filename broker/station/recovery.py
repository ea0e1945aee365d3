"""A station made again out of a snapshot and the records after it.

Law: it is the same as if it had never stopped. Nothing is connected, and nothing is left to be taken.
"""

from collections.abc import Iterable
from itertools import chain

from broker.station.errors import StationError
from broker.station.inputs import Begun, read_record
from broker.station.replaying import replay
from broker.station.station import Station
from ordering.interface import OrderingFactory


def recover(
    name: str,
    ordering: OrderingFactory,
    ordering_name: str,
    snapshot: bytes | None,
    records: Iterable[bytes],
) -> Station | None:
    """Return the broker's station as it was, or None if nothing was written down.

    Raises:
        StationError: it is another broker's, another plugin's or another version's, or records are missing.
    """
    if snapshot is not None:
        raise StationError(f"a snapshot of {len(snapshot)} bytes cannot be read by this version")
    following = iter(records)
    first = next(following, None)
    if first is None:
        return None
    begun, _ = read_record(first)
    if not isinstance(begun, Begun):
        raise StationError(
            "the first record does not say whose the records are: records are missing before it"
        )
    check_owner(begun, name, ordering_name)
    station = Station(name, ordering, begun.incarnation, ordering_name=ordering_name)
    for record in chain((first,), following):
        replay(station, record)
    station.recovered()
    return station


def check_owner(begun: Begun, name: str, ordering_name: str) -> None:
    """Refuse what another broker wrote, or this one with another ordering plugin."""
    if begun.name != name:
        raise StationError(
            f"these records are of the broker {begun.name}, and this is {name}: "
            "every broker needs a journal of its own"
        )
    if begun.ordering != ordering_name:
        raise StationError(
            f"these records are of a broker with the ordering {begun.ordering!r}, and this has "
            f"{ordering_name!r}: start it with that ordering, or begin with an empty journal"
        )
