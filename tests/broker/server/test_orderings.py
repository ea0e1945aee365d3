"""Every ordering plugin over real sockets: marks and notes survive the wire, and everything arrives."""

from contextlib import AsyncExitStack
from functools import partial

import attrs
import pytest
import trio

from broker import connect
from tests.broker.server.overlay import WAIT_S, Running, running, settings, until

EVENTS = 200

ORDERINGS = [
    ("fifo", {}),
    ("pairwise", {}),
    ("sequencer", {"sequencer": "B2", "requests": "10"}),
    ("published", {"form": "basic"}),
    ("published", {"form": "progressive"}),
    ("published", {"form": "fast"}),
]

Got = list[tuple[str, int]]


async def publish(broker: Running, name: str) -> None:
    async with (
        connect(broker.address, name=name) as client,
        client.advertise("x > 0") as publisher,
    ):
        for number in range(1, EVENTS + 1):
            await publisher.publish({"x": number})


async def subscribe(
    broker: Running,
    name: str,
    got: Got,
    count: int,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    async with connect(broker.address, name=name) as client, client.subscribe("x > 0") as deliveries:
        task_status.started()
        async for delivery in deliveries:
            got.append((delivery.publisher, delivery.sequence))
            if len(got) == count:
                break


@pytest.mark.parametrize(("ordering", "options"), ORDERINGS)
async def test_what_is_published_anywhere_arrives_everywhere(ordering: str, options: dict[str, str]) -> None:
    streams: dict[str, Got] = {name: [] for name in ("ann", "bob", "cat", "dan")}
    async with AsyncExitStack() as stack:
        brokers: list[Running] = []
        for number in range(1, 4):
            uplinks = [each.endpoint for each in brokers[-1:]]
            wanted = settings(f"B{number}", *uplinks, ordering=ordering)
            wanted = attrs.evolve(wanted, ordering_options=options)
            brokers.append(await stack.enter_async_context(running(wanted)))
            await until(lambda: all(each.is_attached for each in brokers[1:]))
        with trio.fail_after(WAIT_S):
            async with trio.open_nursery() as nursery:
                for (name, got), broker in zip(streams.items(), (*brokers, brokers[0]), strict=True):
                    await nursery.start(partial(subscribe, broker, name, got, 3 * EVENTS))
                for number, broker in enumerate(brokers):
                    nursery.start_soon(publish, broker, f"p{number}")
        assert all(each.server.exchange.core.waiting_count == 0 for each in brokers)
    for got in streams.values():
        assert len(set(got)) == 3 * EVENTS
        for publisher in {name for name, _ in got}:
            assert [n for name, n in got if name == publisher] == list(range(1, EVENTS + 1))
    if ordering in ("pairwise", "sequencer"):
        assert len({tuple(got) for got in streams.values()}) == 1
