"""Concord: brokers that deliver in pairwise total order, and clients as any user writes them.

Several brokers are a star: the first is the uplink of all others.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
import trio

from broker import connect
from broker.form import FORM
from harness.overlay import start_brokers
from harness.peers.adapter import PeerClients
from harness.peers.starting import versions
from harness.peers.turns import Event, PublisherTurn, SubscriberTurn, publish, until_over
from harness.peers.workload import PRICES
from harness.processes import ServerProcess, start_server

WANTED: Final = "kind == 'trade' and price > 0"
"""What is advertised and subscribed to: every event matches."""

_EVENTS: Final[Sequence[Mapping[str, str | float]]] = tuple(
    {"kind": "trade", "price": price} for price in PRICES
)


@attrs.frozen
class Concord:
    """This product: a star of brokers, or one broker of several workers."""

    workers: int = 1
    name: str = "concord"
    most_servers: int = 100

    def missing(self) -> str:
        """Return nothing: it is here."""
        return ""

    def version(self) -> str:
        """Return the installed version."""
        return f"{versions(package='concord-pubsub')} ({FORM})"

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start a star of brokers, or the workers."""
        del folder
        if self.workers > 1:
            options = ("--name", "B", "--listen", "127.0.0.1:0", "--workers", str(self.workers))
            return [await start_server(nursery, "workers", "broker", ("broker", *options))]
        names = [f"B{number}" for number in range(1, count + 1)]
        uplinks = {name: None if name == names[0] else names[0] for name in names}
        return list((await start_brokers(nursery, uplinks)).values())

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Publish with a connection for each publisher."""
        trio.run(_publish_all, clients, turns)

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Read with a connection for each subscriber."""
        trio.run(_subscribe_all, clients, turns)


async def _publish_all(clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
    async with trio.open_nursery() as nursery:
        for turn in turns:
            await nursery.start(_publish, clients.address(turn.place), turn)
        clients.ready()


async def _subscribe_all(clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
    async with trio.open_nursery() as nursery:
        for turn in turns:
            await nursery.start(_subscribe, clients.address(turn.place), turn)
        clients.ready()
        await until_over(turns, trio.sleep)
        nursery.cancel_scope.cancel()


async def _publish(address: str, turn: PublisherTurn, task_status: trio.TaskStatus[None]) -> None:
    async with (
        connect(address, name=f"publish-{turn.place}") as connection,
        connection.advertise(WANTED) as publisher,
    ):
        task_status.started()

        async def send(events: list[Event]) -> None:
            for price, payload in events:
                await publisher.publish(_EVENTS[price], payload)

        await publish(turn, send, trio.sleep)
        await publisher.flush()


async def _subscribe(address: str, turn: SubscriberTurn, task_status: trio.TaskStatus[None]) -> None:
    async with (
        connect(address, name=f"subscribe-{turn.place}") as connection,
        connection.subscribe(WANTED) as deliveries,
    ):
        task_status.started()
        async for batch in deliveries.batches():
            for delivery in batch:
                turn.note(delivery.attributes["price"], delivery.payload)  # type: ignore[arg-type]  # it is a number
