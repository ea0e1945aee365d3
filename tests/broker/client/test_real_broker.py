"""Clients of real brokers in this process: what the protocol promises, end to end."""

import pytest
import trio

from broker import Deliveries, Delivery, Gap, NotAdvertisedError, SlowSubscriberError, connect
from tests.broker.client.restartable import Restartable
from tests.broker.server.overlay import chain, running, settings

TRADES = "kind == 'trade' and price > 0"


async def sequences(deliveries: Deliveries, count: int) -> list[int]:
    return [(await anext(deliveries)).sequence for _ in range(count)]


async def test_events_go_where_their_content_is_wanted() -> None:
    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address, name="alice") as alice,
        connect(two.address, name="bob") as bob,
        alice.advertise(TRADES) as publisher,
        bob.subscribe("price > 5") as dear,
        bob.subscribe("kind == 'trade'") as every,
    ):
        for price in range(1, 11):
            await publisher.publish({"kind": "trade", "price": price}, f"{price}".encode())
        assert await sequences(every, 10) == list(range(1, 11))
        assert await sequences(dear, 4) == [6, 7, 8, 9]
        last = await anext(dear)
        assert (last.publisher, last.payload) == (publisher.id, b"10")
        with pytest.raises(NotAdvertisedError, match="price > 0"):
            await publisher.publish({"kind": "trade", "price": 0})


async def test_publishers_of_one_name_have_different_ids() -> None:
    async with (
        running(settings("B1")) as broker,
        connect(broker.address, name="alice") as one,
        connect(broker.address, name="alice") as two,
        one.advertise("True") as first,
        one.advertise("True") as second,
        two.advertise("True") as third,
    ):
        assert len({first.id, second.id, third.id}) == 3


async def test_a_cut_connection_loses_and_repeats_nothing_for_other_subscribers() -> None:
    count = 3000
    async with (
        running(settings("B1")) as broker,
        connect(broker.address, name="alice") as alice,
        connect(broker.address, name="bob") as bob,
        bob.subscribe("True") as deliveries,
        alice.advertise("True") as publisher,
    ):
        identity = publisher.id
        for number in range(1, count + 1):
            await publisher.publish({"number": number}, bytes(100))
            if number % 1000 == 0:
                await _cut(alice)
        await publisher.flush()
        assert publisher.id == identity
        assert await sequences(deliveries, count) == list(range(1, count + 1))


async def _cut(client: object) -> None:
    """Break the client's connection as a network would."""
    await trio.lowlevel.checkpoint()
    stream = client._driver.shell.stream  # type: ignore[attr-defined]  # no door leads there
    if stream is not None:
        await trio.aclose_forcefully(stream)


async def test_after_a_restart_of_the_broker_everything_goes_on_with_a_gap_between(
    nursery: trio.Nursery,
) -> None:
    broker = Restartable(nursery)
    async with (
        connect(await broker.start(), name="alice") as client,
        client.subscribe("True") as deliveries,
        client.advertise("True") as publisher,
    ):
        await publisher.publish({"run": 1}, confirm=True)
        assert (await anext(deliveries)).attributes == {"run": 1}
        await broker.stop()
        await publisher.publish({"run": 2})
        await broker.start()
        items = deliveries.with_gaps()
        assert await anext(items) == Gap(None)
        second = await anext(items)
        assert isinstance(second, Delivery)
        assert second.attributes == {"run": 2}
    await broker.stop()


async def _flood(address: str, count: int) -> None:
    async with connect(address, name="alice") as alice, alice.advertise("True") as publisher:
        for number in range(count):
            await publisher.publish({"number": number}, bytes(1000))


async def test_a_subscriber_that_does_not_read_is_ended_with_a_reason() -> None:
    async with (
        running(settings("B1")) as broker,
        connect(broker.address, name="bob") as bob,
        bob.subscribe("True", bound_bytes=65_536) as deliveries,
    ):
        await _flood(broker.address, 3000)
        with pytest.raises(SlowSubscriberError, match="bound"):
            await sequences(deliveries, 3000)


async def test_a_subscriber_that_does_not_read_sees_what_was_dropped() -> None:
    async with (
        running(settings("B1")) as broker,
        connect(broker.address, name="bob") as bob,
        bob.subscribe("True", bound_bytes=65_536, policy="drop") as deliveries,
    ):
        await _flood(broker.address, 3000)
        await _account(deliveries, 3000)


async def _account(deliveries: Deliveries, count: int) -> None:
    """Every publication is delivered, or counted as missing in its place."""
    expected = 1
    gaps = 0
    async for item in deliveries.with_gaps():
        if isinstance(item, Gap):
            assert item.count is not None
            expected += item.count
            gaps += 1
        else:
            assert item.sequence == expected
            expected += 1
        if expected == count + 1:
            break
    assert gaps
