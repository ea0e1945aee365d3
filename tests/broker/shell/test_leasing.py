"""Leases in the shell: ticks of the clock are inputs of the station; what is said again crosses links."""

from collections import Counter

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from broker import GapError, connect
from broker.leases import REFRESHES, SWEEPS, Terms
from broker.shell.exchange import Exchange
from broker.shell.leasing import renew, sweep
from broker.station import Station
from broker.station import inputs as i
from ordering.pairwise import Pairwise
from tests.broker.shell.overlay import chain, until


async def test_ticks_come_as_often_as_was_agreed_on_and_are_written_down(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    records: list[bytes] = []
    station = Station("B1", Pairwise, "1")
    station.begin(records.append)
    exchange, terms = Exchange(station), Terms(lease_s=40, delay_max_s=5)
    nursery.start_soon(renew, exchange, terms)
    nursery.start_soon(sweep, exchange, terms)
    await wait_all_tasks_blocked()
    for _ in range(REFRESHES):
        mock_clock.jump(terms.refresh_s)
        await wait_all_tasks_blocked()
    ticks = Counter(type(i.read_record(each)[0]) for each in records)
    assert ticks == {i.Begun: 1, i.Refreshed: REFRESHES, i.Swept: SWEEPS}
    nursery.cancel_scope.cancel()


async def test_what_a_broker_forgot_is_told_again_over_the_link() -> None:
    async with (
        chain("B1", "B2") as (one, two),
        connect(one.address) as alice,
        connect(two.address) as bob,
        alice.advertise("True") as publisher,
        bob.subscribe("x == 1") as deliveries,
    ):
        tables = one.server.exchange.core.tables
        link = one.server.exchange.core.neighbours["B2"]
        (entry,) = tables.entries_of(link).values()
        tables.remove_entry(link, entry.id)
        two.server.exchange.station.refresh()
        two.server.exchange.settle()
        await until(lambda: entry.id in tables.entries_of(link))
        with pytest.raises(GapError):  # What was published meanwhile did not come.
            await anext(deliveries)
        await publisher.publish({"x": 1})
        assert (await anext(deliveries)).sequence == 1
