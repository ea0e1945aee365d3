"""What the Trio shell makes of connections that fail, break and fall silent; `test_machine` has the rest."""

from functools import partial

import pytest
import trio
from trio.testing import MockClock

from broker import (
    BrokerFaultError,
    Client,
    ConnectionFailedError,
    ConnectionLostError,
    Limits,
    StateChange,
    connect,
)
from broker import messages as m
from tests.broker.client.scripted import (
    HEARTBEAT_MS,
    Link,
    ScriptedBroker,
    frame,
    one_subscription,
)


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
    nursery.start_soon(broker.serve, script, one_subscription)
    async with broker.client() as client, client.subscribe("True"):
        asked_s, left_s = silent_since_s
        assert HEARTBEAT_MS / 1000 <= left_s - asked_s <= HEARTBEAT_MS / 1000 * 1.2
    assert "nothing came from the broker for 20 s" in broker.states[1].reason


async def test_a_failure_in_the_background_is_raised_by_the_next_call_with_its_cause(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def script(link: Link) -> None:
        await link.allow_publisher()
        await link.allow_subscription()
        await link.say(m.Fault("sequence", "a jump"))

    nursery.start_soon(broker.serve, script)
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


async def test_a_client_with_a_time_limit_stops_reconnecting(
    broker: ScriptedBroker,
    nursery: trio.Nursery,
    autojump_clock: MockClock,  # noqa: ARG001 - asked for is enough
) -> None:
    async def script(link: Link) -> None:
        await link.allow_subscription()
        broker.is_down = True
        await link.close()

    nursery.start_soon(broker.serve, script)
    limits = Limits(reconnect_timeout_s=30)
    async with broker.client(limits=limits) as client, client.subscribe("True") as deliveries:
        with pytest.raises(ConnectionLostError, match="for 30 s"):
            await anext(deliveries)


async def test_the_goodbye_arrives_though_deliveries_are_still_unread(nursery: trio.Nursery) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        link = Link(stream)
        await link.greet()
        asked = await link.allow_subscription()
        await link.deliver(asked.number, *[frame(1, bytes(10_000))] * asked.credit)
        await link.next(m.Unsubscribe)
        goodbyes.append(await link.next(m.Fault))
        await link.close()

    goodbyes: list[m.Fault] = []
    listeners = await nursery.start(partial(trio.serve_tcp, host="127.0.0.1"), serve, 0)
    address = f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"
    async with connect(address) as client, client.subscribe("True") as deliveries:
        await anext(deliveries)
    assert [goodbye.code for goodbye in goodbyes] == ["left"]
    nursery.cancel_scope.cancel()


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
    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.subscribe("True") as deliveries:
        with pytest.raises(ConnectionLostError, match="KeyError") as caught:
            await anext(deliveries)
        assert isinstance(caught.value.__cause__, KeyError)
