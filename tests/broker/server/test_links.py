"""How brokers become neighbours, whom they refuse, and what becomes of a link that breaks."""

import socket
from contextlib import AsyncExitStack

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import connect
from broker.addresses import Address
from broker.errors import BrokerFaultError
from broker.messages import AdvertisementWithdrawn, Fault, Ping, Pong, Welcome
from broker.node.greeting import PROBE_S
from broker.server.settings import Settings
from broker.wire import VERSION, Peer, encode
from tests.broker.server.overlay import (
    ANY_PORT,
    WAIT_S,
    RawPeer,
    Running,
    broker_hello,
    chain,
    client_hello,
    raw_peer,
    running,
    settings,
    until,
)


async def refusal_of(one: Running, hello: bytes) -> Fault:
    """Return the answer of a broker to this greeting."""
    async with raw_peer(one.server.port, Peer.UPLINK) as peer:
        await peer.say(hello)
        fault = await peer.receive()
        assert isinstance(fault, Fault)
        assert await peer.receive() is None
        return fault


async def welcomed(peer: RawPeer, hello: bytes) -> None:
    await peer.say(hello)
    assert isinstance(await peer.receive(), Welcome)


@pytest.mark.parametrize(
    ("hello", "code", "text"),
    [
        (broker_hello("B1"), "duplicate-name", "both brokers are called 'B1'"),
        (
            broker_hello("B2", ordering="fifo"),
            "ordering",
            "B1 has 'ordering pairwise' and B2 has 'ordering fifo'",
        ),
        (broker_hello(""), "name", "a name is"),
        (broker_hello("x" * 201), "name", "a name is"),
        (client_hello("a\nb"), "name", "a name is"),
    ],
)
async def test_a_peer_that_is_refused_gets_the_reason(hello: bytes, code: str, text: str) -> None:
    async with running(settings("B1")) as one:
        fault = await refusal_of(one, hello)
        assert fault.code == code
        assert text in fault.text
        assert one.links() == set()


@pytest.mark.parametrize("hello", [broker_hello("B2"), broker_hello("B9"), client_hello()])
@pytest.mark.parametrize("rest", [encode(Fault("closing", "no")), encode(Ping(1)), client_hello(), b"?" * 99])
async def test_what_comes_in_one_breath_with_a_hello_is_no_trouble(hello: bytes, rest: bytes) -> None:
    async with chain("B1", "B2") as (top, _):
        async with raw_peer(top.server.port, Peer.UPLINK) as peer:
            await peer.say(hello + rest)
            while await peer.receive() is not None:
                pass
        await until(lambda: top.links() == {"B2"})


async def test_another_version_is_refused() -> None:
    async with running(settings("B1")) as one:
        hello = bytearray(broker_hello("B2"))
        # After the six bytes of the header and the head of the array comes the version.
        assert hello[7] == VERSION
        hello[7] += 1
        assert (await refusal_of(one, bytes(hello))).code == "version"


async def test_a_second_broker_of_a_living_neighbours_name_is_refused() -> None:
    async with chain("B1", "B2") as (top, _):
        fault = await refusal_of(top, broker_hello("B2", incarnation="another"))
        assert (fault.code, fault.text) == (
            "duplicate-name",
            "another broker called 'B2' is a neighbour: names are unique",
        )
        assert top.links() == {"B2"}


async def test_a_dead_neighbour_gives_way_to_a_new_one_of_its_name(mock_clock: MockClock) -> None:
    async with (
        running(settings("B1", link_timeout_s=1000)) as one,
        raw_peer(one.server.port, Peer.UPLINK) as dead,
        raw_peer(one.server.port, Peer.UPLINK) as newcomer,
    ):
        await welcomed(dead, broker_hello("B2", incarnation="old", link_timeout_s=1000))
        await newcomer.say(broker_hello("B2", incarnation="new", link_timeout_s=1000))
        assert isinstance(await dead.receive_a(Ping), Ping)
        mock_clock.rate = 100 * PROBE_S
        assert isinstance(await newcomer.receive(), Welcome)
        assert (await dead.receive_a(Fault)).code == "replaced"
        assert one.server.node.context.links["B2"].incarnation == "new"


async def test_a_living_neighbour_answers_and_stays() -> None:
    async with (
        running(settings("B1")) as one,
        raw_peer(one.server.port, Peer.UPLINK) as first,
        raw_peer(one.server.port, Peer.UPLINK) as second,
    ):
        await welcomed(first, broker_hello("B2", incarnation="old"))
        await second.say(broker_hello("B2", incarnation="new"))
        ping = await first.receive_a(Ping)
        await first.say(encode(Pong(ping.number)))
        assert (await second.receive_a(Fault)).code == "duplicate-name"


async def test_a_neighbour_that_dials_again_replaces_its_own_broken_link() -> None:
    async with (
        running(settings("B1")) as one,
        raw_peer(one.server.port, Peer.UPLINK) as old,
        raw_peer(one.server.port, Peer.UPLINK) as new,
    ):
        await welcomed(old, broker_hello("B2"))
        await welcomed(new, broker_hello("B2"))
        assert (await old.receive_a(Fault)).code == "replaced"
        assert one.links() == {"B2"}


async def test_a_neighbour_that_breaks_the_protocol_loses_its_link_alone() -> None:
    async with chain("B1", "B2") as (top, leaf), raw_peer(top.server.port, Peer.UPLINK) as peer:
        await welcomed(peer, broker_hello("B9"))
        await peer.say(encode(AdvertisementWithdrawn("nobody@nowhere")))
        fault = await peer.receive_a(Fault)
        assert fault.code == "protocol"
        assert "B9 sent AdvertisementWithdrawn before it was attached" in fault.text
        await until(lambda: top.links() == {"B2"})
        assert leaf.is_attached


async def fails_to_start(wanted: Settings) -> BrokerFaultError:
    """Run a broker that nobody takes, to its end."""
    with pytest.RaisesGroup(BrokerFaultError, flatten_subgroups=True) as caught:
        async with running(wanted):
            await trio.sleep_forever()
    error = caught.value.exceptions[0]
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, BrokerFaultError)
    return error


async def test_a_broker_that_its_uplink_refuses_for_good_ends() -> None:
    async with chain("B1", "B2") as (top, _):
        own = await fails_to_start(settings("B1", top.endpoint))
        assert own.code == "duplicate-name"
        other = await fails_to_start(settings("B3", top.endpoint, ordering="fifo"))
        assert other.code == "ordering"
        assert str(top.endpoint) in str(other)


async def test_a_name_that_is_elsewhere_in_the_overlay_is_refused() -> None:
    async with chain("B1", "B2", "B3", link_timeout_s=0.5) as (top, _, _):
        error = await fails_to_start(settings("B3", top.endpoint, link_timeout_s=0.5))
        assert error.code == "duplicate"


def free_port() -> int:
    """A port that nobody listens on, and that the system will not give to anybody else soon."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize("length", [2, 3, 4])
async def test_brokers_that_dial_each_other_in_a_ring_become_a_tree(length: int) -> None:
    """The first broker's uplink is the last one, which comes when all others are there."""
    last = Address("127.0.0.1", free_port())
    async with running(settings("B1", last)) as top, AsyncExitStack() as stack:
        brokers = [top]
        for number in range(2, length + 1):
            listen = last if number == length else ANY_PORT
            wanted = Settings(name=f"B{number}", listen=listen, uplinks=(brokers[-1].endpoint,))
            brokers.append(await stack.enter_async_context(running(wanted)))
        await until(lambda: [each.is_attached for each in brokers].count(True) == length - 1)
        await until(lambda: sum(len(each.links()) for each in brokers) == 2 * (length - 1))


async def test_a_lost_uplink_is_dialled_again_until_it_is_back() -> None:
    async with running(settings("B1")) as first:
        endpoint = first.endpoint
        async with running(settings("B2", endpoint)) as leaf:
            await until(lambda: leaf.is_attached)
            first.server.stop()
            await until(lambda: not leaf.is_attached)
            async with running(Settings(name="B1", listen=endpoint)) as second:
                await until(lambda: leaf.is_attached)
                async with (
                    connect(second.address, name="alice") as alice,
                    connect(leaf.address, name="bob") as bob,
                    bob.subscribe("x > 0") as deliveries,
                    alice.advertise("x > 0") as publisher,
                ):
                    await publisher.publish({"x": 1})
                    async for delivery in deliveries:
                        assert delivery.attributes == {"x": 1}
                        break


async def test_a_client_is_welcome_when_its_broker_is_attached() -> None:
    async with (
        running(settings("B1")) as top,
        connect(top.address, name="alice") as alice,
        running(settings("B2", top.endpoint)) as leaf,
        connect(leaf.address, name="bob") as bob,
        bob.subscribe("x > 0") as deliveries,
    ):
        assert leaf.is_attached
        async with alice.advertise("x > 0") as publisher:
            await publisher.publish({"x": 1})
            with trio.fail_after(WAIT_S):
                assert (await anext(deliveries)).attributes == {"x": 1}


async def test_uplinks_are_tried_in_order() -> None:
    nobody = Address("127.0.0.1", free_port())
    async with (
        running(settings("B1")) as first,
        running(settings("B2")) as second,
        running(settings("B3", nobody, second.endpoint, first.endpoint)) as leaf,
    ):
        await until(lambda: leaf.is_attached)
        assert leaf.links() == {"B2"}


async def test_a_silent_connection_is_broken_and_its_link_is_lost_later(mock_clock: MockClock) -> None:
    async with (
        running(settings("B1", link_timeout_s=8)) as one,
        raw_peer(one.server.port, Peer.UPLINK) as peer,
    ):
        await welcomed(peer, broker_hello("B2", link_timeout_s=8))
        for _ in range(5):
            mock_clock.jump(1)
            await wait_all_tasks_blocked()
        assert (await peer.receive_a(Fault)).code == "silent"
        await until(lambda: len(one.server.exchange.reconnect_timeouts) == 1)
        mock_clock.jump(3)
        await wait_all_tasks_blocked()
        assert one.links() == {"B2"}
        mock_clock.jump(1.5)
        await until(lambda: one.links() == set())


@pytest.mark.parametrize("received", [10**9, 2**63 - 1])
async def test_a_session_is_not_resumed_by_a_peer_that_counts_more_than_was_sent(received: int) -> None:
    """It has lost its memory, or never had this one: the link is lost, and another one begins."""
    async with running(settings("B1")) as one, raw_peer(one.server.port, Peer.UPLINK) as first:
        await first.say(broker_hello("B2"))
        session = (await first.receive_a(Welcome)).session
        assert session
        async with raw_peer(one.server.port, Peer.UPLINK) as second:
            await second.say(broker_hello("B2", session=session, received=received))
            answer = await second.receive_a(Welcome)
            assert answer.session not in {"", session}
            assert answer.received == 0
            assert one.server.exchange.totals.lost_links == 1
            assert one.links() == {"B2"}


async def test_an_unknown_session_is_answered_with_a_new_one() -> None:
    async with running(settings("B1")) as one, raw_peer(one.server.port, Peer.UPLINK) as peer:
        await peer.say(broker_hello("B2", session="B1/beef", received=7))
        answer = await peer.receive_a(Welcome)
        assert answer.session not in {"", "B1/beef"}
        assert (answer.received, one.server.exchange.totals.lost_links) == (0, 0)
