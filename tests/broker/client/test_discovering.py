"""What is on offer at any broker, as programs see it."""

import pytest
import trio

from broker import AdvertisementWatch, ClosedError, FilterError, connect
from concord import sync
from tests.broker.client.scripted import TRADES
from tests.broker.server.overlay import chain


async def changes(watch: AdvertisementWatch, count: int) -> list[tuple[str, str]]:
    return [(each.kind, each.filter) for each in [await anext(watch) for _ in range(count)]]


async def test_a_watch_shows_what_publishers_at_other_brokers_have() -> None:
    async with (
        chain("B1", "B2", "B3") as (one, _, three),
        connect(one.address, name="alice") as alice,
        connect(three.address, name="bob") as bob,
        alice.advertise(TRADES) as publisher,
        bob.advertise("kind == 'quote'"),
        bob.advertisements("price > 5") as watch,
    ):
        assert watch.standing[publisher.id] == TRADES
        both = [("added", "kind == 'quote'"), ("added", TRADES)]
        assert sorted(await changes(watch, 2)) == sorted(both)
        assert await changes(watch, 1) == [("complete", "")]
        async with alice.advertise("price > 1"):
            assert await changes(watch, 1) == [("added", "price > 1")]
        assert await changes(watch, 1) == [("removed", "price > 1")]
    with pytest.raises(ClosedError):
        await anext(watch)


async def test_a_filter_that_cannot_be_read_is_refused_here() -> None:
    async with chain("B1") as (one,), connect(one.address) as client:
        with pytest.raises(FilterError):
            async with client.advertisements("x >"):
                pass


async def test_programs_without_a_loop_watch_too() -> None:
    def watched(address: str) -> list[str]:
        with sync.connect(address) as client, client.advertise("x > 0"), client.advertisements() as watch:
            assert list(watch.standing.values()) == ["x > 0"]
            return [next(watch).kind, next(watch).kind]

    async with chain("B1") as (one,):
        assert await trio.to_thread.run_sync(watched, one.address) == ["added", "complete"]
