"""Notices of interest to publishers, from real brokers and from scripts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import ClosedError, Publisher, connect
from broker import messages as m
from tests.broker.client.scripted import TRADES, Link, ScriptedBroker
from tests.broker.server.overlay import chain

NUMBER = 1
"""Of the only request that the client makes in these scripts."""


async def test_interest_several_hops_away_is_waited_for_and_its_end_too() -> None:
    async with (
        chain("B1", "B2", "B3") as (one, _, three),
        connect(one.address, name="alice") as alice,
        connect(three.address, name="bob") as bob,
        alice.advertise(TRADES) as publisher,
    ):
        async with bob.subscribe("kind == 'quote'"):
            assert not publisher.is_wanted
        async with bob.subscribe("price > 100") as deliveries:
            await publisher.wanted()
            await publisher.publish({"kind": "trade", "price": 101})
            assert (await anext(deliveries)).attributes["price"] == 101
        await publisher.unwanted()


async def test_an_advertisement_that_is_wanted_already_is_wanted_at_once() -> None:
    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address) as alice,
        connect(two.address) as bob,
        bob.subscribe("True"),
        alice.advertise(TRADES) as publisher,
    ):
        assert publisher.is_wanted


async def test_a_clients_own_subscription_counts_as_interest() -> None:
    async with (
        chain("B1") as (one,),
        connect(one.address) as client,
        client.advertise(TRADES) as publisher,
        client.subscribe("True"),
    ):
        await publisher.wanted()


async def test_after_a_broken_connection_the_publisher_gets_the_present_state() -> None:
    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address, name="alice") as alice,
        connect(two.address, name="bob") as bob,
        alice.advertise(TRADES) as publisher,
    ):
        async with bob.subscribe("True"):
            await publisher.wanted()
            stream = alice._driver.shell.stream  # type: ignore[attr-defined]  # no door leads there
            assert stream is not None
            await trio.aclose_forcefully(stream)
        await publisher.unwanted()


@asynccontextmanager
async def talking(broker: ScriptedBroker, nursery: trio.Nursery) -> AsyncIterator[tuple[Link, Publisher]]:
    """A publisher, and the broker's end of its connection."""
    links: list[Link] = []

    async def script(link: Link) -> None:
        links.append(link)
        await link.allow_publisher()

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.advertise(TRADES) as publisher:
        yield links[0], publisher


async def say(link: Link, *states: bool) -> None:
    await link.say(*[m.Wanted(NUMBER, each) for each in states])
    await wait_all_tasks_blocked()


async def test_iterating_gives_the_present_state_and_then_changes(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async with talking(broker, nursery) as (link, publisher):
        interest = publisher.interest()
        assert await anext(interest) is False
        await say(link, True)
        assert await anext(interest) is True
        await say(link, False, True, False)
        assert await anext(interest) is False


class Production:
    """A task to run on demand, which counts its starts and stops."""

    def __init__(self, publisher: Publisher, linger_s: float = 0) -> None:
        self.publisher, self.linger_s = publisher, linger_s
        self.log: list[str] = []
        self.done = trio.Event()

    async def produce(self) -> None:
        self.log.append("start")
        try:
            await self.done.wait()
        finally:
            self.log.append("stop")

    async def run(self) -> None:
        await self.publisher.while_wanted(self.produce, linger_s=self.linger_s)


async def test_production_runs_while_a_subscription_wants_it(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async with talking(broker, nursery) as (link, publisher):
        production = Production(publisher)
        nursery.start_soon(production.run)
        await wait_all_tasks_blocked()
        assert production.log == []
        await say(link, True)
        assert production.log == ["start"]
        await say(link, False, True)
        assert production.log == ["start"]
        await say(link, False)
        assert production.log == ["start", "stop"]
        await say(link, True)
        assert production.log == ["start", "stop", "start"]
        nursery.cancel_scope.cancel()


async def test_a_short_absence_does_not_stop_a_production_that_lingers(
    broker: ScriptedBroker, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    async with talking(broker, nursery) as (link, publisher):
        production = Production(publisher, linger_s=5)
        nursery.start_soon(production.run)
        await say(link, True)
        await say(link, False)
        mock_clock.jump(4)
        await say(link, True)
        mock_clock.jump(4)
        await say(link, False)
        assert production.log == ["start"]
        mock_clock.jump(5.1)
        await wait_all_tasks_blocked()
        assert production.log == ["start", "stop"]
        nursery.cancel_scope.cancel()


async def test_a_production_that_has_ended_is_run_again_when_interest_comes_anew(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async with talking(broker, nursery) as (link, publisher):
        production = Production(publisher)
        production.done.set()
        nursery.start_soon(production.run)
        await say(link, True)
        assert production.log == ["start", "stop"]
        await say(link, False)
        await say(link, True)
        assert production.log == ["start", "stop"] * 2
        nursery.cancel_scope.cancel()


async def test_what_a_production_raises_is_raised_as_it_is(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async def fails() -> None:
        raise KeyError("sensor")

    async with talking(broker, nursery) as (link, publisher):
        await say(link, True)
        with pytest.raises(KeyError, match="sensor"):
            await publisher.while_wanted(fails)


async def test_waiting_ends_with_the_publisher(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    async def waits(publisher: Publisher) -> None:
        with pytest.raises(ClosedError, match="after its advertise block"):
            await publisher.wanted()
        ended.set()

    ended = trio.Event()
    async with talking(broker, nursery) as (_, publisher):
        nursery.start_soon(waits, publisher)
        await wait_all_tasks_blocked()
    await ended.wait()
