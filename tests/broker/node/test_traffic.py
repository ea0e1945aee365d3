"""What a node answers about traffic: to whom, and what it has counted."""

import hashlib
import json

import pytest

from broker import messages as m
from broker.advice import BrokerTraffic, read_traffic
from broker.advice.traffic import Readership
from broker.node import traffic
from broker.node.access import read_access
from broker.node.totals import Totals
from broker.wire import encode, encode_publication, publication_prefix
from tests.broker.node.driven import Driven, Wire, driven


def asked(broker: Driven, wire: Wire, number: int) -> BrokerTraffic:
    broker.say(wire, encode(m.Explain(number, "", 0, "traffic")))
    pages = broker.frames_sent(wire, m.Explained)
    assert not pages[-1].more
    return read_traffic(json.loads(line) for page in pages for line in page.lines)


def subscribe(broker: Driven, wire: Wire, number: int, content: str, *, ordered: bool = True) -> None:
    broker.say(wire, encode(m.Subscribe(number, content, ordered, 10, 1_000_000, "drop")))


def event(publisher: str, sequence: int) -> bytes:
    return encode_publication(publication_prefix(publisher), sequence, 0, {"x": 9}, b"", True)


def test_a_broker_counts_events_by_filters_and_ever_more_of_them() -> None:
    broker = driven()
    alice, bob = broker.client("alice"), broker.client("bob")
    for number, content in enumerate(("x > 0", "x > 0", "y > 0"), 1):
        broker.say(alice, encode(m.Advertise(number, content, "")))
    first, second, _ = (each.publisher for each in broker.frames_sent(alice, m.Advertised))
    subscribe(broker, bob, 1, "x > 5")
    subscribe(broker, bob, 2, "x > 5")
    subscribe(broker, bob, 3, "x > 5", ordered=False)
    for publisher, count in ((first, 3), (second, 1)):
        for sequence in range(1, count + 1):
            broker.say(alice, event(publisher, sequence))
    before = asked(broker, bob, 4)
    assert (before.broker, before.uplink, before.children) == ("B1", "", ())
    assert before.advertised == {"x > 0": 4, "y > 0": 0}
    assert before.subscribed == {("x > 5", True): Readership(2, 8), ("x > 5", False): Readership(1, 4)}
    assert (before.published, before.delivered) == (4, 12)
    broker.say(alice, encode(m.Unadvertise(1)))
    broker.say(alice, event(second, 2))
    since = asked(broker, bob, 5).since(before)
    assert since.advertised == {"x > 0": 0, "y > 0": 0}, "a publisher that has left counts nothing"
    assert since.delivered == 3


def test_filters_with_little_traffic_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "FILTERS_MAX", 1)
    broker = driven()
    alice = broker.client("alice")
    subscribe(broker, alice, 1, "x > 5")
    subscribe(broker, alice, 2, "x > 6")
    answer = asked(broker, alice, 3)
    assert (list(answer.subscribed), answer.left_out) == ([("x > 5", True)], 1)


@pytest.mark.parametrize(("extra", "codes"), [({"administer": True}, []), ({}, ["not-allowed"])])
def test_where_users_are_known_only_administrators_see_filters(
    extra: dict[str, bool], codes: list[str]
) -> None:
    secret = hashlib.sha256(b"secret").hexdigest()
    user = {"token_sha256": secret, "subscribe": "True", **extra}
    broker = driven(access=read_access({"users": {"alice": user}}))
    alice = broker.client("alice", "secret")
    broker.say(alice, encode(m.Explain(1, "", 0, "traffic")))
    assert [each.code for each in broker.frames_sent(alice, m.Refused)] == codes
    assert len(broker.frames_sent(alice, m.Explained)) == 1 - len(codes)


def test_totals_know_how_long_all_that_was_pending_has_waited() -> None:
    totals = Totals()
    totals.waits(0, 10.0)
    totals.waits(3, 11.0)
    totals.waits(1, 13.0)
    totals.waits(0, 14.5)
    assert totals.waiting_s == 3 * 2.0 + 1.5
