"""Recovery of a station from a snapshot and the records after it.

Law: the station is the same as if it had never stopped: every record is applied exactly as its input was the
first time. No session is connected, and no effect is left to be taken.
"""

from collections.abc import Iterable
from contextlib import suppress

from broker.core import ProtocolError
from broker.errors import StationError
from broker.replay import Bounds
from broker.routing import DEFAULT, Routing
from broker.sessions import SessionError
from broker.station import inputs as i
from broker.station.snapshots import check_owner, station_from
from broker.station.station import Station
from ordering.interface import OrderingFactory


def recover(  # noqa: PLR0913, PLR0917 - the broker, its plugins, its snapshot and its records
    name: str,
    ordering: OrderingFactory,
    ordering_name: str,
    snapshot: bytes | None,
    records: Iterable[bytes],
    routing: Routing = DEFAULT,
) -> Station | None:
    """Return the broker's station as it was, or None if there is neither a snapshot nor a record.

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
        station = _begun(i.read_record(first)[0], name, ordering, ordering_name, routing)
    for record in following:
        replay(station, record)
    station.recovered()
    return station


def _begun(
    first: i.Input, name: str, ordering: OrderingFactory, ordering_name: str, routing: Routing
) -> Station:
    if not isinstance(first, i.Begun):
        raise StationError(
            "the first record does not say whose the records are: records are missing before it"
        )
    check_owner(first, name, ordering_name)
    return Station(name, ordering, first.incarnation, ordering_name=ordering_name, routing=routing)


def replay(station: Station, record: bytes) -> None:
    """Apply a record to a station without a recorder.

    Raises:
        StationError: the record is damaged, or does not follow on the state.
    """
    assert station.recorder is None, "what is replayed has been written down already"
    content, is_taken = i.read_record(record)
    if is_taken:
        station.take()
    try:
        _apply(station, content)
    except (LookupError, AttributeError, AssertionError, SessionError) as error:
        raise StationError(
            f"a {type(content).__name__} does not fit to what came before it ({error!r}): records are missing"
        ) from error


def _apply(station: Station, content: i.Input) -> None:  # noqa: C901, PLR0912, PLR0915 - one case per input
    match content:
        case i.Begun():
            pass
        case i.ReachedAt():
            station.reached_at(content.address)
        case i.TimePassed():
            station.time_passed(content.awake_ms, content.asleep_ms, content.at_ms)
        case i.Left():
            station.left(content.kind, content.name)
        case i.Came():
            station.came(content.kind, content.name)
        case i.LinkOpened():
            station.open_link(content.name, content.session, uplink=content.is_uplink)
        case i.LinkClosed():
            station.close_link(station.link_at(content.hop))
        case i.Acknowledged():
            station.acknowledged(station.link_at(content.hop), content.count)
        case i.ReceivedInput():
            # A protocol error is refused as it was the first time; the record of the closed link comes next.
            with suppress(ProtocolError):
                station.receive(station.link_at(content.hop), content.messages)
        case i.PublishedInput():
            station.publish(content.publications[0].publisher, content.publications)
        case i.AdvertisedInput():
            station.minted(content.minted)
            station.advertise(content.publisher, content.filter, client=content.client, user=content.user)
        case i.Unadvertised():
            station.unadvertise(content.publisher, retire=content.retires)
        case i.SubscribedInput():
            station.minted(content.minted)
            station.subscribe(content.subscription, content.terms, content.replay)
        case i.Unsubscribed():
            station.unsubscribe(content.subscription)
        case i.Taken():
            station.taken(content.subscription, content.position)
        case i.Dropped():
            station.drop(content.subscription, content.count)
        case i.CrossingContinued():
            station.continue_crossing()
        case i.Refreshed():
            station.refresh()
        case i.Swept():
            station.sweep(content.missed_renewals_max)
        case i.WayExplained():
            station.minted(content.minted)
            station.explain_way(content.question, content.publisher, content.sequence)
        case i.MoveWanted():
            station.minted(content.minted)
            station.move(content.question, content.broker, content.uplink, content.method)
        case i.StepFailed():
            station.step_failed(content.text)
        case i.ReplayWanted():
            station.replay_more(content.subscription, content.size_bytes)
        case i.ReplaysBounded():
            station.bound_replays(
                Bounds(content.size_bytes, content.count, content.part_bytes, content.step_count)
            )
        case i.CacheAged():
            station.forget_before(content.before_ns)
        case i.PositionMarked():
            station.mark_position()
