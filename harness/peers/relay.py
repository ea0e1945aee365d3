"""The floor: a process that copies frames from publishers to subscribers, and does nothing else.

It is the relay of the benchmarks; its clients here do what all clients of the comparison do. A frame is its
length, a price and a payload. No filters, no routing, no order, no queues: what a broker takes longer than
this is what its work costs.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs
import trio

from harness.benchmarks.relay import CHUNK_BYTES, PUBLISHER, SUBSCRIBER, connected
from harness.peers.adapter import PeerClients
from harness.peers.turns import Event, PublisherTurn, SubscriberTurn, publish, until_over
from harness.peers.workload import PAYLOAD_BYTES, PRICES
from harness.processes import ServerProcess, start_server

_HEAD: Final = struct.Struct(">Id")
_FRAME_BYTES: Final = _HEAD.size + PAYLOAD_BYTES
_LENGTH: Final = _FRAME_BYTES - 4
"""What the first four bytes of a frame say: how many follow."""

_HEADS: Final = tuple(_HEAD.pack(_LENGTH, price) for price in PRICES)


@attrs.frozen
class Relay:
    """The limit of what Python and Trio can do here, and no competitor."""

    name: str = "relay"
    most_servers: int = 1

    def missing(self) -> str:
        """Return nothing: it is here."""
        return ""

    def version(self) -> str:
        """Return the installed version."""
        return ""

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start the relay."""
        del count, folder
        return [await start_server(nursery, "relay", "harness.benchmarks.relay", ())]

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Publish with a connection for each publisher."""
        trio.run(_publish_all, clients, turns)

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Read with a connection for each subscriber."""
        trio.run(_subscribe_all, clients, turns)


async def _publish_all(clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
    async with trio.open_nursery() as nursery:
        for turn in turns:
            stream = await connected(clients.address(turn.place), PUBLISHER)
            nursery.start_soon(_publish, stream, turn)
        clients.ready()


async def _publish(stream: trio.SocketStream, turn: PublisherTurn) -> None:
    async def send(events: list[Event]) -> None:
        if events:
            await stream.send_all(b"".join(_HEADS[price] + payload for price, payload in events))

    async with stream:
        await publish(turn, send, trio.sleep)


async def _subscribe_all(clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
    async with trio.open_nursery() as nursery:
        for turn in turns:
            stream = await connected(clients.address(turn.place), SUBSCRIBER)
            nursery.start_soon(_read, stream, turn)
        clients.ready()
        await until_over(turns, trio.sleep)
        nursery.cancel_scope.cancel()


async def _read(stream: trio.SocketStream, turn: SubscriberTurn) -> None:
    rest = b""
    async with stream:
        while chunk := await stream.receive_some(CHUNK_BYTES):
            received = rest + chunk
            end = len(received) - len(received) % _FRAME_BYTES
            rest = received[end:]
            for start in range(0, end, _FRAME_BYTES):
                _, price = _HEAD.unpack_from(received, start)
                turn.note(price, received[start + _HEAD.size : start + _FRAME_BYTES])
