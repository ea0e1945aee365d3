"""NATS JetStream: one stream that all servers keep in memory, and an ordered consumer for each subscriber.

A stream has one order for everybody, as the servers agree on it: of a cluster of three, all three have it.
Nothing is written to a disk. The clients' publishers have many events under way before any is confirmed.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import trio

from harness.peers.adapter import PeerClients
from harness.peers.nats import SUBJECT, SUBJECTS, missing, note, start_cluster
from harness.peers.starting import versions
from harness.peers.turns import Event, PublisherTurn, SubscriberTurn, publish, until_over
from harness.peers.workload import WINDOW
from harness.processes import ServerProcess

if TYPE_CHECKING:
    from nats.js import JetStreamContext


_STREAM: Final = "trades"

_KEPT: Final = 100_000
"""Events that the stream keeps: fifty windows."""

_ELECTION_S: Final = 20.0
"""A cluster elects a leader in a second or two before it takes orders."""

_RETRY_S: Final = 0.2


@attrs.frozen
class JetStream:
    """The kind of NATS that has one order."""

    name: str = "jetstream"
    most_servers: int = 3

    def missing(self) -> str:
        """Return the missing software, or an empty text."""
        return missing()

    def version(self) -> str:
        """Return the installed version."""
        return versions(program="nats-server", package="nats-py")

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start a server or a cluster with a store each."""
        stores = [folder / f"jetstream-{number}" for number in range(1, count + 1)]
        return await start_cluster(
            nursery, count, [("--jetstream", "--store_dir", str(store)) for store in stores]
        )

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Make the stream, and publish with a connection for each publisher."""
        asyncio.run(_publish_all(clients, turns))

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Read with a connection and a consumer for each subscriber."""
        asyncio.run(_subscribe_all(clients, turns))


async def _publish_all(clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
    import nats  # noqa: PLC0415 - of the extra `peers`, and only its own clients need it

    async def one(turn: PublisherTurn, stream: "JetStreamContext") -> None:
        async def send(events: list[Event]) -> None:
            for price, payload in events:
                await stream.publish_async(SUBJECTS[price], payload)

        await publish(turn, send, asyncio.sleep)
        await stream.publish_async_completed()

    connections = [await nats.connect(f"nats://{clients.address(turn.place)}") for turn in turns]
    streams = [each.jetstream(publish_async_max_pending=2 * WINDOW) for each in connections]
    await _make(streams[0], len(clients.addresses))
    clients.ready()
    await asyncio.gather(*(one(*each) for each in zip(turns, streams, strict=True)))
    for connection in connections:
        await connection.close()


async def _make(stream: "JetStreamContext", replicas: int) -> None:
    """Make the stream, as soon as the servers have a leader."""
    from nats.errors import Error  # noqa: PLC0415 - as above
    from nats.js.api import StorageType  # noqa: PLC0415 - as above

    end_s = asyncio.get_running_loop().time() + _ELECTION_S
    while True:
        try:
            await stream.add_stream(
                name=_STREAM,
                subjects=[SUBJECT],
                storage=StorageType.MEMORY,
                num_replicas=replicas,
                max_msgs=_KEPT,
            )
        except Error:
            if asyncio.get_running_loop().time() > end_s:
                raise
            await asyncio.sleep(_RETRY_S)
        else:
            return


async def _subscribe_all(clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
    import nats  # noqa: PLC0415 - as above

    connections = []
    for turn in turns:
        connection = await nats.connect(f"nats://{clients.address(turn.place)}")
        await connection.jetstream().subscribe(SUBJECT, cb=note(turn), ordered_consumer=True)
        connections.append(connection)
    clients.ready()
    await until_over(turns, asyncio.sleep)
    for connection in connections:
        await connection.close()
