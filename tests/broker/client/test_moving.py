"""A client's machine that knows several brokers: which one it dials when."""

import pytest

from broker import messages as m
from broker.client.life import ClientLife
from broker.client.machine import KEPT_HEARTBEATS
from broker.client.questions import BROKERS, Question
from broker.errors import ConnectionFailedError
from tests.broker.client.scripted import ADDRESS, HEARTBEAT_MS
from tests.broker.client.talk import Talk


def test_a_first_connection_is_tried_at_every_address() -> None:
    talk = Talk(others=("B2:1", "B3:1"))
    dialled = []
    while talk.life() is not ClientLife.CLOSED:
        dialled.append(talk.machine.address)
        talk.refuse()
        if talk.life() is ClientLife.WAITING:
            talk.pass_to_deadline()
    assert dialled == [ADDRESS, "B2:1", "B3:1"]
    failure = talk.machine.failure
    assert isinstance(failure, ConnectionFailedError)
    reasons = [f"cannot connect to {each}: connection refused" for each in dialled]
    assert str(failure) == "; ".join(reasons)
    assert failure.address == f"{ADDRESS}, B2:1, B3:1"


def test_a_lost_broker_is_dialled_for_as_long_as_it_keeps_what_is_ours_and_then_others() -> None:
    talk = Talk(others=("B2:1", "B3:1"))
    talk.connect()
    lost_s = talk.now_s
    talk.lose()
    dialled: dict[str, float] = {}
    while True:
        talk.pass_to_deadline()
        dialled.setdefault(talk.machine.address, talk.now_s - lost_s)
        if len(dialled) == 3:
            break
        talk.refuse()
    kept_s = KEPT_HEARTBEATS * HEARTBEAT_MS / 1000
    assert list(dialled) == [ADDRESS, "B2:1", "B3:1"]
    assert kept_s <= dialled["B2:1"] < kept_s * 1.1
    talk.connect()
    assert [(each.state, each.address) for each in talk.changes] == [
        ("connected", ADDRESS),
        ("reconnecting", ADDRESS),
        ("connected", "B3:1"),
    ]
    talk.reconnect()
    assert talk.machine.address == "B3:1"


def test_who_only_asks_where_brokers_are_goes_to_none_of_them() -> None:
    talk = Talk()
    talk.connect()
    talk.session.ask(question := Question("", 0, BROKERS))
    talk.say(m.Explained(1, ('{"address": "B3:1"}',)))
    assert question.addresses() == ("B3:1",)
    talk.say(m.Fault("closing", "the broker is shutting down"))
    talk.close()
    assert talk.machine.address == ADDRESS


def test_brokers_are_learned_from_the_one_that_is_there() -> None:
    talk = Talk(others=("B2:1",), learns=True)
    talk.connect()
    assert talk.frames_sent() == [m.Explain(1, "", 0, "brokers")]
    lines = ['{"address": "B3:1"}', '{"address": "B2:1"}', '{"address": "B4:0"}', '{"address": "[x"}', "{}"]
    talk.say(m.Explained(1, (lines[0],), more=True), m.Explained(1, tuple(lines[1:])))
    talk.say(m.Fault("closing", "the broker is shutting down"))
    talk.close()
    dialled = []
    for _ in range(4):
        talk.pass_to_deadline()
        dialled.append(talk.machine.address)
        talk.refuse()
    assert dialled == ["B2:1", "B3:1", ADDRESS, "B2:1"]
    talk.connect()
    assert m.Explain(1, "", 0, "brokers") in talk.frames_sent()


@pytest.mark.parametrize(("code", "place"), [("closing", 1), ("restarting", 0)])
def test_a_broker_that_closes_for_good_is_left_at_once(code: str, place: int) -> None:
    talk = Talk(others=("B2:1",))
    talk.connect()
    talk.say(m.Fault(code, "the broker is shutting down"))
    talk.close()
    assert talk.machine.address == (ADDRESS, "B2:1")[place]
