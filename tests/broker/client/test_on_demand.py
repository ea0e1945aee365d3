"""Followed interest and producers on demand: from scripts in virtual time, and a cascade at real brokers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import Client, ClosedError, InterestChange, Publisher, RefusedError, connect, parse
from broker import messages as m
from broker.client.on_demand import named_values
from broker.filters.values import Scalar
from broker.interest_messages import FollowInterest, InterestListed
from tests.broker.client.scripted import Link, ScriptedBroker
from tests.broker.server.overlay import chain

ROOMS = "exists(room)"
FOLLOWED = 2
"""The request that follows, on every connection of these scripts."""


@asynccontextmanager
async def publishing(broker: ScriptedBroker, nursery: trio.Nursery) -> AsyncIterator[tuple[Link, Publisher]]:
    """A publisher, and the broker's end of its first connection."""
    links: list[Link] = []

    async def script(link: Link) -> None:
        links.append(link)
        await link.allow_publisher()

    nursery.start_soon(broker.serve, script)
    async with broker.client() as client, client.advertise(ROOMS) as publisher:
        yield links[0], publisher


async def say(
    link: Link, added: tuple[str, ...], removed: tuple[str, ...] = (), *, more: bool = False
) -> None:
    await link.say(InterestListed(FOLLOWED, added, removed, more))
    await wait_all_tasks_blocked()


def change(added: str, removed: str = "") -> InterestChange:
    both = (tuple(map(parse, each.split("; "))) if each else () for each in (added, removed))
    return InterestChange(*both)


async def test_changes_come_when_they_are_whole_and_what_came_and_went_is_left_out(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async with publishing(broker, nursery) as (link, publisher):
        changes = publisher.interest_changes()
        assert not publisher.interests

        async def answer() -> None:
            assert await link.next(FollowInterest) == FollowInterest(FOLLOWED, 1)
            await say(link, ("room == 1",), more=True)
            await say(link, ("room == 2",))

        nursery.start_soon(answer)
        assert await anext(changes) == change("room == 1; room == 2")
        await say(link, ("room == 3",), ("room == 1",))
        await say(link, (), ("room == 3",))
        assert await anext(changes) == change("", "room == 1")
        assert publisher.interests == (parse("room == 2"),)
        await say(link, ("room == 4",), ("room == 2",))
        assert await anext(publisher.interest_changes()) == change("room == 4")


async def test_after_a_broken_connection_the_difference_is_yielded(
    broker: ScriptedBroker, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    mock_clock.autojump_threshold = 0.01
    async with publishing(broker, nursery) as (link, publisher):
        changes = publisher.interest_changes()
        nursery.start_soon(say, link, ("room == 1", "room == 2"))
        assert await anext(changes) == change("room == 1; room == 2")
        await link.close()
        again = await broker.accept()
        await again.allow_publisher()
        assert await again.next(FollowInterest) == FollowInterest(FOLLOWED, 1)
        assert publisher.interests == (parse("room == 1"), parse("room == 2"))
        await say(again, ("room == 2", "room == 3"))
        assert await anext(changes) == change("room == 3", "room == 1")
        nursery.cancel_scope.cancel()


async def test_a_refusal_is_raised_where_interest_is_asked_for(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    async with publishing(broker, nursery) as (link, publisher):
        nursery.start_soon(link.say, m.Refused(FOLLOWED, "not-allowed", "may not see the filters of others"))
        with pytest.raises(RefusedError, match="may not see"):
            await anext(publisher.interest_changes())
        with pytest.raises(RefusedError, match="may not see"):
            await publisher.serve_on_demand("room", Producers().make)


class Producers:
    """Producers that say what starts and stops."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.running: set[Scalar | None] = set()

    async def make(self, value: Scalar | None) -> None:
        assert value not in self.running
        self.running.add(value)
        self.log.append(f"+{value}")
        try:
            await trio.sleep_forever()
        finally:
            self.running.remove(value)
            self.log.append(f"-{value}")

    def take(self) -> list[str]:
        taken, self.log = sorted(self.log), []
        return taken


async def test_one_producer_runs_for_each_named_value_and_lingers(
    broker: ScriptedBroker, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    producers = Producers()
    async with publishing(broker, nursery) as (link, publisher):
        nursery.start_soon(partial(publisher.serve_on_demand, "room", producers.make, linger_s=5))
        await wait_all_tasks_blocked()
        await say(link, ("room in (1, 2)", "room == 2 and x > 0", "room == 9 and not exists(room)"))
        assert producers.take() == ["+1", "+2"]
        await say(link, ("x > 1",), ("room in (1, 2)",))
        assert producers.take() == ["+None"]
        mock_clock.jump(4)
        await wait_all_tasks_blocked()
        assert producers.take() == []
        mock_clock.jump(1.1)
        await wait_all_tasks_blocked()
        assert producers.take() == ["-1"]
        await say(link, (), ("x > 1", "room == 2 and x > 0"))
        mock_clock.jump(4)
        await say(link, ("room == 2",))
        mock_clock.jump(4)
        await wait_all_tasks_blocked()
        assert producers.take() == ["-None"]
        assert producers.running == {2}
        nursery.cancel_scope.cancel()


async def test_producers_go_on_over_a_broken_connection_and_the_new_list_decides(
    broker: ScriptedBroker, nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    mock_clock.autojump_threshold = 0.01
    producers = Producers()
    async with publishing(broker, nursery) as (link, publisher):
        nursery.start_soon(publisher.serve_on_demand, "room", producers.make)
        await say(link, ("room == 1", "room == 2"))
        await link.close()
        again = await broker.accept()
        await again.allow_publisher()
        await wait_all_tasks_blocked()
        assert producers.take() == ["+1", "+2"]
        await say(again, ("room == 2", "room == 3"))
        assert producers.take() == ["+3", "-1"]
        nursery.cancel_scope.cancel()


async def test_what_a_producer_raises_ends_all_and_is_raised_as_it_is(
    broker: ScriptedBroker, nursery: trio.Nursery
) -> None:
    producers = Producers()

    async def make(value: Scalar | None) -> None:
        if value == "broken":
            raise KeyError(value)
        await producers.make(value)

    async with publishing(broker, nursery) as (link, publisher):
        nursery.start_soon(say, link, ("room in ('broken', 'a')",))
        with pytest.raises(KeyError, match="broken"):
            await publisher.serve_on_demand("room", make)
        assert producers.running == set()


async def test_producers_end_with_their_publisher(broker: ScriptedBroker, nursery: trio.Nursery) -> None:
    producers = Producers()
    ended = trio.Event()

    async def serve(publisher: Publisher) -> None:
        with pytest.raises(ClosedError, match="after its advertise block"):
            await publisher.serve_on_demand("room", producers.make, linger_s=60)
        ended.set()

    async with publishing(broker, nursery) as (link, publisher):
        nursery.start_soon(serve, publisher)
        await say(link, ("room == 1",))
        assert producers.running == {1}
    await ended.wait()
    assert producers.take() == ["+1", "-1"]


FILTERS = ["k == 1", "k in (1, 2)", "k == 'a' or k == True", "k == 1 and x > 0", "x < 0", "k > 1", "False"]
VALUES: list[Scalar] = [1, 2, 3, "a", "b", True, False]


@given(st.sampled_from([*FILTERS, "True"]), st.lists(st.sampled_from([*FILTERS, "exists(k)"]), max_size=3))
def test_an_event_that_both_match_has_a_producer(advertised: str, interests: list[str]) -> None:
    offered, asked = parse(advertised), [parse(each) for each in interests]
    named = named_values("k", offered, asked)
    for value in VALUES:
        events = [{"k": value, "x": x} for x in (-1, 0, 1)]
        is_due = any(offered.match(event) and each.match(event) for event in events for each in asked)
        assert not is_due or {(type(value), value), (type(None), None)} & named.keys()
    assert ((type(None), None) in named) <= any(
        "k ==" not in each and "k in" not in each for each in interests
    )


async def test_a_cascade_starts_and_stops_from_the_last_consumers_subscription() -> None:
    log: list[str] = []

    async def measure(publisher: Publisher, room: Scalar | None) -> None:
        log.append(f"measures {room}")
        try:
            await publisher.publish({"kind": "raw", "room": room})
            await trio.sleep_forever()
        finally:
            log.append(f"rests {room}")

    async def refine(client: Client, publisher: Publisher, room: Scalar | None) -> None:
        async with client.subscribe(f"kind == 'raw' and room == {room!r}") as raws:
            async for each in raws:
                await publisher.publish({"kind": "fine", "room": each.attributes["room"]})

    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address) as first,
        connect(two.address) as second,
        connect(one.address) as last,
        first.advertise("kind == 'raw'") as raw,
        second.advertise("kind == 'fine'") as fine,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(raw.serve_on_demand, "room", partial(measure, raw))
        nursery.start_soon(fine.serve_on_demand, "room", partial(refine, second, fine))
        for room in ("a", "b"):
            assert log == []
            async with last.subscribe(f"kind == 'fine' and room == {room!r}") as fines:
                assert (await anext(fines)).attributes["room"] == room
            await raw.unwanted()
            await wait_all_tasks_blocked()
            assert log == [f"measures {room}", f"rests {room}"]
            log.clear()
        nursery.cancel_scope.cancel()
