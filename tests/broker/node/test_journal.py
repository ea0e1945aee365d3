"""Nothing leaves before what it follows from is on disk, and everything leaves in the end, in order."""

from hypothesis import given
from hypothesis import strategies as st

from broker.messages import Advertise, Advertised, Flush, Flushed, Grant, Ping, Pong, Subscribe
from broker.node import Gone, JournalState, Synced
from broker.wire import DeliveredBatch, encode, encode_publication, publication_prefix
from tests.broker.node.driven import Driven, Wire, driven

ADVERTISE = encode(Advertise(1, "x > 0", ""))


def publications(prefix: bytes, first: int, count: int, payload: bytes = b"") -> list[bytes]:
    return [
        encode_publication(prefix, number, 0, {"x": 1}, payload, True)
        for number in range(first, first + count)
    ]


def publisher(broker: Driven, name: str = "alice") -> tuple[Wire, bytes]:
    wire = broker.client(name)
    broker.say(wire, ADVERTISE)
    broker.sync()
    (answer,) = broker.frames_sent(wire, Advertised)
    return wire, publication_prefix(answer.publisher)


STEPS = st.lists(st.tuples(st.sampled_from(["publish", "flush", "sync"]), st.integers(0, 3)), max_size=40)


@given(STEPS)
def test_an_answer_leaves_when_the_records_before_it_are_on_disk(steps: list[tuple[str, int]]) -> None:
    broker = driven(has_journal=True, syncs=False)
    wire, prefix = publisher(broker)
    sequence, number, synced = 1, 1, len(broker.records)
    covered: dict[int, int] = {}
    for what, count in steps:
        if what == "publish" and count:
            broker.say(wire, *publications(prefix, sequence, count))
            sequence += count
        elif what == "flush":
            number += 1
            broker.say(wire, encode(Flush(number)))
            covered[number] = len(broker.records)
        elif what == "sync":
            synced = max(synced, len(broker.records) - count)
            broker.step(Synced(synced))
        for answer in broker.frames_sent(wire, Flushed):
            assert covered.pop(answer.number) <= synced
        assert all(upto > synced for upto in covered.values())
    broker.sync()
    assert [answer.number for answer in broker.frames_sent(wire, Flushed)] == list(covered)


def test_a_delivery_waits_for_the_sync_of_its_publication() -> None:
    broker = driven(has_journal=True, syncs=False)
    wire, prefix = publisher(broker)
    reader = broker.client("bob")
    broker.say(reader, encode(Subscribe(1, "x > 0", True, 100, 1 << 20, "disconnect", "", 0, "", (), ())))
    broker.sync()
    broker.say(wire, *publications(prefix, 1, 3))
    assert broker.frames_sent(reader, DeliveredBatch) == []
    broker.step(Synced(len(broker.records) - 1))
    assert broker.frames_sent(reader, DeliveredBatch) == []
    broker.sync()
    (batch,) = broker.frames_sent(reader, DeliveredBatch)
    assert len(batch.frames) == 3


def test_what_follows_from_no_record_waits_for_no_sync_and_overtakes_nothing() -> None:
    broker = driven(has_journal=True, syncs=False)
    wire, prefix = publisher(broker)
    other = broker.client("bob")
    broker.say(wire, *publications(prefix, 1, 1), encode(Flush(2)))
    broker.say(other, encode(Ping(7)))
    assert [pong.number for pong in broker.frames_sent(other, Pong)] == [7]
    broker.say(wire, encode(Ping(8)))
    assert broker.frames_sent(wire, Pong) == []
    broker.sync()
    names = [type(each).__name__ for each in wire.messages]
    assert names.index("Flushed") < names.index("Pong")


def test_a_connection_that_ends_waits_for_the_disk_before_it_is_closed() -> None:
    broker = driven(has_journal=True, syncs=False)
    wire, prefix = publisher(broker)
    broker.say(wire, *publications(prefix, 1, 1), encode(Flush(2)), b"\x00\x00\x00\x02\xff\x00")
    assert not wire.is_ended
    broker.sync()
    assert [type(each).__name__ for each in wire.messages][-2:] == ["Flushed", "Fault"]
    assert wire.is_ended


def test_a_connection_that_broke_is_closed_at_once() -> None:
    broker = driven(has_journal=True, syncs=False)
    wire, prefix = publisher(broker)
    broker.say(wire, *publications(prefix, 1, 1), encode(Flush(2)))
    broker.step(Gone(wire.number, "broken"))
    assert wire.is_ended
    assert wire.number not in broker.node.connections


def test_without_room_nothing_is_granted_until_there_is_some() -> None:
    broker = driven(has_journal=True)
    wire, prefix = publisher(broker)
    broker.frames_sent(wire, Grant)
    broker.step(JournalState(has_room=False, is_full=False))
    broker.say(wire, *publications(prefix, 1, 400, bytes(1000)))
    assert broker.frames_sent(wire, Grant) == []
    broker.step(JournalState(has_room=True, is_full=False))
    assert sum(grant.size_bytes for grant in broker.frames_sent(wire, Grant)) >= 400_000
