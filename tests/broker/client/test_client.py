"""What users see around blocks: errors, cancellation, refusals, use after the end."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import (
    Client,
    ClosedError,
    FilterError,
    Limits,
    RefusedError,
)
from broker import messages as m
from tests.broker.client.scripted import (
    Link,
    ScriptedBroker,
    one_publisher,
)


async def test_an_exception_inside_the_block_passes_unchanged(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.allow_subscription()

    nursery.start_soon(broker.serve, script)
    error = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        async with broker.client() as client, client.advertise("True"), client.subscribe("True"):
            raise error
    assert caught.value is error
    assert error.__cause__ is None


async def test_a_group_raised_inside_the_block_passes_unchanged(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    nursery.start_soon(broker.accept)
    error = ExceptionGroup("mine", [KeyError("one"), ValueError("two")])
    with pytest.raises(ExceptionGroup) as caught:
        async with broker.client():
            raise error
    assert caught.value is error


async def test_cancelling_the_block_ends_it_without_waiting(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    nursery.start_soon(broker.serve, one_publisher)
    with trio.CancelScope() as scope:
        async with broker.client() as client, client.advertise("True") as publisher:
            await publisher.publish({})
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_a_request_that_is_cancelled_is_withdrawn(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.next(m.Advertise)
        await link.next(m.Unadvertise)
        await link.next(m.Subscribe)
        await link.next(m.Unsubscribe)
        done.set()

    done = trio.Event()
    nursery.start_soon(broker.serve, script)
    async with broker.client() as client:
        for block in (client.advertise("True"), client.subscribe("True")):
            with trio.CancelScope() as scope:
                nursery.start_soon(_cancel_when_blocked, scope)
                await block.__aenter__()
            assert scope.cancelled_caught
        await done.wait()


async def _cancel_when_blocked(scope: trio.CancelScope) -> None:
    await wait_all_tasks_blocked()
    scope.cancel()


async def test_requests_that_are_refused_say_why(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def script(link: Link) -> None:
        await link.say(m.Refused((await link.next(m.Advertise)).number, "not-allowed", "alice may not"))
        await link.say(m.Refused((await link.next(m.Subscribe)).number, "not-allowed", "alice may not"))

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client:
        for block in (client.advertise("True"), client.subscribe("True")):
            with pytest.raises(RefusedError, match="alice may not") as caught:
                await block.__aenter__()
            assert caught.value.code == "not-allowed"


async def test_a_filter_that_cannot_be_read_is_refused_here(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    nursery.start_soon(broker.accept)
    async with broker.client() as client:
        for block in (client.advertise("price >"), client.subscribe("price >")):
            with pytest.raises(FilterError):
                await block.__aenter__()


async def test_what_is_used_after_its_block_says_so(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.next(m.Unadvertise)
        await link.allow_subscription()

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client:
        async with client.advertise("True") as publisher:
            pass
        with pytest.raises(ClosedError, match="alice@B1/1"):
            await publisher.publish({})
        with pytest.raises(ClosedError, match="alice@B1/1"):
            await publisher.flush()
        async with client.subscribe("True") as deliveries:
            pass
        with pytest.raises(ClosedError, match="'True'"):
            await anext(deliveries)
    with pytest.raises(ClosedError, match="alice"):
        async with client.advertise("True"):
            pass


async def test_a_task_that_still_waits_when_the_block_is_left_gets_an_error(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def wait(client: Client) -> None:
        with pytest.raises(ClosedError, match="alice"):
            async with client.advertise("True"):
                pass
        raised.set()

    raised = trio.Event()
    nursery.start_soon(broker.accept)
    async with broker.client() as client:
        nursery.start_soon(wait, client)
        await wait_all_tasks_blocked()
    await raised.wait()


async def test_leaving_waits_only_so_long_for_a_broker_that_takes_nothing(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.sequences(1)

    async def fail(client: Client) -> None:
        async with client.advertise("True") as publisher:
            await publisher.publish({})
            raise KeyError

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client:
        with pytest.raises(KeyError):
            await fail(client)
        began_s = trio.current_time()
    assert trio.current_time() - began_s == Limits().close_timeout_s
