"""One client of `harness.benchmarks.clients`: publishes or reads so many events, and reports how fast.

Run as `python -m harness.benchmarks.client_worker ROLE KIND ADDRESS COUNT`. A reader prints `ready` when it
has subscribed; both print one JSON object at the end. Time begins with the first event.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any, Final

import click
from attrs import define

FILTER: Final = "kind == 'trade' and price > 0"
EVENT: Final = {"kind": "trade", "price": 101.5}
PAYLOAD: Final = b"x" * 100
US: Final = 1_000_000


@define
class _Stretch:
    """From the first event to the last."""

    begun_s: float = 0.0
    worked_s: float = 0.0

    def begin(self) -> None:
        self.begun_s, self.worked_s = perf_counter(), process_time()

    def end(self, count: int) -> None:
        """Print how fast that was."""
        per_s = count / (perf_counter() - self.begun_s)
        click.echo(json.dumps({"per_s": per_s, "us": (process_time() - self.worked_s) / count * US}))


def _ready() -> None:
    click.echo("ready")


async def _read(connect: Callable[..., Any], address: str, count: int) -> None:
    stretch, number = _Stretch(), 0
    async with connect(address, name="reader") as client, client.subscribe(FILTER) as deliveries:
        _ready()
        async for delivery in deliveries:
            if not number:
                stretch.begin()
            number += bool(delivery.attributes["price"] and delivery.payload)
            if number == count:
                break
        stretch.end(count)


async def _publish(connect: Callable[..., Any], address: str, count: int) -> None:
    stretch = _Stretch()
    async with connect(address, name="publisher") as client, client.advertise(FILTER) as publisher:
        stretch.begin()
        for _ in range(count):
            await publisher.publish(EVENT, PAYLOAD)
        await publisher.flush()
        stretch.end(count)


def _read_blocking(connect: Callable[..., Any], address: str, count: int) -> None:
    stretch, number = _Stretch(), 0
    with connect(address, name="reader") as client, client.subscribe(FILTER) as deliveries:
        _ready()
        for delivery in deliveries:
            if not number:
                stretch.begin()
            number += bool(delivery.attributes["price"] and delivery.payload)
            if number == count:
                break
        stretch.end(count)


def _publish_blocking(connect: Callable[..., Any], address: str, count: int) -> None:
    stretch = _Stretch()
    with connect(address, name="publisher") as client, client.advertise(FILTER) as publisher:
        stretch.begin()
        for _ in range(count):
            publisher.publish(EVENT, PAYLOAD)
        publisher.flush()
        stretch.end(count)


def main(role: str, kind: str, address: str, count: int) -> None:
    """Be one client of that kind."""
    if kind == "sync":
        from broker.client.blocking import connect as connect_blocking  # noqa: PLC0415 - each kind loads its own

        (_read_blocking if role == "read" else _publish_blocking)(connect_blocking, address, count)
        return
    work = _read if role == "read" else _publish
    if kind == "asyncio":
        import asyncio  # noqa: PLC0415 - as above

        from broker.client.asyncio_shell import connect as connect_asyncio  # noqa: PLC0415 - as above

        asyncio.run(work(connect_asyncio, address, count))
        return
    import trio  # noqa: PLC0415 - as above

    from broker import connect  # noqa: PLC0415 - as above

    trio.run(partial(work, connect, address, count))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
