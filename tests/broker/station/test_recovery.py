"""What is recovered is whole, or refused with a message that says why."""

import pytest

from broker.errors import StationError
from broker.filters import parse
from broker.station import Station, SubscriptionTerms, recover, snapshot_of
from ordering import plugins
from tests.broker.station.stations import publication

FIFO = plugins.load("fifo")


def records() -> list[bytes]:
    written: list[bytes] = []
    station = Station("B1", FIFO, "k3f9", ordering_name="fifo")
    station.begin(written.append)
    terms = SubscriptionTerms(parse("True"), ordered=True, client="c", user="u", durable="audit")
    station.subscribe("s", terms)
    station.advertise(station.mint("p"), parse("True"), client="c", user="u")
    station.take()
    station.publish("p@B1.k3f9/1", [publication("p@B1.k3f9/1", 1, "a")])
    station.take()
    station.unadvertise("p@B1.k3f9/1", retire=True)
    return written


def test_without_records_there_is_nothing_to_recover() -> None:
    assert recover("B1", FIFO, "fifo", None, []) is None


def test_incarnation_ids_durable_names_and_retired_publishers_survive() -> None:
    station = recover("B1", FIFO, "fifo", None, records())
    assert station is not None
    assert station.incarnation == "k3f9"
    assert station.mint("p") == "p@B1.k3f9/2"
    assert station.resumable("p@B1.k3f9/1", "c", "u") == 1
    assert station.resumable("p@B1.k3f9/1", "somebody", "else") is None
    place = station.durable("u", "c", "audit")
    assert place is not None
    assert place.emitted == 1


def test_whether_a_publisher_is_wanted_survives_and_goes_on() -> None:
    written: list[bytes] = []
    station = Station("B1", FIFO, "k3f9", ordering_name="fifo")
    station.begin(written.append)
    station.advertise("p", parse("c == 1"))
    station.take()
    station.subscribe("s", SubscriptionTerms(parse("True"), ordered=True))
    station.take()
    for snapshot, after in ((None, written), (snapshot_of(station), [])):
        again = recover("B1", FIFO, "fifo", snapshot, after)
        assert again is not None
        assert again.publishers["p"].is_wanted
        again.begin(lambda _: None)
        again.unsubscribe("s")
        assert again.take().wanted == [("p", False)]
        assert not again.publishers["p"].is_wanted


def test_a_recovered_station_records_what_follows_and_not_its_name_again() -> None:
    written = records()
    station = recover("B1", FIFO, "fifo", None, written)
    assert station is not None
    after: list[bytes] = []
    station.begin(after.append)
    station.taken("s", 1)
    assert len(after) == 1
    again = recover("B1", FIFO, "fifo", None, written + after)
    assert again is not None
    assert again.subscriptions["s"].taken == 1


@pytest.mark.parametrize("missing", [0, 2])
def test_records_that_later_ones_need_are_missed(missing: int) -> None:
    written = records()
    del written[missing]
    with pytest.raises(StationError, match="records are missing"):
        recover("B1", FIFO, "fifo", None, written)
