"""Whole brokers on real sockets: what clients of one broker and of an overlay get to see."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

import broker
from broker import Gap, Limits, SlowSubscriberError, connect
from broker.filters.constraints import Value
from broker.messages import (
    Advertise,
    Advertised,
    Credit,
    Ended,
    Fault,
    Flush,
    Flushed,
    Grant,
    Ping,
    Pong,
    Refused,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from broker.node import exchange
from broker.node.credit import FIRST_BYTES, SHARE_BYTES_MAX
from broker.node.starts import BOUND_BYTES_MIN
from broker.wire import DeliveredBatch, encode, encode_publication, publication_prefix
from tests.broker.server.overlay import (
    RawPeer,
    Running,
    chain,
    client_hello,
    raw_client,
    raw_peer,
    running,
    settings,
    until,
)

TRADE: dict[str, Value] = {"kind": "trade", "symbol": "IBM", "price": 101.5}


def frame(publisher: str, sequence: int, payload: int = 0, kind: str = "trade") -> bytes:
    return encode_publication(
        publication_prefix(publisher), sequence, 0, {"kind": kind}, bytes(payload), True
    )


async def advertised(peer: RawPeer, number: int = 1, resume: str = "") -> Advertised:
    await peer.say(encode(Advertise(number, "kind == 'trade'", resume)))
    return await peer.receive_a(Advertised)


async def subscribed(
    peer: RawPeer, credit: int, bound_bytes: int = 1_000_000, policy: str = "disconnect", number: int = 1
) -> None:
    await peer.say(encode(Subscribe(number, "kind == 'trade'", True, credit, bound_bytes, policy)))
    assert await peer.receive_a(Subscribed) == Subscribed(number)


async def collect(deliveries: broker.Deliveries, count: int) -> list[int]:
    found: list[int] = []
    async for delivery in deliveries:
        found.append(delivery.sequence)
        if len(found) == count:
            break
    return found


async def test_a_subscriber_gets_what_matches_and_nothing_else() -> None:
    async with (
        running(settings("B1")) as one,
        connect(one.address, name="alice") as alice,
        connect(one.address, name="bob") as bob,
        bob.subscribe("symbol == 'IBM'") as deliveries,
        alice.advertise("kind == 'trade' and price > 0") as publisher,
    ):
        await publisher.publish({**TRADE, "symbol": "SAP"})
        await publisher.publish(TRADE, payload=b"abc")
        async for delivery in deliveries:
            assert delivery.attributes == TRADE
            assert delivery.payload == b"abc"
            assert delivery.sequence == 2
            assert delivery.publisher.startswith("alice@B1.")
            break


@pytest.mark.parametrize("ordering", ["fifo", "pairwise"])
async def test_events_cross_a_chain_of_brokers_both_ways(ordering: str) -> None:
    count = 3000
    async with (
        chain("B1", "B2", "B3", ordering=ordering) as (top, _, leaf),
        connect(top.address, name="alice") as alice,
        connect(leaf.address, name="bob") as bob,
        alice.advertise("kind == 'trade'") as from_top,
        bob.advertise("kind == 'trade'") as from_leaf,
        alice.subscribe("kind == 'trade'") as at_top,
        bob.subscribe("kind == 'trade'") as at_leaf,
        trio.open_nursery() as nursery,
    ):
        received: dict[str, list[tuple[str, int]]] = {"top": [], "leaf": []}

        async def publish(publisher: broker.Publisher) -> None:
            for _ in range(count):
                await publisher.publish(TRADE, payload=bytes(100))

        async def listen(place: str, deliveries: broker.Deliveries) -> None:
            async for delivery in deliveries:
                received[place].append((delivery.publisher, delivery.sequence))
                if len(received[place]) == 2 * count:
                    return

        nursery.start_soon(publish, from_top)
        nursery.start_soon(publish, from_leaf)
        nursery.start_soon(listen, "top", at_top)
        nursery.start_soon(listen, "leaf", at_leaf)
    for place in received.values():
        for publisher in {each for each, _ in place}:
            assert [number for each, number in place if each == publisher] == list(range(1, count + 1))
    assert ordering == "fifo" or received["top"] == received["leaf"]


async def test_a_publication_larger_than_any_window_passes() -> None:
    async with (
        chain("B1", "B2") as (top, leaf),
        raw_client(top.server.port) as publisher,
        connect(leaf.address, name="bob") as bob,
        bob.subscribe("kind == 'trade'") as deliveries,
    ):
        name = (await advertised(publisher)).publisher
        await publisher.say(frame(name, 1, payload=1_000_000))
        async for delivery in deliveries:
            assert len(delivery.payload) == 1_000_000
            break


async def test_a_malformed_frame_ends_its_connection_and_no_other() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as other:
        async with raw_client(one.server.port) as peer:
            await peer.say(b"\x00\x00\x00\x03\x7f\x00\x00")
            fault = await peer.receive_a(Fault)
            assert fault.code == "unknown"
            assert "0x7f" in fault.text
            assert await peer.receive() is None
        await other.say(encode(Ping(7)))
        assert await other.receive() == Pong(7)


async def test_a_peer_that_publishes_without_credit_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "WAITING_COUNT_MAX", -1)
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        name = (await advertised(peer)).publisher
        await peer.say(frame(name, 1, FIRST_BYTES), encode(Flush(2)))
        assert await peer.receive_a(Flushed) == Flushed(2)
        await peer.say(frame(name, 2, 1_000_000), frame(name, 3, 1_000_000))
        assert (await peer.receive_a(Fault)).code == "credit"


async def test_credit_is_granted_again_when_publications_have_been_handed_on() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        await peer.say(encode(Advertise(1, "kind == 'trade'", "")))
        assert await peer.receive() == Grant(SHARE_BYTES_MAX - FIRST_BYTES)
        name = (await peer.receive_a(Advertised)).publisher
        sent = frame(name, 1, payload=SHARE_BYTES_MAX // 2)
        await peer.say(sent)
        assert await peer.receive() == Grant(len(sent))


async def test_credit_is_withheld_while_the_ordering_plugin_keeps_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        name = (await advertised(peer)).publisher
        monkeypatch.setattr(exchange, "WAITING_COUNT_MAX", -1)
        sent = frame(name, 1, payload=SHARE_BYTES_MAX // 2)
        await peer.say(sent, encode(Flush(2)), encode(Ping(1)))
        assert [await peer.receive(), await peer.receive()] == [Flushed(2), Pong(1)]
        await peer.say(encode(Ping(2)))
        assert await peer.receive() == Pong(2)
        monkeypatch.undo()
        await peer.say(encode(Ping(3)))
        assert [await peer.receive(), await peer.receive()] == [Pong(3), Grant(len(sent))]


async def test_what_does_not_match_the_advertisement_ends_the_publisher_alone() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        name = (await advertised(peer)).publisher
        await subscribed(peer, 10, number=2)
        await peer.say(frame(name, 1), frame(name, 2, kind="quote"), frame(name, 3))
        ended = await peer.receive_a(Ended)
        assert (ended.number, ended.code) == (1, "not-advertised")
        assert "publication 2 does not match" in ended.text
        assert len((await peer.receive_a(DeliveredBatch)).frames) == 1
        assert (await advertised(peer, 3)).publisher != name


async def test_a_publication_sent_again_is_dropped_and_a_jump_is_a_fault() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        name = (await advertised(peer)).publisher
        await peer.say(frame(name, 1), frame(name, 1), frame(name, 2), frame(name, 1), encode(Flush(2)))
        assert await peer.receive_a(Flushed) == Flushed(2)
        assert one.server.exchange.totals.publications_in == 2
        await peer.say(frame(name, 4))
        fault = await peer.receive_a(Fault)
        assert (fault.code, fault.text) == ("sequence", f"{name} published 4 after 2")


async def test_only_its_own_connection_publishes_for_a_publisher() -> None:
    async with (
        running(settings("B1")) as one,
        raw_client(one.server.port) as peer,
        raw_client(one.server.port) as thief,
    ):
        name = (await advertised(peer)).publisher
        await thief.say(frame(name, 1))
        assert (await thief.receive_a(Fault)).code == "unexpected"


async def test_a_client_that_resumes_goes_on_as_the_publisher_it_was() -> None:
    # So long is a publisher kept for a client that is gone.
    async with running(settings("B1", link_timeout_s=3)) as one:
        async with raw_client(one.server.port) as peer:
            name = (await advertised(peer)).publisher
            await peer.say(frame(name, 1), frame(name, 2), encode(Flush(2)))
            await peer.receive_a(Flushed)
        await until(lambda: not one.server.exchange.publishers)
        async with raw_client(one.server.port, name="stranger") as stranger:
            assert (await advertised(stranger, resume=name)).taken == 0
        async with raw_client(one.server.port) as peer:
            assert await advertised(peer, resume=name) == Advertised(1, name, 2)


async def test_a_client_that_resumes_takes_over_from_its_broken_connection() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as broken:
        name = (await advertised(broken)).publisher
        await broken.say(frame(name, 1), encode(Flush(2)))
        await broken.receive_a(Flushed)
        async with raw_client(one.server.port) as peer:
            assert await advertised(peer, resume=name) == Advertised(1, name, 1)
            assert (await broken.receive_a(Fault)).code == "replaced"


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Advertise(1, "x ==", ""), "filter"),
        (Subscribe(1, "x ==", True, 1, 1, "drop"), "filter"),
    ],
)
async def test_a_request_that_is_wrong_is_refused_and_the_connection_goes_on(
    request_: Advertise | Subscribe, code: str
) -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        await peer.say(encode(request_))
        refused = await peer.receive_a(Refused)
        assert (refused.number, refused.code) == (1, code)
        await advertised(peer, 2)


async def test_requests_are_numbered_without_holes() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        await peer.say(encode(Advertise(2, "x == 1", "")))
        assert (await peer.receive_a(Fault)).text == "request 2 came after request 0"


async def test_credit_for_a_subscription_that_is_gone_is_ignored() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        await subscribed(peer, 1)
        await peer.say(encode(Unsubscribe(1)), encode(Credit(1, 5)), encode(Unsubscribe(1)), encode(Ping(1)))
        assert await peer.receive() == Pong(1)


async def publish_many(one: Running, count: int, payload: int) -> None:
    async with (
        connect(one.address, name="alice") as alice,
        alice.advertise("kind == 'trade'") as publisher,
    ):
        for _ in range(count):
            await publisher.publish(TRADE, payload=bytes(payload))


async def test_a_subscriber_that_never_reads_is_ended_and_delays_no_other() -> None:
    count, payload = 6000, 1000
    async with (
        running(settings("B1")) as one,
        raw_client(one.server.port, "mute") as mute,
        connect(one.address, name="bob") as bob,
        bob.subscribe("kind == 'trade'") as deliveries,
        trio.open_nursery() as nursery,
    ):
        await subscribed(mute, 10, BOUND_BYTES_MIN * 16)
        nursery.start_soon(publish_many, one, count, payload)
        assert await collect(deliveries, count) == list(range(1, count + 1))
        ended = await mute.receive_a(Ended)
        assert (ended.number, ended.code) == (1, "slow")
        assert f"more than its bound of {BOUND_BYTES_MIN * 16} bytes" in ended.text
        assert one.server.exchange.totals.ended_slow == 1


async def test_a_slow_subscriber_may_have_gaps_instead() -> None:
    count, payload = 3000, 1000
    limits = Limits(credit_first=8, inbox_bytes=20_000)
    async with (
        running(settings("B1")) as one,
        connect(one.address, name="bob", limits=limits) as bob,
        bob.subscribe("kind == 'trade'", bound_bytes=BOUND_BYTES_MIN, policy="drop") as deliveries,
    ):
        await publish_many(one, count, payload)
        queue = next(iter(one.server.exchange.subscribers.values())).queue
        assert 0 < queue.queued_bytes <= BOUND_BYTES_MIN
        expected = 1
        async for each in deliveries.with_gaps():
            if isinstance(each, Gap):
                assert each.count is not None
                expected += each.count
            else:
                assert each.sequence == expected
                expected += 1
            if expected > count:
                break


async def test_a_slower_subscriber_that_moves_is_waited_for() -> None:
    """Its queue has room for a part of what is published only, and it gets everything."""
    count, payload = 8000, 1000
    async with (
        running(settings("B1")) as one,
        connect(one.address, name="bob") as bob,
        bob.subscribe("kind == 'trade'", bound_bytes=2_000_000) as deliveries,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(publish_many, one, count, payload)
        found = 0
        async for _ in deliveries:
            found += 1
            await trio.lowlevel.checkpoint()
            if found == count:
                break
        assert one.server.exchange.totals.ended_slow == 0


async def test_the_client_learns_that_its_subscription_was_too_slow() -> None:
    limits = Limits(credit_first=8, inbox_bytes=20_000)
    async with (
        running(settings("B1")) as one,
        connect(one.address, name="bob", limits=limits) as bob,
        bob.subscribe("kind == 'trade'", bound_bytes=BOUND_BYTES_MIN) as deliveries,
    ):
        await publish_many(one, 3000, 1000)
        with pytest.raises(SlowSubscriberError, match="bound"):
            async for _ in deliveries:
                pass


async def test_a_broker_that_shuts_down_sends_what_is_queued_and_says_so() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        name = (await advertised(peer)).publisher
        await subscribed(peer, 2, number=2)
        await peer.say(*[frame(name, number) for number in range(1, 6)], encode(Flush(3)))
        await peer.receive_a(Flushed)
        one.server.stop()
        await until(lambda: one.server.exchange.is_closing)
        await peer.say(encode(Advertise(4, "x == 1", "")))
        assert (await peer.receive_a(Refused)).code == "closing"
        await peer.say(encode(Credit(2, 10)))
        fault = await peer.receive_a(Fault)
        assert (fault.code, fault.text) == ("closing", "broker B1 is shutting down")
        assert await peer.receive() is None


async def test_a_broker_that_shuts_down_accepts_no_connection() -> None:
    async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
        name = (await advertised(peer)).publisher
        await subscribed(peer, 1, number=2)
        await peer.say(frame(name, 1), frame(name, 2))
        async with raw_peer(one.server.port) as late:
            one.server.stop()
            await until(lambda: one.server.exchange.is_closing)
            await late.say(client_hello("late"))
            assert (await late.receive_a(Fault)).code == "closing"
        await peer.say(encode(Credit(2, 1)))


async def test_a_defect_of_the_core_stops_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def meet_defect() -> None:
        async with running(settings("B1")) as one, raw_client(one.server.port) as peer:
            name = (await advertised(peer)).publisher

            def publish(*_: object) -> None:
                raise AssertionError("a law of the core is broken")

            monkeypatch.setattr(type(one.server.exchange.core), "publish", publish)
            await peer.say(frame(name, 1))
            await trio.sleep_forever()

    with pytest.RaisesGroup(
        pytest.RaisesExc(AssertionError, match="a law of the core"), flatten_subgroups=True
    ):
        await meet_defect()


async def beat(mock_clock: MockClock) -> None:
    """Let an eighth of the link timeout pass, and everybody act on it."""
    mock_clock.jump(1)
    await wait_all_tasks_blocked()


async def test_a_silent_client_is_pinged_and_then_taken_for_dead(mock_clock: MockClock) -> None:
    async with running(settings("B1", link_timeout_s=8)) as one, raw_client(one.server.port) as peer:
        await beat(mock_clock)
        for silent in (1, 2, 3):
            await beat(mock_clock)
            assert await peer.receive() == Ping(silent)
        await beat(mock_clock)
        assert await peer.receive() == Fault("silent", "nothing was heard for 4 s")
        assert await peer.receive() is None


async def test_a_client_that_answers_pings_lives_on(mock_clock: MockClock) -> None:
    async with running(settings("B1", link_timeout_s=8)) as one, raw_client(one.server.port) as peer:
        await beat(mock_clock)
        for _ in range(12):
            await beat(mock_clock)
            assert await peer.receive() == Ping(1)
            await peer.say(encode(Pong(1)), encode(Ping(0)))
            assert await peer.receive() == Pong(0)
            await beat(mock_clock)


async def test_a_peer_that_never_sends_hello_is_disconnected(mock_clock: MockClock) -> None:
    async with running(settings("B1", link_timeout_s=8)) as one, raw_peer(one.server.port) as peer:
        await until(lambda: one.server.exchange.totals.connections == 1)
        for _ in range(4):
            await beat(mock_clock)
        assert await peer.receive() == Fault("silent", "nothing was heard for 4 s")
