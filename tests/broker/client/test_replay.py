"""A program that asks for the past, at real brokers: its deliveries, their order, and gaps."""

import pytest
import trio

from broker import Delivery, Gap, RefusedError, Replay, connect
from broker.client import Deliveries
from tests.broker.client.scripted import TRADES
from tests.broker.server.overlay import chain


async def _prices(deliveries: Deliveries, count: int) -> list[tuple[object, bool]]:
    got = [await anext(deliveries) for _ in range(count)]
    return [(each.attributes["price"], each.replayed) for each in got]


async def test_the_past_comes_in_the_order_of_time_and_then_what_is_live() -> None:
    async with (
        chain("B1", "B2", "B3") as (one, two, three),
        connect(one.address) as alice,
        connect(three.address) as bob,
        connect(two.address) as carol,
        alice.advertise(TRADES) as first,
    ):
        async with bob.advertise(TRADES) as second:
            for price in range(1, 7):
                publisher = first if price % 2 else second
                await publisher.publish({"kind": "trade", "price": price}, confirm=True)
        # The second publisher has left.
        async with carol.subscribe("price > 1", replay="5m") as deliveries:
            await first.publish({"kind": "trade", "price": 7})
            expected = [(price, True) for price in range(2, 7)]
            assert await _prices(deliveries, 6) == [*expected, (7, False)]
        async with carol.subscribe("price > 1", replay=2) as deliveries:
            assert await _prices(deliveries, 2) == [(6, True), (7, True)]
        async with carol.subscribe("True", replay=Replay(count=9, age_s=300)) as deliveries:
            assert await _prices(deliveries, 7) == [(price, True) for price in range(1, 8)]


async def test_a_replay_larger_than_any_queue_comes_whole() -> None:
    payload = bytes(10_000)
    count = 300
    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address) as alice,
        connect(two.address) as bob,
        alice.advertise(TRADES) as publisher,
    ):
        for price in range(1, count + 1):
            await publisher.publish({"kind": "trade", "price": price}, payload)
        await publisher.flush()
        async with bob.subscribe("True", replay="1h", bound_bytes=65536) as deliveries:
            for price in range(1, count + 1):
                delivery = await anext(deliveries)
                assert (delivery.attributes["price"], delivery.replayed) == (price, True)


async def test_what_is_published_after_the_call_is_delivered_before_any_broker_knew() -> None:
    async with (
        chain("B1", "B2", "B3") as (one, _, three),
        connect(one.address) as alice,
        connect(three.address) as bob,
        alice.advertise(TRADES) as publisher,
        trio.open_nursery() as nursery,
    ):
        called = trio.Event()

        async def subscribe() -> None:
            subscription = bob.subscribe("True", replay="now")
            called.set()
            async with subscription as deliveries:
                assert [price for price, _ in await _prices(deliveries, 3)] == [1, 2, 3]

        nursery.start_soon(subscribe)
        await called.wait()
        for price in (1, 2, 3):
            await publisher.publish({"kind": "trade", "price": price}, confirm=True)


async def test_a_durable_subscription_has_its_past_once() -> None:
    async with (
        chain("B1") as (one,),
        connect(one.address, name="alice") as alice,
        alice.advertise(TRADES) as publisher,
    ):
        await publisher.publish({"kind": "trade", "price": 1}, confirm=True)
        for expected in ((1, True), (2, False)):
            async with (
                connect(one.address, name="audit") as client,
                client.subscribe("True", durable="audit", replay="5m") as deliveries,
            ):
                assert await _prices(deliveries, 1) == [expected]
            await publisher.publish({"kind": "trade", "price": 2}, confirm=True)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("5x", "expected a time such as 90s, 5m, 1h30m or 2d, got '5x'; or now, or a number"),
        ("", "expected a time"),
        (0, "expected 1 to 100000 publications, got 0"),
        ("-5m", "expected a time"),
        (True, "expected an age such as '5m', a count, or a Replay, got True"),
        ("9999d", "an age of 0 seconds to a year"),
    ],
)
async def test_nonsense_is_refused_before_anything_is_sent(wanted: str | int, text: str) -> None:
    async with chain("B1") as (one,), connect(one.address) as client:
        with pytest.raises(ValueError, match=text):
            async with client.subscribe("True", replay=wanted):
                pass


@pytest.mark.parametrize("asked", [(0,), (100_001,), (1, 2, 3)])
async def test_a_broker_refuses_what_no_client_of_ours_asks(
    asked: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Replay, "asking", lambda *_: lambda _: asked)
    async with chain("B1") as (one,), connect(one.address) as client:
        with pytest.raises(RefusedError, match="replay") as refusal:
            async with client.subscribe("True", replay=1):
                pass
        assert refusal.value.code == "replay"


def test_a_gap_says_that_the_past_is_not_whole() -> None:
    assert str(Gap(None, "replay")).endswith("not all of the past that was asked for could be replayed")
    assert not Delivery(b"\0\0\0\2\x10\x01").replayed
