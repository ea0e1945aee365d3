"""Clients that follow interest, at a node: what they are sent, what it costs them, and who may."""

import hashlib

import pytest

from broker import interest_messages as w
from broker import messages as m
from broker.core.interest import INTEREST_BYTES_MAX
from broker.node.access import read_access
from broker.node.budget import Resource
from broker.node.limits import NodeLimits
from broker.wire import encode
from tests.broker.node.driven import Driven, Wire, driven


def advertised(broker: Driven, wire: Wire, content: str = "x > 0", resume: str = "") -> str:
    """Advertise as the first request; return the publisher's id."""
    broker.say(wire, encode(m.Advertise(1, content, resume)))
    (answer,) = broker.frames_sent(wire, m.Advertised)
    return answer.publisher


def subscribe(broker: Driven, wire: Wire, number: int, content: str) -> None:
    broker.say(wire, encode(m.Subscribe(number, content, True, 10, 1_000_000, "drop")))


def test_all_filters_come_first_and_then_each_change() -> None:
    broker = driven()
    bob, alice = broker.client("bob"), broker.client("alice")
    subscribe(broker, bob, 1, "x > 5")
    subscribe(broker, bob, 2, "y > 5")
    subscribe(broker, bob, 3, "x < 0")
    advertised(broker, alice)
    broker.say(alice, encode(w.FollowInterest(2, 1)))
    assert broker.frames_sent(alice, w.InterestListed) == [w.InterestListed(2, ("x > 5", "y > 5"), ())]
    subscribe(broker, bob, 4, "x > 5")
    broker.say(bob, encode(m.Unsubscribe(2)))
    subscribe(broker, bob, 5, "x == 3")
    assert broker.frames_sent(alice, w.InterestListed) == [
        w.InterestListed(2, (), ("y > 5",)),
        w.InterestListed(2, ("x == 3",), ()),
    ]


def test_on_another_connection_everything_is_sent_anew() -> None:
    broker = driven()
    bob, alice = broker.client("bob"), broker.client("alice")
    subscribe(broker, bob, 1, "x > 5")
    publisher = advertised(broker, alice)
    broker.say(alice, encode(w.FollowInterest(2, 1)))
    broker.lose(alice)
    subscribe(broker, bob, 2, "x > 7")
    again = broker.client("alice")
    assert advertised(broker, again, resume=publisher) == publisher
    broker.say(again, encode(w.FollowInterest(2, 1)))
    assert broker.frames_sent(again, w.InterestListed) == [w.InterestListed(2, ("x > 5", "x > 7"), ())]


def test_a_client_that_does_not_read_gets_the_difference_when_it_does() -> None:
    broker = driven(limits=NodeLimits(outbox_bytes=1))
    bob, alice = broker.client("bob"), broker.client("alice")
    advertised(broker, alice)
    broker.say(alice, encode(w.FollowInterest(2, 1)))
    broker.frames_sent(alice, w.InterestListed)
    alice.reads = False
    for number in range(1, 100):
        subscribe(broker, bob, number, f"x == {number}")
    for number in range(1, 98):
        broker.say(bob, encode(m.Unsubscribe(number)))
    unread_bytes = sum(len(write.content) for write in alice.pending)
    assert unread_bytes < 100
    alice.reads = True
    broker.flush()
    broker.catch_up()
    known: set[str] = set()
    for notice in broker.frames_sent(alice, w.InterestListed):
        known = (known - set(notice.removed)) | set(notice.added)
    assert known == {"x == 98", "x == 99"}


def charged(broker: Driven) -> int:
    return broker.node.exchange.budgets.broker.used[Resource.FILTER_BYTES]


def test_following_is_charged_as_filters_until_the_publisher_or_its_connection_ends() -> None:
    broker = driven(limits=NodeLimits(filter_bytes=INTEREST_BYTES_MAX + 100))
    alice = broker.client("alice")
    advertised(broker, alice)
    broker.say(alice, encode(m.Advertise(2, "x > 0", "")))
    before = charged(broker)
    broker.say(alice, encode(w.FollowInterest(3, 1)))
    assert charged(broker) == before + INTEREST_BYTES_MAX
    broker.say(alice, encode(w.FollowInterest(4, 2)), encode(w.FollowInterest(5, 1)))
    assert [each.code for each in broker.frames_sent(alice, m.Refused)] == ["too-many", "unexpected"]
    broker.say(alice, encode(m.Unadvertise(1)), encode(w.FollowInterest(6, 2)))
    assert broker.frames_sent(alice, w.InterestListed)[-1] == w.InterestListed(6, (), ())
    broker.lose(alice)
    assert charged(broker) == len("x > 0")


@pytest.mark.parametrize(("right", "codes"), [("interest = true", []), ("", ["not-allowed"])])
def test_where_users_are_known_it_takes_a_right(right: str, codes: list[str]) -> None:
    user = {
        "token_sha256": hashlib.sha256(b"secret").hexdigest(),
        "advertise": "True",
        **({"interest": True} if right else {}),
    }
    broker = driven(access=read_access({"users": {"alice": user}}))
    alice = broker.client("alice", "secret")
    advertised(broker, alice)
    broker.say(alice, encode(w.FollowInterest(2, 1)), encode(w.FollowInterest(3, 7)))
    assert [each.code for each in broker.frames_sent(alice, m.Refused)] == [*codes, "unknown"]
    assert len(broker.frames_sent(alice, w.InterestListed)) == 1 - len(codes)
