"""What one client may make a broker keep, and how often it may ask: each bound, and who pays beyond it.

Everybody else goes on in every test, as in `test_attacks`.
"""

import pytest
from attrs import evolve

from broker.messages import (
    Credit,
    Ended,
    Explain,
    Explained,
    Fault,
    Hello,
    Ping,
    Placed,
    Refused,
    Unsubscribe,
    Welcome,
)
from broker.node.access import EVERYBODY, Access
from broker.node.budget import Resource
from broker.node.limits import NodeLimits
from broker.node.subscriptions import EVENT_BYTES
from broker.replay import Bounds
from broker.sessions import Missing
from broker.wire import VERSION, DeliveredBatch, encode
from tests.broker.node.driven import Driven, Wire, driven
from tests.broker.node.test_attacks import (
    KIB,
    MIB,
    SMALL,
    honest,
    publishing,
    replay,
    subscribe,
    subscribe_durably,
)

# --- what is not confirmed ------------------------------------------------------------------------------


def test_credit_without_end_keeps_no_queue_above_its_bound() -> None:
    broker = driven(limits=SMALL)
    publisher = publishing(broker)
    rude = broker.client("rude")
    broker.say(rude, subscribe(1, credit=2**40, bound=128 * KIB))
    for _ in range(200):
        publisher.publish(10, bytes(1000))
    (ended,) = broker.frames_sent(rude, Ended)
    assert ended.code == "slow"
    assert "bound" in ended.text
    sent_bytes = sum(sum(map(len, batch.frames)) for batch in broker.frames_sent(rude, DeliveredBatch))
    assert sent_bytes < SMALL.unconfirmed_bytes + 2 * 256 * KIB
    assert not [
        each for each in broker.node.exchange.subscribers.values() if each.state.terms.client == "rude"
    ]


def test_a_client_that_confirms_gets_everything_however_much_that_is() -> None:
    broker = driven(limits=SMALL)
    publisher = publishing(broker)
    reader = broker.client("reader")
    broker.say(reader, subscribe(1, credit=2**30, bound=128 * KIB))
    got = 0
    for _ in range(200):
        publisher.publish(10, bytes(1000))
        got += sum(len(batch.frames) for batch in broker.frames_sent(reader, DeliveredBatch))
        broker.say(reader, encode(Credit(1, 0, got)))
    assert got == 2000


def test_many_queues_of_one_user_are_bounded_together() -> None:
    limits = evolve(SMALL, kept_bytes=MIB)
    broker = driven(limits=limits)
    publisher = publishing(broker)
    rude = broker.client("rude")
    for number in range(1, 21):
        broker.say(rude, subscribe(number, credit=0, bound=64 * MIB))
        broker.frames_sent(rude, Placed)
    for _ in range(30):
        publisher.publish(10, bytes(1000))
    account = broker.node.exchange.budgets.broker
    queued = sum(each.queue.queued_bytes for each in broker.node.exchange.subscribers.values())
    assert queued < 2 * MIB
    assert any("bytes kept for subscriptions" in ended.text for ended in broker.frames_sent(rude, Ended))
    assert all(count >= 0 for count in account.used.values())


def test_a_station_keeps_what_the_queue_keeps_when_room_is_made() -> None:
    """Room is made for one subscription when the station has emitted to others, which have not queued it."""
    broker = driven(limits=evolve(SMALL, kept_bytes=MIB))
    publisher = publishing(broker)
    reader = broker.client("reader")
    broker.say(reader, *[subscribe_durably(number, "x > 0") for number in range(1, 6)])
    broker.say(reader, encode(Credit(1, 10_000)))
    for count in range(1, 101):
        publisher.publish(10, bytes(1000))
        if not count % 8:  # So the first keeps less than those behind it, and asks for room before they do.
            broker.say(reader, encode(Credit(1, 0, 10 * count)))
        for each in broker.node.exchange.subscribers.values():
            kept = [
                batch for batch in each.state.after(each.queue.position) if not isinstance(batch, Missing)
            ]
            assert sum(map(len, kept)) == each.queue.queued_count


def kept_by(broker: Driven, client: str) -> int:
    subscribers = broker.node.exchange.subscribers.values()
    return sum(each.kept_bytes for each in subscribers if each.state.terms.client == client)


@pytest.mark.parametrize("policy", ["drop", "disconnect"])
@pytest.mark.parametrize("limit", [{"kept_bytes": MIB}, {"broker_kept_bytes": MIB}])
def test_the_user_that_keeps_most_loses_when_all_have_too_much(limit: dict[str, int], policy: str) -> None:
    broker = driven(limits=evolve(SMALL, **limit))
    others = honest(broker)
    rude = broker.client("rude")
    for number in range(1, 21):
        broker.say(rude, subscribe(number, credit=0, bound=64 * MIB, policy=policy))
    broker.at(3.0)
    for number in range(10):
        others.publisher.publish(60, bytes(1000))
        if number % 2:  # So it keeps more at a time than each of those that never confirm.
            others.confirm()
        broker.now_s += 0.05
    assert not broker.frames_sent(others.reader, Ended)
    assert kept_by(broker, "rude") < 2 * MIB
    others.goes_on()


def test_deliveries_that_are_never_confirmed_count_although_nothing_of_them_can_be_dropped() -> None:
    broker = driven(limits=evolve(SMALL, kept_bytes=MIB))
    publisher = publishing(broker)
    rude = broker.client("rude")
    for number in range(1, 21):
        broker.say(rude, subscribe(number, credit=2**30, bound=MIB, policy="drop"))
    for _ in range(12):
        publisher.publish(10, bytes(1000))
    assert kept_by(broker, "rude") < 2 * MIB
    assert broker.node.exchange.budgets.broker.used[Resource.KEPT_BYTES] <= MIB


def test_small_events_count_what_they_take() -> None:
    broker = driven(limits=evolve(SMALL, kept_bytes=MIB, step_units=100_000))
    publisher = publishing(broker)
    rude = broker.client("rude")
    broker.say(rude, subscribe(1, credit=0, bound=64 * MIB, policy="drop"))
    for _ in range(40):
        publisher.publish(100)
    kept = sum(each.queue.queued_count for each in broker.node.exchange.subscribers.values())
    assert kept < 2500, "an event without payload takes some hundred bytes"


def test_readers_of_the_same_events_share_what_these_take() -> None:
    broker = driven(limits=evolve(SMALL, step_units=100_000))
    publisher = publishing(broker)
    reader = broker.client("reader")
    for number in range(1, 21):
        broker.say(reader, subscribe(number, credit=2**20, bound=64 * MIB))
    for _ in range(10):
        publisher.publish(100)
    frames = sum(sum(map(len, batch.frames)) for batch in broker.frames_sent(reader, DeliveredBatch))
    assert frames
    kept = kept_by(broker, "reader")
    assert frames + EVENT_BYTES * 1000 <= kept < frames + 4 * EVENT_BYTES * 1000


# --- how much one may have ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "owner"),
    [
        ({"requests": 3}, "a connection has at most 3 publishers and subscriptions"),
        ({"user_requests": 5}, "has at most 5 publishers and subscriptions"),
        ({"broker_requests": 5}, "this broker has at most 5 publishers and subscriptions"),
        ({"filter_bytes": 100}, "a connection has at most 100 bytes of filters"),
        ({"broker_filter_bytes": 100}, "this broker has at most 100 bytes of filters"),
    ],
)
def test_requests_are_bounded_and_say_by_what(limit: dict[str, int], owner: str) -> None:
    broker = driven(limits=NodeLimits(**limit))
    others = honest(broker)
    greedy = broker.client("greedy")
    broker.say(greedy, *[subscribe(number, f"a{number} > {number}000000") for number in range(1, 20)])
    broker.catch_up()
    refused = broker.frames_sent(greedy, Refused)
    assert {each.code for each in refused} == {"too-many"}
    assert owner in refused[0].text
    others.goes_on()
    before = dict(broker.node.exchange.budgets.broker.used)
    broker.say(greedy, encode(Fault("left", "")))
    after = broker.node.exchange.budgets.broker.used
    assert sum(after.values()) < sum(before.values())


def test_connections_that_say_nothing_are_bounded_and_end() -> None:
    broker = driven(limits=NodeLimits(ungreeted=4), link_timeout_s=8)
    others = honest(broker)
    silent = [broker.accept() for _ in range(6)]
    assert [wire.is_ended for wire in silent] == [True] * 2 + [False] * 4, "the oldest go"
    assert [fault.code for fault in broker.frames_sent(silent[0], Fault)] == ["busy"]
    broker.say(others.reader, encode(Ping(1)))
    others.goes_on()
    for now_s in range(1, 7):
        broker.at(now_s)
        broker.say(others.reader, encode(Ping(now_s)))
        broker.say(others.publisher.wire, encode(Ping(now_s)))
    assert all(wire.is_ended for wire in silent)
    others.goes_on()


def test_every_newcomer_is_accepted_however_many_are_silent() -> None:
    broker = driven(limits=NodeLimits(ungreeted=4))
    for _ in range(3):
        for _ in range(6):
            broker.accept(address="10.0.0.1")
        assert not broker.client().is_ended


def test_connections_of_an_address_are_bounded_and_those_of_others_are_not() -> None:
    broker = driven(limits=NodeLimits(address_connections=3))
    others = honest(broker)
    greedy = [broker.accept(address="10.0.0.1") for _ in range(5)]
    assert [wire.is_ended for wire in greedy] == [False] * 3 + [True] * 2
    (fault,) = broker.frames_sent(greedy[-1], Fault)
    assert (fault.code, "address 10.0.0.1 has at most 3 connections" in fault.text) == ("busy", True)
    assert not broker.accept(address="10.0.0.2").is_ended
    broker.lose(greedy[0])
    assert not broker.accept(address="10.0.0.1").is_ended
    others.goes_on()


def test_connections_of_a_user_are_bounded() -> None:
    users = tuple(evolve(EVERYBODY, name=name, certificate=name) for name in ("ada", "bob"))
    broker = driven(access=Access(users), limits=NodeLimits(user_connections=2))

    def dial(user: str) -> Wire:
        wire = broker.accept(certificates=(user,))
        broker.say(wire, encode(Hello(VERSION, "client", "x", "1", "", "")))
        broker.at(broker.now_s + 1)
        return wire

    adas = [dial("ada") for _ in range(3)]
    (fault,) = broker.frames_sent(adas[2], Fault)
    assert (fault.code, "user 'ada' has at most 2 connections" in fault.text) == ("busy", True)
    assert broker.frames_sent(dial("bob"), Welcome)
    broker.lose(adas[0])
    assert broker.frames_sent(dial("ada"), Welcome)


@pytest.mark.parametrize(
    "limits",
    [NodeLimits(requests=10, changes_per_s=5), NodeLimits(user_requests=10, user_changes_per_s=5)],
)
def test_a_client_that_subscribes_and_unsubscribes_over_and_over_is_slowed_down(limits: NodeLimits) -> None:
    broker = driven(limits=limits)
    busy = broker.client("busy")
    for number in range(1, 101):
        broker.say(busy, subscribe(number), encode(Unsubscribe(number)))
    broker.catch_up()
    assert len(broker.frames_sent(busy, Placed)) == 11
    assert busy.is_paused
    broker.at(broker.now_s + 2)
    assert 9 <= len(broker.frames_sent(busy, Placed)) <= 11
    broker.at(broker.now_s + 30)
    assert len(broker.frames_sent(busy, Placed)) > 75, "and everything is handled in the end"
    assert broker.node.exchange.totals.rested > 50


def test_connections_are_bounded_and_one_that_ends_makes_room() -> None:
    broker = driven(limits=NodeLimits(connections=4))
    others = honest(broker)
    more = [broker.client(), broker.client()]
    refused = broker.accept()
    assert [fault.code for fault in broker.frames_sent(refused, Fault)] == ["busy"]
    broker.lose(refused)
    broker.lose(more[0])
    assert not broker.accept().is_ended
    others.goes_on()


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ({"replays": 3}, "a connection has at most 3 open replays"),
        ({"broker_replays": 3}, "this broker plays as many pasts as it can"),
    ],
)
def test_replays_that_are_held_open_are_bounded(limit: dict[str, int], text: str) -> None:
    broker = driven(limits=NodeLimits(**limit), replays=Bounds(MIB, 1000))
    others = honest(broker)
    for _ in range(10):
        others.publisher.publish(4, bytes(10_000))
    greedy = broker.client("greedy")
    broker.say(greedy, *[replay(number) for number in range(1, 11)])
    broker.catch_up()
    broker.say(greedy, replay(11))
    refused = broker.frames_sent(greedy, Refused)
    assert [each.code for each in refused] == ["too-many"] * 8
    assert text in refused[0].text
    others.goes_on()


def test_questions_to_the_overlay_are_bounded_and_end_with_their_connection() -> None:
    broker = driven(limits=NodeLimits(questions=2, step_units=100_000))
    curious = broker.client("curious")
    frames = [encode(Explain(number, "p@B9.1/1", 1, "way")) for number in range(1, 5)]
    broker.say(curious, *frames)
    assert len(broker.frames_sent(curious, Explained)) == 2
    refused = broker.frames_sent(curious, Refused)
    assert [each.code for each in refused] == ["too-many"] * 2
    assert "at most 2 open questions" in refused[0].text
    assert broker.node.exchange.budgets.broker.used[Resource.QUESTIONS] == 0
