"""Redis streams: one server, one stream without a disk, which each subscriber reads by itself.

An event is an entry of two fields. Several servers have no stream in common: there is one.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import trio

from harness.peers.adapter import PeerClients
from harness.peers.starting import HOST, free_ports, start_native, to_install, versions
from harness.peers.turns import Event, PublisherTurn, SubscriberTurn, publish, until_over
from harness.peers.workload import PRICES
from harness.processes import ServerProcess

if TYPE_CHECKING:
    from redis.asyncio import Redis as Connection


_STREAM: Final = b"trades"

_KEPT: Final = 100_000
"""Entries that the stream keeps: fifty windows."""

_READ: Final = 1_000
"""Entries of one answer."""

_BLOCK_MS: Final = 1_000

_PRICES: Final = tuple(repr(price).encode() for price in PRICES)


@attrs.frozen
class Redis:
    """A stream has one order for everybody: the one in which the server took the entries."""

    name: str = "redis"
    most_servers: int = 1

    def missing(self) -> str:
        """Return the missing software, or an empty text."""
        return to_install("redis-server", programs=["redis-server"], modules=["redis"])

    def version(self) -> str:
        """Return the installed version."""
        return versions(program="redis-server", package="redis")

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start the server, which saves nothing."""
        del count
        (port,) = free_ports(1)
        arguments = [
            *("--bind", HOST, "--port", str(port), "--dir", str(folder)),
            *("--save", "", "--appendonly", "no", "--loglevel", "warning"),
        ]
        return [await start_native(nursery, "redis", (HOST, port), "redis-server", arguments)]

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Publish with a connection for each publisher."""
        asyncio.run(_publish_all(clients, turns))

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Read with a connection for each subscriber."""
        asyncio.run(_subscribe_all(clients, turns))


async def _connected(address: str) -> "Connection":
    import redis.asyncio  # noqa: PLC0415 - of the extra `peers`, and only its own clients need it

    connection = redis.asyncio.Redis.from_url(f"redis://{address}")
    await connection.ping()
    return connection


async def _publish_all(clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
    async def one(turn: PublisherTurn, connection: "Connection") -> None:
        async def send(events: list[Event]) -> None:
            if not events:
                return
            async with connection.pipeline(transaction=False) as batch:
                for price, payload in events:
                    batch.xadd(_STREAM, {"price": _PRICES[price], "payload": payload}, maxlen=_KEPT)
                await batch.execute()

        await publish(turn, send, asyncio.sleep)
        await connection.aclose()

    connections = [await _connected(clients.address(turn.place)) for turn in turns]
    clients.ready()
    await asyncio.gather(*(one(*each) for each in zip(turns, connections, strict=True)))


async def _subscribe_all(clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
    connections = [await _connected(clients.address(turn.place)) for turn in turns]
    reading = [asyncio.create_task(_read(*each)) for each in zip(turns, connections, strict=True)]
    clients.ready()
    await until_over(turns, asyncio.sleep)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)


async def _read(turn: SubscriberTurn, connection: "Connection") -> None:
    """Read for ever, from the stream's first entry."""
    position = b"0"
    while True:
        answer = await connection.xread({_STREAM: position}, count=_READ, block=_BLOCK_MS)
        for _, entries in answer.items() if isinstance(answer, dict) else answer:
            for _, fields in entries:
                turn.note(float(fields[b"price"]), fields[b"payload"])
            position = entries[-1][0]
