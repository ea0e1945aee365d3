"""Zenoh: routers that all know each other, each in a process of Python, and clients of eclipse-zenoh.

The price is the attachment of a sample. A publisher waits for room where it must, and so nothing is dropped.
Nothing looks for others in the network: every address is given.

Run as `python -m harness.peers.zenoh LISTEN CONNECT...`, it is a router.
"""

import json
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import trio

from harness.peers.adapter import PeerClients
from harness.peers.board import BoardPhase
from harness.peers.starting import HOST, free_ports, to_install, versions
from harness.peers.turns import END_LOOK_S, PublisherTurn, SubscriberTurn, publish_by_calls
from harness.peers.workload import PRICES
from harness.processes import ServerProcess, start_server

if TYPE_CHECKING:
    from zenoh import Publisher, Sample, Session


_KEY: Final = "trade"
_PRICE: Final = struct.Struct(">d")
_PRICES: Final = tuple(map(_PRICE.pack, PRICES))


@attrs.frozen
class Zenoh:
    """Key expressions, in the order of each publisher."""

    name: str = "zenoh"
    most_servers: int = 3

    def missing(self) -> str:
        """Return what must be installed."""
        return to_install(modules=["zenoh"])

    def version(self) -> str:
        """Return what is installed."""
        return versions(package="eclipse-zenoh")

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start routers, each connected with those before it."""
        del folder
        ports = free_ports(count)
        return [
            await start_server(
                nursery,
                f"zenoh {number + 1}",
                "harness.peers.zenoh",
                [str(each) for each in ports[number::-1]],
            )
            for number in range(count)
        ]

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Publish with a session for each publisher; the calls wait for nothing but room."""
        from zenoh import CongestionControl  # noqa: PLC0415 - of the extra `peers`, and only its own need it

        sessions = [_session("client", (), [clients.address(turn.place)]) for turn in turns]
        publishers = [
            session.declare_publisher(_KEY, congestion_control=CongestionControl.BLOCK)
            for session in sessions
        ]
        clients.ready()
        publish_by_calls(turns, list(map(_put, publishers)))
        for session in sessions:
            session.close()

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Read with a session for each subscriber; the library calls back from threads of its own."""
        sessions = []
        for turn in turns:
            session = _session("client", (), [clients.address(turn.place)])
            session.declare_subscriber(_KEY, _note(turn))
            sessions.append(session)
        clients.ready()
        while turns[0].board.phase != BoardPhase.OVER:
            time.sleep(END_LOOK_S)
        for session in sessions:
            session.close()


def _put(publisher: "Publisher") -> Callable[[int, bytes], None]:
    """Return what sends an event."""

    def put(price: int, payload: bytes) -> None:
        publisher.put(payload, attachment=_PRICES[price])

    return put


def _note(turn: SubscriberTurn) -> "Callable[[Sample], None]":
    """Return what the library calls with every sample."""

    def called(sample: "Sample") -> None:
        assert sample.attachment is not None
        turn.note(_PRICE.unpack(sample.attachment.to_bytes())[0], sample.payload.to_bytes())

    return called


def _session(mode: str, listen: Sequence[str], connect: Sequence[str]) -> "Session":
    """Open a session that listens and connects at the given addresses only."""
    import zenoh  # noqa: PLC0415 - of the extra `peers`, and only its own clients and routers need it

    config = zenoh.Config()
    for key, value in (
        ("mode", mode),
        ("listen/endpoints", [f"tcp/{address}" for address in listen]),
        ("connect/endpoints", [f"tcp/{address}" for address in connect]),
        ("scouting/multicast/enabled", False),
        ("scouting/gossip/enabled", False),
    ):
        config.insert_json5(key, json.dumps(value))
    return zenoh.open(config)


def main() -> None:
    """Be a router until it is ended."""
    own, *others = (f"{HOST}:{port}" for port in sys.argv[1:])
    with _session("router", [own], others):
        sys.stdout.write(f"listening on {own}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()
