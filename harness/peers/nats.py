"""NATS: one server, or a cluster in which every server knows all others; clients of nats-py.

The price is a token of the subject, which is what NATS routes by: `trade.401` costs 50 and an eighth. A
header would take the client longer to read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
    from nats.aio.msg import Msg


SUBJECT: Final = "trade.*"
SUBJECTS: Final = tuple(f"trade.{price * 8:.0f}" for price in PRICES)

_PENDING_BYTES: Final = 64 * 1024 * 1024
"""What the client may keep for the socket: more than the window."""


@attrs.frozen
class Nats:
    """Core NATS: at most once, in the order of each publisher."""

    name: str = "nats"
    most_servers: int = 3

    def missing(self) -> str:
        """Return the missing software, or an empty text."""
        return missing()

    def version(self) -> str:
        """Return the installed version."""
        return versions(program="nats-server", package="nats-py")

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start a server or a cluster."""
        del folder
        return await start_cluster(nursery, count)

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Publish with a connection for each publisher."""
        asyncio.run(_publish_all(clients, turns))

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Read with a connection for each subscriber."""
        asyncio.run(_subscribe_all(clients, turns))


def missing() -> str:
    """Return the software missing for any kind of NATS, or an empty text."""
    return to_install("nats-server", programs=["nats-server"], modules=["nats"])


async def start_cluster(
    nursery: trio.Nursery, count: int, options: Sequence[Sequence[str]] = ()
) -> list[ServerProcess]:
    """Start servers that know each other, each with its own options, for this machine alone."""
    ports, routes = free_ports(count), free_ports(count)
    known = ",".join(f"nats://{HOST}:{port}" for port in routes)
    servers = []
    for number, (port, route) in enumerate(zip(ports, routes, strict=True)):
        name = f"nats-{number + 1}"
        cluster = ["--cluster_name", "peers", "--cluster", f"nats://{HOST}:{route}", "--routes", known]
        arguments = [
            *("--addr", HOST, "--port", str(port), "--name", name),
            *(cluster if count > 1 else ()),
            *(options[number] if options else ()),
        ]
        servers.append(await start_native(nursery, name, (HOST, port), "nats-server", arguments))
    return servers


async def _publish_all(clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
    import nats  # noqa: PLC0415 - of the extra `peers`, and only its own clients need it

    async def one(turn: PublisherTurn, connection: nats.NATS) -> None:
        async def send(events: list[Event]) -> None:
            for price, payload in events:
                await connection.publish(SUBJECTS[price], payload)

        await publish(turn, send, asyncio.sleep)
        await connection.drain()

    connections = [
        await nats.connect(f"nats://{clients.address(turn.place)}", pending_size=_PENDING_BYTES)
        for turn in turns
    ]
    clients.ready()
    await asyncio.gather(*(one(*each) for each in zip(turns, connections, strict=True)))


async def _subscribe_all(clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
    import nats  # noqa: PLC0415 - as above

    connections = []
    for turn in turns:
        connection = await nats.connect(f"nats://{clients.address(turn.place)}")
        await connection.subscribe(SUBJECT, cb=note(turn))
        await connection.flush()
        connections.append(connection)
    clients.ready()
    await until_over(turns, asyncio.sleep)
    for connection in connections:
        await connection.close()


def note(turn: SubscriberTurn) -> "Callable[[Msg], Awaitable[None]]":
    """Return the callback of the client for every message."""

    async def called(message: "Msg") -> None:
        turn.note(int(message.subject.rpartition(".")[2]) / 8, message.data)

    return called
