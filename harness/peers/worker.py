"""The processes that publish and subscribe: one of each kind, with all clients of it.

A worker prints `ready` when its clients are connected, obeys the phases on the board, writes its dataset when
it is over, and prints `done`. Run as `python -m harness.peers.worker PART`, with the part as JSON.
"""

import gc
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import attrs

from harness.peers.adapter import PeerClients
from harness.peers.adapters import PEERS
from harness.peers.board import Board, opened
from harness.peers.records import write_deliveries, write_publications
from harness.peers.turns import PublisherTurn, SubscriberTurn

COLLECT_AFTER: Final = 100_000
"""New objects before a search for cycles of garbage; what clients deal with makes none."""


@attrs.frozen
class Part:
    """One worker's part in a measurement."""

    peer: str
    role: str
    """`publish` or `subscribe`."""
    addresses: Sequence[str]
    publishers: int
    subscribers: int
    rate_per_s: float
    """Of all publishers together, while publishing is paced."""
    board: str
    folder: str
    """Of the run, for its datasets."""

    def text(self) -> str:
        """Return the part as a worker's command line has it."""
        return json.dumps(attrs.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read back what `text` wrote."""
        return cls(**json.loads(text))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _work(part: Part, board: Board) -> None:
    adapter = PEERS[part.peer]
    clients = PeerClients(part.addresses, lambda: _say("ready"))
    servers = len(part.addresses)
    if part.role == "publish":
        rate_per_s = part.rate_per_s / part.publishers
        publishers = [PublisherTurn(place, rate_per_s, board) for place in range(part.publishers)]
        adapter.publish(clients, publishers)
        write_publications(Path(part.folder), publishers, servers)
    else:
        subscribers = [SubscriberTurn(place, board) for place in range(part.subscribers)]
        adapter.subscribe(clients, subscribers)
        write_deliveries(Path(part.folder), subscribers, part.publishers, servers)
    _say("done")


def main() -> None:
    """Do the part that is named on the command line."""
    part = Part.from_text(sys.argv[1])
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    with opened(Path(part.board), part.publishers, part.subscribers) as board:
        _work(part, board)


if __name__ == "__main__":
    main()
