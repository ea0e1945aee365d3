"""Leases in the shell: ticks of the clock are inputs of the station; what is said again crosses links."""

from collections import Counter
from random import Random

import pytest

from broker import GapError, connect
from broker.leases import REFRESHES, SWEEPS, Terms
from broker.node import Node, NodeConfig, Pass, Started, Tick
from broker.station import Station
from broker.station import inputs as i
from ordering.pairwise import Pairwise
from tests.broker.server.overlay import chain, until


def test_ticks_come_as_often_as_configured_and_are_recorded() -> None:
    terms = Terms(lease_s=40, delay_max_s=5)
    config = NodeConfig(name="B1", terms=terms, link_timeout_s=5, has_journal=True)
    node = Node(Station("B1", Pairwise, "1"), config, Random(0), lambda: "token")
    records = node.step(Started("", 0), 0.0).records
    while (now_s := node.next_deadline_s) <= terms.lease_s:
        records += node.step(Tick(0), now_s).records
    ticks = Counter(type(i.read_record(each)[0]) for each in records)
    assert (ticks[i.Begun], ticks[i.Refreshed], ticks[i.Swept]) == (1, REFRESHES, SWEEPS)


async def test_what_a_broker_forgot_is_announced_again_over_the_link() -> None:
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
        two.server.step(Pass())
        await until(lambda: entry.id in tables.entries_of(link))
        with pytest.raises(GapError):  # What was published meanwhile did not come.
            await anext(deliveries)
        await publisher.publish({"x": 1})
        assert (await anext(deliveries)).sequence == 1
