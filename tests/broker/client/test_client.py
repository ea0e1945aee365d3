"""The client over streams in memory, with a broker that follows a script, and time that stands still."""

from collections.abc import Awaitable, Callable
from types import MappingProxyType

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import (
    BrokerFaultError,
    Client,
    ClosedError,
    ConnectionFailedError,
    ConnectionLostError,
    Delivery,
    FilterError,
    Gap,
    GapError,
    InvalidPublicationError,
    Limits,
    NotAdvertisedError,
    PublisherEndedError,
    RefusedError,
    SlowSubscriberError,
    StateChange,
)
from broker import messages as m
from broker.client.deliveries import Deliveries
from broker.filters.constraints import Value
from tests.broker.client.scripted import HEARTBEAT_MS, Link, ScriptedBroker, frame

Script = Callable[[Link], Awaitable[None]]
TRADE: dict[str, Value] = {"kind": "trade", "price": 1.5}
TRADES = "kind == 'trade' and price > 0"


@pytest.fixture
def broker() -> ScriptedBroker:
    return ScriptedBroker()


async def serve(broker: ScriptedBroker, *scripts: Script) -> None:
    """Play one script per connection."""
    for script in scripts:
        await script(await broker.accept())


async def publisher_only(link: Link) -> None:
    await link.allow_publisher()


async def one_subscription(link: Link) -> None:
    await link.allow_subscription()


async def taken(deliveries: Deliveries, count: int) -> list[int]:
    return [(await anext(deliveries)).sequence for _ in range(count)]


# --- publishing ---------------------------------------------------------------------------------------


async def test_publish_counts_from_one_and_leaving_the_block_flushes(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        assert (await link.allow_publisher()).filter == TRADES
        assert await link.sequences(3) == [1, 2, 3]
        await link.answer_flush()
        await link.next(m.Unadvertise)

    nursery.start_soon(serve, broker, script)
    async with broker.client() as client:
        assert client.broker == "B1"
        async with client.advertise(TRADES) as publisher:
            assert publisher.id == "alice@B1/1"
            assert [await publisher.publish(TRADE) for _ in range(3)] == [1, 2, 3]


async def test_confirm_waits_until_the_broker_has_taken_it_over(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        assert (await link.next(m.Publication)).attributes == TRADE
        flush = await link.next(m.Flush)
        log.append("taken over")
        await link.say(m.Flushed(flush.number))

    log: list[str] = []
    nursery.start_soon(serve, broker, script)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        assert await publisher.publish(TRADE, b"payload", ordered=False, confirm=True) == 1
        assert log == ["taken over"]


async def test_what_is_not_advertised_is_refused_with_what_fails(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    nursery.start_soon(serve, broker, publisher_only)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        with pytest.raises(NotAdvertisedError, match=r"price > 0 \(price is -1\)"):
            await publisher.publish({"kind": "trade", "price": -1})


@pytest.mark.parametrize(
    ("attributes", "payload", "words"),
    [
        ({**TRADE, "when": object()}, b"", r"attributes\[when\].*object"),
        ({**TRADE, "a b": 1}, b"", "a b"),
        ({**TRADE, "big": 2**63}, b"", "big.*64 bits"),
        ({**TRADE, "text": "x" * 65_537}, b"", "text.*65536"),
        ({1: 1, "kind": "trade", "price": 1}, b"", "name.*text"),
        ({"kind": ["trade"], "price": 1}, b"", "kind.*array"),
        ([("kind", "trade")], b"", "mapping.*list"),
        (TRADE, "text", "payload.*str"),
        (TRADE, bytes(1024 * 1024 + 1), "payload.*1048576"),
    ],
)
async def test_what_cannot_be_published_says_what_and_where(
    broker: ScriptedBroker, nursery: trio.Nursery, attributes: object, payload: object, words: str
) -> None:
    nursery.start_soon(serve, broker, publisher_only)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        with pytest.raises(InvalidPublicationError, match=words):
            await publisher.publish(attributes, payload)  # type: ignore[arg-type]  # that is what is tested


async def test_any_mapping_and_any_bytes_can_be_published(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        assert (await link.next(m.Publication)).attributes == TRADE
        await link.answer_flush()

    nursery.start_soon(serve, broker, script)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        attributes: MappingProxyType[str, Value] = MappingProxyType(TRADE)
        await publisher.publish(attributes, bytearray(b"payload"))


async def test_publish_waits_while_the_window_is_full_and_publishes_nothing_if_cancelled(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.sequences(1)
        flush = await link.next(m.Flush)
        await full.wait()
        await link.say(m.Flushed(flush.number))
        assert (await link.next(m.Publication)).sequence == 2
        await link.answer_flush()

    full = trio.Event()
    nursery.start_soon(serve, broker, script)
    limits = Limits(window_bytes=1000)
    async with broker.client(limits=limits) as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE, bytes(1000))
        with trio.move_on_after(0) as scope:
            await publisher.publish(TRADE)
        assert scope.cancelled_caught
        nursery.start_soon(_set_when_blocked, full)
        assert await publisher.publish(TRADE) == 2


async def _set_when_blocked(event: trio.Event) -> None:
    await wait_all_tasks_blocked()
    event.set()


async def test_publish_lets_others_run_now_and_then(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.sequences(1)
        arrived.set()
        await link.sequences(999)
        await link.answer_flush()

    arrived = trio.Event()
    nursery.start_soon(serve, broker, script)
    limits = Limits(checkpoint_bytes=5000)
    async with broker.client(limits=limits) as client, client.advertise(TRADES) as publisher:
        for _ in range(999):
            await publisher.publish(TRADE)
        assert arrived.is_set()
        await publisher.publish(TRADE)


async def test_nothing_is_sent_without_credit(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def script() -> None:
        link = await broker.accept(credit_bytes=0)
        await link.allow_publisher()
        await published.wait()
        await link.say(m.Ping(1))
        await link.next(m.Pong)
        await link.say(m.Grant(1000))
        assert await link.sequences(1) == [1]
        await link.answer_flush()

    published = trio.Event()
    nursery.start_soon(script)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE)
        published.set()


async def test_a_publisher_that_the_broker_ended_raises_why(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        asked = await link.allow_publisher()
        await link.next(m.Publication)
        await link.say(m.Ended(asked.number, "not-advertised", "it does not match"))

    nursery.start_soon(serve, broker, script)
    async with broker.client() as client:
        block = client.advertise(TRADES)
        publisher = await block.__aenter__()
        await publisher.publish(TRADE)
        await wait_all_tasks_blocked()
        with pytest.raises(PublisherEndedError, match="it does not match"):
            await block.__aexit__(None, None, None)


async def test_what_is_in_the_window_survives_a_broken_connection(
    broker: ScriptedBroker, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    async def first(link: Link) -> None:
        await link.allow_publisher()
        assert await link.sequences(2) == [1, 2]
        await link.close()

    async def second(link: Link) -> None:
        assert (await link.allow_publisher(taken=1)).resume == "alice@B1/1"
        assert await link.sequences(2) == [2, 3]
        await link.answer_flush()

    nursery.start_soon(serve, broker, first, second)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE)
        await publisher.publish(TRADE)
        await wait_all_tasks_blocked()
        assert client.state == "reconnecting"
        assert await publisher.publish(TRADE) == 3
        mock_clock.autojump_threshold = 0


async def test_a_slow_publishers_window_empties_by_itself(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.sequences(1)
        await link.answer_flush()
        flushed.set()

    flushed = trio.Event()
    nursery.start_soon(serve, broker, script)
    async with broker.client(limits=Limits()) as client, client.advertise(TRADES) as publisher:
        await publisher.publish(TRADE)
        await flushed.wait()


# --- subscribing --------------------------------------------------------------------------------------


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

    nursery.start_soon(serve, broker, script)
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

    nursery.start_soon(serve, broker, script)
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

    nursery.start_soon(serve, broker, script)
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
    nursery.start_soon(serve, broker, script)
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


async def test_a_slow_subscriber_is_told_after_what_had_arrived(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(1))
        await link.say(m.Ended(1, "slow", "7 deliveries waited"))

    nursery.start_soon(serve, broker, script)
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

    nursery.start_soon(serve, broker, script)
    limits = Limits(credit_first=8, credit_max=8)
    async with broker.client(limits=limits) as client, client.subscribe("True") as deliveries:
        assert await taken(deliveries, 9) == list(range(1, 10))


async def test_after_a_reconnection_the_subscriber_sees_a_gap_of_unknown_size(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def first(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(1))
        await link.close()

    async def second(link: Link) -> None:
        await link.allow_subscription()
        await link.deliver(1, frame(9))

    nursery.start_soon(serve, broker, first, second)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        assert await taken(deliveries, 1) == [1]
        with pytest.raises(GapError, match="unknown number") as caught:
            await anext(deliveries)
        assert caught.value.count is None
        assert await taken(deliveries, 1) == [9]
    assert [change.state for change in broker.states] == ["connected", "reconnecting", "connected"]


# --- connections --------------------------------------------------------------------------------------


async def test_a_first_connection_that_fails_says_where_and_why(broker: ScriptedBroker) -> None:
    broker.is_down = True
    with pytest.raises(ConnectionFailedError, match=r"broker.example:7411: connection refused") as caught:
        async with broker.client():
            pass
    assert caught.value.address == "broker.example:7411"


async def test_a_broker_that_does_not_answer_is_given_up(
    broker: ScriptedBroker,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    with pytest.raises(ConnectionFailedError, match="no answer within 10 s"):
        async with broker.client():
            pass


async def test_with_retry_the_first_connection_is_waited_for(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def come_up() -> None:
        await trio.sleep(60)
        broker.is_down = False
        await broker.accept()

    broker.is_down = True
    nursery.start_soon(come_up)
    async with broker.client(retry=True) as client:
        assert client.state == "connected"
        assert 60 <= trio.current_time() <= 70


@pytest.mark.parametrize("retry", [False, True])
async def test_a_broker_that_refuses_the_client_is_not_asked_again(
    broker: ScriptedBroker, nursery: trio.Nursery, *, retry: bool
) -> None:
    async def refuse() -> None:
        link = await broker.accept_silently()
        await link.next(m.Hello)
        await link.say(m.Fault("auth", "no user with this token"))

    nursery.start_soon(refuse)
    with pytest.raises(BrokerFaultError, match="no user with this token") as caught:
        async with broker.client(retry=retry):
            pass
    assert caught.value.code == "auth"


async def test_a_silent_broker_is_asked_and_then_left(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def script(link: Link) -> None:
        await link.next(m.Subscribe)
        await link.say(m.Pong((await link.next(m.Ping)).number))
        await link.next(m.Ping)
        silent_since_s.append(trio.current_time())
        assert not await link.stream.receive_some()
        silent_since_s.append(trio.current_time())

    silent_since_s: list[float] = []
    nursery.start_soon(serve, broker, script, one_subscription)
    async with broker.client() as client, client.subscribe("True"):
        asked_s, left_s = silent_since_s
        assert HEARTBEAT_MS / 1000 <= left_s - asked_s <= HEARTBEAT_MS / 1000 * 1.2
    assert "nothing came from the broker for 20 s" in broker.states[1].reason


async def test_a_broker_that_shuts_down_is_waited_for(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def closing(link: Link) -> None:
        await link.say(m.Fault("closing", "the broker is shutting down"))

    nursery.start_soon(serve, broker, closing, one_subscription)
    async with broker.client() as client:
        await wait_all_tasks_blocked()
        async with client.subscribe("True"):
            assert client.state == "connected"
    assert "shutting down" in broker.states[1].reason


async def test_a_failure_in_the_background_is_raised_by_the_next_call_with_its_cause(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.allow_subscription()
        await link.say(m.Fault("sequence", "a jump"))

    nursery.start_soon(serve, broker, script)
    async with broker.client() as client:
        publishing, subscribing = client.advertise("True"), client.subscribe("True")
        publisher, deliveries = await publishing.__aenter__(), await subscribing.__aenter__()
        for call in (anext(deliveries), publisher.publish({}), publisher.flush(), subscribe_again(client)):
            with pytest.raises(BrokerFaultError, match="a jump") as caught:
                await call
            assert isinstance(caught.value.__cause__, BrokerFaultError)
        assert client.state == "closed"
        await subscribing.__aexit__(None, None, None)
        await publishing.__aexit__(None, None, None)


async def subscribe_again(client: Client) -> None:
    async with client.subscribe("True"):
        pass


async def test_a_client_told_to_gives_up_reconnecting(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        broker.is_down = True
        await link.close()

    nursery.start_soon(serve, broker, script)
    limits = Limits(reconnect_timeout_s=30)
    async with broker.client(limits=limits) as client, client.subscribe("True") as deliveries:
        with pytest.raises(ConnectionLostError, match="for 30 s"):
            await anext(deliveries)


async def test_a_callback_that_fails_ends_the_client_with_that_error(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        await link.close()

    class Refusing(list[StateChange]):
        def append(self, change: StateChange) -> None:
            if change.state == "reconnecting":
                raise KeyError(change.state)

    broker.states = Refusing()
    nursery.start_soon(serve, broker, script)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        with pytest.raises(ConnectionLostError, match="KeyError") as caught:
            await anext(deliveries)
        assert isinstance(caught.value.__cause__, KeyError)


# --- blocks -------------------------------------------------------------------------------------------


async def test_an_exception_inside_the_block_passes_unchanged(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.allow_subscription()

    nursery.start_soon(serve, broker, script)
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
    nursery.start_soon(serve, broker, publisher_only)
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
    nursery.start_soon(serve, broker, script)
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

    nursery.start_soon(serve, broker, script)
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

    nursery.start_soon(serve, broker, script)
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

    nursery.start_soon(serve, broker, script)
    async with broker.client() as client:
        with pytest.raises(KeyError):
            await fail(client)
        began_s = trio.current_time()
    assert trio.current_time() - began_s == Limits().close_timeout_s
