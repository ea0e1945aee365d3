"""Subscribing over streams in memory, at a broker that follows a script."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import (
    Delivery,
    Gap,
    GapError,
    Limits,
    SlowSubscriberError,
)
from broker import messages as m
from broker.client.deliveries import Deliveries
from tests.broker.client.scripted import (
    TRADE,
    Link,
    ScriptedBroker,
    frame,
)


async def taken(deliveries: Deliveries, count: int) -> list[int]:
    return [(await anext(deliveries)).sequence for _ in range(count)]


async def test_deliveries_come_in_order_with_everything_they_carry(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        asked = await link.allow_subscription()
        assert (asked.filter, asked.ordered, asked.bound_bytes, asked.policy) == (
            "price > 0",
            False,
            5,
            "drop",
        )
        await link.deliver(1, frame(1, b"payload", TRADE), frame(2))

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client:
        options = client.subscribe("price > 0", ordered=False, bound_bytes=5, policy="drop")
        async with options as deliveries:
            delivery = await anext(deliveries)
            assert (delivery.publisher, delivery.sequence) == ("bob@B1/1", 1)
            assert (delivery.attributes, delivery.payload) == (TRADE, b"payload")
            assert (delivery.published_at, delivery.published_ns) == (1.5, 1_500_000_000)
            assert delivery.ordered
            assert await taken(deliveries, 1) == [2]


async def test_a_gap_is_raised_in_its_place_and_iterating_goes_on_behind_it(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(1))
        await link.say(m.Gap(1, 3))
        await link.deliver(1, frame(5))

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        assert await taken(deliveries, 1) == [1]
        with pytest.raises(GapError, match="3 deliveries") as caught:
            await anext(deliveries)
        assert caught.value.count == 3
        assert await taken(deliveries, 1) == [5]


async def test_gaps_can_be_had_as_values(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(1))
        await link.say(m.Gap(1, 3))
        await link.deliver(1, frame(5))

    nursery.start_soon(broker.serve, script)
    found: list[object] = []
    async with broker.client() as client, client.subscribe("True") as deliveries:
        async for item in deliveries.with_gaps():
            found.append(item.sequence if isinstance(item, Delivery) else item)
            if len(found) == 3:
                break
    assert found == [1, Gap(3), 5]


async def test_iterating_can_be_left_and_taken_up_again_without_loss(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, *map(frame, range(1, 6)))
        await more.wait()
        await link.deliver(1, frame(6))

    more = trio.Event()
    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        async for delivery in deliveries:
            if delivery.sequence == 2:
                break
        with pytest.raises(KeyError, match="3"):
            await _fail(deliveries)
        assert await taken(deliveries, 2) == [4, 5]
        with trio.move_on_after(0) as scope:
            await anext(deliveries)
        assert scope.cancelled_caught
        more.set()
        assert await taken(deliveries, 1) == [6]


async def _fail(deliveries: Deliveries) -> None:
    async for delivery in deliveries:
        raise KeyError(delivery.sequence)


async def test_a_slow_subscriber_gets_the_error_after_what_had_arrived(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(1))
        await link.say(m.Ended(1, "slow", "7 deliveries waited"))

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        await wait_all_tasks_blocked()
        assert await taken(deliveries, 1) == [1]
        with pytest.raises(SlowSubscriberError, match="7 deliveries waited") as caught:
            await anext(deliveries)
        assert caught.value.code == "slow"


async def test_credit_flows_back_as_deliveries_are_taken(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, *map(frame, range(1, 9)))
        assert (await link.next(m.Credit)).number == 1
        await link.deliver(1, frame(9))

    nursery.start_soon(broker.serve, script)
    limits = Limits(credit_first=8, credit_max=8)
    async with broker.client(limits=limits) as client, client.subscribe("True") as deliveries:
        assert await taken(deliveries, 9) == list(range(1, 10))


async def test_after_a_reconnection_it_goes_on_without_a_gap(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def first(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(1))
        await link.close()

    async def second(link: Link) -> None:
        assert (await link.allow_subscription()).after == (1,)
        await link.deliver(1, frame(2))

    nursery.start_soon(broker.serve, first, second)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        assert await taken(deliveries, 2) == [1, 2]
    assert [change.state for change in broker.states] == ["connected", "reconnecting", "connected"]


async def test_a_broker_that_has_forgotten_leaves_a_gap_of_unknown_size(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def first(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(1))
        await link.close()

    async def second(link: Link) -> None:
        await link.forget_subscription()
        await link.deliver(1, frame(9))

    nursery.start_soon(broker.serve, first, second)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        assert await taken(deliveries, 1) == [1]
        with pytest.raises(GapError, match="unknown number") as caught:
            await anext(deliveries)
        assert caught.value.count is None
        assert await taken(deliveries, 1) == [9]
    assert [change.state for change in broker.states] == ["connected", "reconnecting", "connected"]


async def test_a_batch_is_given_after_its_time_and_keeps_what_it_has_when_it_is_cancelled(
    broker: ScriptedBroker, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    link_of: list[Link] = []

    async def script(link: Link) -> None:
        link_of.append(link)
        await link.allow_subscription()
        await link.deliver(1, frame(1))

    async def give(*numbers: int) -> None:
        await link_of[0].deliver(1, *map(frame, numbers))
        await wait_all_tasks_blocked()

    async def take(max_count: int) -> None:
        given.append([each.sequence for each in await anext(deliveries.batches(max_count, max_s=2))])

    given: list[list[int]] = []
    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        nursery.start_soon(take, 9)
        await wait_all_tasks_blocked()
        mock_clock.jump(1)
        await give(2, 3)
        assert given == []
        mock_clock.jump(1)
        await wait_all_tasks_blocked()
        assert given == [[1, 2, 3]]
        await give(4)
        with trio.CancelScope() as scope:
            nursery.start_soon(_cancel_when_blocked, scope)
            await take(9)
        await give(5, 6)
        await take(2)
        assert [await taken(deliveries, 1), given] == [[6], [[1, 2, 3], [4, 5]]]


async def _cancel_when_blocked(scope: trio.CancelScope) -> None:
    await wait_all_tasks_blocked()
    scope.cancel()
