"""Publishers and subscribers of Concord, written as any user would write them."""

import itertools

import trio

from broker import Deliveries, Publisher, connect
from harness.benchmarks.frames import ADVERTISED, EVENTS, SUBSCRIBED, age_ns, stamped
from harness.benchmarks.jobs import BATCH, Client

__all__ = ["publish", "subscribe"]


async def publish(client: Client, task_status: trio.TaskStatus[None]) -> None:
    """Publish until halted: as fast as the window lets, or when events are due."""
    async with (
        connect(client.address, name=client.name) as connection,
        connection.advertise(ADVERTISED) as publisher,
    ):
        task_status.started()
        await client.go.wait()
        if client.job.rate_per_s is None:
            await _flood(client, publisher)
        else:
            await _paced(client, publisher, client.job.rate_per_s)


async def _flood(client: Client, publisher: Publisher) -> None:
    payload = stamped()
    events = itertools.cycle(EVENTS)
    while not client.halt.is_set():
        await client.room()
        for event in itertools.islice(events, BATCH):
            await publisher.publish(event, payload=payload)
        client.board.published[client.place] += BATCH


async def _paced(client: Client, publisher: Publisher, rate_per_s: float) -> None:
    started = trio.current_time()
    for number, event in enumerate(itertools.cycle(EVENTS)):
        await client.due(started, number, rate_per_s)
        if client.halt.is_set():
            return
        client.board.published[client.place] += 1
        await publisher.publish(event, payload=stamped())


async def subscribe(client: Client, task_status: trio.TaskStatus[None]) -> None:
    """Count deliveries until cancelled."""
    async with (
        connect(client.address, name=client.name) as connection,
        connection.subscribe(SUBSCRIBED) as deliveries,
    ):
        task_status.started()
        if client.job.rate_per_s is None:
            await (_read if client.job.reads else _count)(client, deliveries)
        else:
            await _age(client, deliveries, f"@{connection.broker}.")


async def _read(client: Client, deliveries: Deliveries) -> None:
    """What every real program does: look at an attribute, and at the payload."""
    delivered, place = client.board.delivered, client.place
    count = 0
    async for delivery in deliveries:
        if delivery.attributes["price"] and delivery.payload:
            count += 1
        if not count % BATCH:
            delivered[place] = count


async def _count(client: Client, deliveries: Deliveries) -> None:
    """The least a program can do."""
    delivered, place = client.board.delivered, client.place
    count = 0
    async for _ in deliveries:
        count += 1
        if not count % BATCH:
            delivered[place] = count


async def _age(client: Client, deliveries: Deliveries, own: str) -> None:
    """Note every age apart, by whether the publisher's id says that it is at our own broker."""
    async for delivery in deliveries:
        client.board.delivered[client.place] += 1
        if client.go.is_set():
            age = age_ns(delivery.payload)
            (client.ages.own_ns if own in delivery.publisher else client.ages.other_ns).append(age)
