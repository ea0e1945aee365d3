"""Brokers on real sockets that lose each other for good."""

from contextlib import AsyncExitStack
from pathlib import Path

import trio

from broker import Gap, connect
from broker.addresses import Address
from broker.server.settings import Settings
from tests.broker.server.overlay import ANY_PORT, Running, running, settings, until

ELSEWHERE = Address("b2.example", 7411)


def knows(broker: Running, count: int) -> bool:
    return len(broker.server.exchange.core.roster) == count


async def stop(broker: Running) -> None:
    broker.server.stop()
    await until(lambda: not broker.links())


async def test_children_of_a_lost_root_come_to_the_one_with_the_smallest_name() -> None:
    async with AsyncExitStack() as stack:
        root = await stack.enter_async_context(running(settings("B9", link_timeout_s=2)))
        children = [
            await stack.enter_async_context(running(settings(name, root.endpoint, link_timeout_s=2)))
            for name in ("B3", "B1", "B2")
        ]
        await until(lambda: all(knows(each, 4) for each in (root, *children)))
        await stop(root)
        three, one, two = children
        await until(lambda: one.links() == {"B2", "B3"})
        await until(lambda: two.is_attached and three.is_attached)
        assert (two.links(), three.links()) == ({"B1"}, {"B1"})
        assert not one.is_attached


async def test_a_grandchild_comes_to_the_nearest_that_is_left_and_goes_on_receiving() -> None:
    async with (
        running(settings("B1", link_timeout_s=2)) as root,
        running(settings("B2", root.endpoint, link_timeout_s=2)) as middle,
        running(settings("B3", middle.endpoint, link_timeout_s=2)) as leaf,
    ):
        await until(lambda: all(knows(each, 3) for each in (root, middle, leaf)))
        async with (
            connect(root.address, name="alice") as alice,
            connect(leaf.address, name="bob") as bob,
            bob.subscribe("x > 0") as deliveries,
            alice.advertise("x > 0") as publisher,
        ):
            await stop(middle)
            await until(lambda: leaf.links() == {"B1"} and leaf.is_attached)
            await until(lambda: not root.server.exchange.core.counts()["open_floods"])
            async with trio.open_nursery() as nursery:
                nursery.start_soon(publisher.publish, {"x": 1})
                # The gap for a lost broker is in its place in the stream.
                async for item in deliveries.with_gaps():
                    if not isinstance(item, Gap):
                        assert item.attributes == {"x": 1}
                        break


async def test_a_restarted_root_is_the_root_again_and_a_middle_broker_goes_where_it_belongs() -> None:
    async with AsyncExitStack() as stack:
        root = await stack.enter_async_context(running(settings("B9", link_timeout_s=2)))
        one = await stack.enter_async_context(running(settings("B1", root.endpoint, link_timeout_s=2)))
        two = await stack.enter_async_context(running(settings("B2", one.endpoint, link_timeout_s=2)))
        await until(lambda: all(knows(each, 3) for each in (root, one, two)))
        await stop(root)
        await until(lambda: not one.is_attached)
        again = Settings(name="B9", listen=root.endpoint, link_timeout_s=2)
        root = await stack.enter_async_context(running(again))
        await until(lambda: one.is_attached and root.links() == {"B1"})
        await stop(one)
        await until(lambda: root.links() == {"B2"} and two.is_attached)
        again = Settings(name="B1", listen=one.endpoint, uplinks=(root.endpoint,), link_timeout_s=2)
        one = await stack.enter_async_context(running(again))
        await until(lambda: one.is_attached and root.links() == {"B1", "B2"})
        assert two.links() == {"B9"}


async def test_a_broker_restarted_with_a_journal_knows_which_brokers_to_dial(tmp_path: Path) -> None:
    """Its uplink was lost for good while it was away, and it has nothing else configured."""
    async with AsyncExitStack() as stack:
        root = await stack.enter_async_context(running(settings("B9", link_timeout_s=2)))
        left = await stack.enter_async_context(running(settings("B1", root.endpoint, link_timeout_s=2)))
        wanted = Settings(
            name="B2",
            listen=ANY_PORT,
            uplinks=(root.endpoint,),
            link_timeout_s=2,
            journal=tmp_path,
        )
        async with running(wanted) as away:
            await until(lambda: all(knows(each, 3) for each in (root, left, away)))
        root.server.stop()
        await until(lambda: not left.is_attached)
        back = await stack.enter_async_context(running(wanted))
        await until(lambda: back.is_attached and back.links() == {"B1"})


async def test_a_broker_that_announces_its_address_is_believed() -> None:
    async with (
        running(settings("B1", link_timeout_s=2)) as root,
        running(
            Settings(
                name="B2",
                listen=ANY_PORT,
                uplinks=(root.endpoint,),
                advertise_address=ELSEWHERE,
                link_timeout_s=2,
            )
        ) as leaf,
    ):
        await until(lambda: leaf.is_attached and knows(root, 2))
        assert root.server.exchange.core.roster.address_of("B2") == str(ELSEWHERE)
        assert leaf.server.exchange.core.roster.address_of("B1") == root.address


async def test_uplink_moves_and_candidates_can_be_asked_for() -> None:
    async with (
        running(settings("B1", link_timeout_s=2)) as root,
        running(settings("B2", root.endpoint, link_timeout_s=2)) as leaf,
        connect(leaf.address, name="alice") as alice,
    ):
        await until(lambda: leaf.is_attached)
        uplinks = await alice.explain_uplinks()
        assert (uplinks["broker"], uplinks["uplink"], uplinks["moves"]) == ("B2", "B1", 1)
        assert uplinks["candidates"] == [{"address": root.address, "name": "B1", "why": "configured uplink"}]
