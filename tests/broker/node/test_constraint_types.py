"""What brokers say where a constraint type is missing: at the greeting, to clients, and of rules."""

import pytest

from broker.addresses import Address
from broker.messages import Fault, Hello, Refused, Subscribed, Welcome
from broker.node.access import AuthError, read_access
from broker.server.settings import Settings
from broker.wire import VERSION, Peer, encode
from tests.broker.filters.divisible import DIVISIBLE, brought
from tests.broker.node.driven import driven
from tests.broker.node.test_attacks import advertise, subscribe

WANTED = "divisible(n, 4)"
LACKING = "'divisible' cannot be called; .* constraint types bring: in_network, near, version, within"


def manner() -> str:
    return Settings(name="B1", listen=Address("127.0.0.1", 7411)).manner


def test_neighbours_with_different_constraint_types_refuse_each_other_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with brought(monkeypatch, DIVISIBLE):
        theirs = manner()
    for name, own in (("B1", manner()), ("B3", theirs)):
        broker = driven(name, manner=own)
        wire = broker.accept(Peer.UPLINK)
        broker.say(wire, encode(Hello(VERSION, "broker", "B2", "1", theirs, "")))
        if own == theirs:
            assert isinstance(wire.messages[0], Welcome)
        else:
            (fault,) = wire.messages
            assert isinstance(fault, Fault)
            assert fault.code == "ordering"
            assert "B1 has 'constraint types network/1 place/1 version/1'" in fault.text
            assert "B2 has 'constraint types divisible/1 network/1 place/1 version/1'" in fault.text


def test_a_broker_that_lacks_a_type_refuses_its_clients_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = driven()
    client = broker.client()
    broker.say(client, subscribe(1, WANTED), advertise(2, f"{WANTED} and n > 0"))
    refused = broker.frames_sent(client, Refused)
    assert [(each.code, each.text.partition(":")[0]) for each in refused] == [
        ("filter", "column 1"),
        ("filter", "column 1"),
    ]
    assert all("constraint types bring: in_network, near, version, within" in each.text for each in refused)
    with brought(monkeypatch, DIVISIBLE):
        broker.say(client, subscribe(3, WANTED))
        assert len(broker.frames_sent(client, Subscribed)) == 1


def test_a_rule_is_checked_like_a_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {
        "users": {
            "ada": {"certificate": "ada", "subscribe": "divisible(n, 2) and in_network(ip, '10.0.0.0/8')"}
        }
    }
    with pytest.raises(AuthError, match=rf"users.ada.subscribe: column 1: {LACKING}"):
        read_access(rules)
    with brought(monkeypatch, DIVISIBLE):
        (user,) = read_access(rules).users or ()
        access = driven(access=read_access(rules))
        wire = access.accept(certificates=("ada",))
        access.say(wire, encode(Hello(VERSION, "client", "c", "1", "", "")))
        access.at(1)
        inside = "divisible(n, 4) and in_network(ip, '10.1.0.0/16') and n > 0"
        access.say(
            wire, subscribe(1, inside), subscribe(2, "divisible(n, 3) and in_network(ip, '10.1.0.0/16')")
        )
        assert [each.number for each in access.frames_sent(wire, Subscribed)] == [1]
        (refused,) = access.frames_sent(wire, Refused)
    assert (refused.number, refused.code) == (2, "not-allowed")
    assert user.name in refused.text
