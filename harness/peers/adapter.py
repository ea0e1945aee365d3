"""What a system is to the comparison: how its servers are started, and what its clients do.

Servers are started by the harness. Clients run in processes of their own, which call `publish` or
`subscribe` and nothing else: an adapter there uses threads, asyncio or Trio as its users would.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import attrs
import trio

from harness.peers.turns import PublisherTurn, SubscriberTurn
from harness.processes import ServerProcess


@attrs.frozen(eq=False)
class PeerClients:
    """The servers that clients of a process connect to, in turn, and a callback once all are connected."""

    addresses: Sequence[str]
    ready: Callable[[], None]

    def address(self, place: int) -> str:
        """Return where the client of a place connects."""
        return self.addresses[place % len(self.addresses)]


class Adapter(Protocol):
    """One system."""

    @property
    def name(self) -> str:
        """Return what users call it on the command line."""

    @property
    def most_servers(self) -> int:
        """Return how many servers of it can be one system."""

    def missing(self) -> str:
        """Return what must be installed, as a line for the user; nothing if all is there."""

    def version(self) -> str:
        """Return which versions of servers and clients are installed."""

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start so many servers, which know each other; `folder` is theirs to write to."""

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Connect a publisher for each turn, publish in turn, and return when the servers have all of it."""

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Connect a subscriber for each turn, and note what it is delivered until it is over."""
