"""The processes that publish and subscribe during a measurement, several clients in each.

A worker prints `ready` once all its clients are connected and have advertised or subscribed, begins on the
line `go`, and ends when its input does. A subscriber that measures latency then prints every latency, in
nanoseconds, as one JSON object of two lists. Counts are on the board that all processes share. The clients
of Concord are here, written as any user would write them; those of the relay are beside it.

Run as `python -m harness.benchmarks.workers JOB`, with the job as JSON.
"""

import itertools
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import attrs
import trio

from broker import Deliveries, connect
from harness.benchmarks import relay
from harness.benchmarks.jobs import (
    ADVERTISED,
    BATCH,
    EVENTS,
    SUBSCRIBED,
    Ages,
    LoadClient,
    LoadJob,
    age_ns,
    opened,
    stamped,
)

_LINE_BYTES: Final = 64
_STANDARD_INPUT: Final = 0


async def publish(client: LoadClient, task_status: trio.TaskStatus[None]) -> None:
    """Publish until halted: as fast as the window lets, or when events are due."""
    async with (
        connect(client.address, name=client.name) as connection,
        connection.advertise(ADVERTISED) as publisher,
    ):
        task_status.started()
        events, payload = itertools.cycle(EVENTS), stamped()

        async def batch() -> None:
            for event in itertools.islice(events, BATCH):
                await publisher.publish(event, payload=payload)

        async def one() -> None:
            await publisher.publish(next(events), payload=stamped())

        await client.publish(batch, one)


async def subscribe(client: LoadClient, task_status: trio.TaskStatus[None]) -> None:
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


async def _read(client: LoadClient, deliveries: Deliveries) -> None:
    """Do what every real program does: look at an attribute, and at the payload."""
    delivered, place = client.board.delivered, client.place
    count = 0
    async for delivery in deliveries:
        if delivery.attributes["price"] and delivery.payload:
            count += 1
        if not count % BATCH:
            delivered[place] = count


async def _count(client: LoadClient, deliveries: Deliveries) -> None:
    """The least a program can do."""
    delivered, place = client.board.delivered, client.place
    count = 0
    async for _ in deliveries:
        count += 1
        if not count % BATCH:
            delivered[place] = count


async def _age(client: LoadClient, deliveries: Deliveries, own: str) -> None:
    """Note every age apart, by whether the publisher's id says that it is at our own broker."""
    async for delivery in deliveries:
        client.board.delivered[client.place] += 1
        if client.go.is_set():
            age = age_ns(delivery.payload)
            (client.ages.own_ns if own in delivery.publisher else client.ages.other_ns).append(age)


_Drive = Callable[[LoadClient, "trio.TaskStatus[None]"], Awaitable[None]]

_DRIVES: Final[dict[tuple[str, str], _Drive]] = {
    ("concord", "publish"): publish,
    ("concord", "subscribe"): subscribe,
    ("relay", "publish"): relay.publish,
    ("relay", "subscribe"): relay.subscribe,
}


async def _drive(client: LoadClient, task_status: trio.TaskStatus[None]) -> None:
    await _DRIVES[client.job.target, client.job.role](client, task_status)


async def _obey(go: trio.Event) -> None:
    """Begin at the order, return when the input ends: so a worker never outlives its starter."""
    async with trio.lowlevel.FdStream(_STANDARD_INPUT) as orders:
        while await orders.receive_some(_LINE_BYTES):
            go.set()


async def _work(job: LoadJob) -> None:
    ages = Ages()
    go, halt = trio.Event(), trio.Event()
    with opened(Path(job.board), job.publishers, job.subscribers) as board:
        async with trio.open_nursery() as nursery:
            for place in range(job.first, job.first + job.clients):
                await nursery.start(_drive, LoadClient(job, place, board, ages, go, halt))
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await _obey(go)
            halt.set()
            if job.role == "subscribe":
                nursery.cancel_scope.cancel()
    if job.role == "subscribe" and job.rate_per_s is not None:
        sys.stdout.write(json.dumps(attrs.asdict(ages)) + "\n")


def main() -> None:
    """Do the job named on the command line."""
    trio.run(_work, LoadJob.from_text(sys.argv[1]))


if __name__ == "__main__":
    main()
