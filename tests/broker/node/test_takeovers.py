"""One client, several connections: the newest one reads, whatever comes late by older ones."""

import pytest

from broker.messages import Advertise, Advertised, Ended, Fault, Hello, Subscribe, Subscribed
from broker.wire import VERSION, encode
from tests.broker.node.driven import Driven, Wire, driven

SUBSCRIBE = encode(Subscribe(1, "x > 0", True, 10, 1_000_000, "drop", durable="all"))


def come(broker: Driven, incarnation: str) -> Wire:
    """A process of the same name; what it asks for is still on its way."""
    wire = broker.accept()
    broker.say(wire, encode(Hello(VERSION, "client", "alice", incarnation, "", "")))
    broker.at(broker.now_s + 1)
    return wire


def test_what_an_older_connection_of_a_process_asks_for_late_takes_nothing() -> None:
    broker = driven()
    older, newer = come(broker, "one"), come(broker, "one")
    broker.say(newer, SUBSCRIBE)
    broker.say(older, SUBSCRIBE, encode(Advertise(2, "x > 0", "")))
    assert len(broker.frames_sent(newer, Subscribed)) == 1
    assert broker.frames_sent(newer, Ended) == []
    assert [each.code for each in broker.frames_sent(older, Fault)] == ["replaced"]
    assert broker.frames_sent(older, Advertised) == []
    assert older.is_ended
    assert not newer.is_ended


@pytest.mark.parametrize(("other", "last"), [("two", 0), ("one", 1)], ids=["process", "connection"])
def test_another_process_and_a_newer_connection_take_over(other: str, last: int) -> None:
    broker = driven()
    wires = come(broker, "one"), come(broker, other)
    taker, loser = wires[last], wires[1 - last]
    broker.say(loser, SUBSCRIBE)
    broker.say(taker, SUBSCRIBE)
    assert [each.code for each in broker.frames_sent(loser, Ended)] == ["taken-over"]
    assert len(broker.frames_sent(taker, Subscribed)) == 1
    assert not any(wire.is_ended for wire in wires)
