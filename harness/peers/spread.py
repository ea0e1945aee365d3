"""Spread: daemons that pass a token around, and its own client library, called from Python.

Events are sent as agreed messages: one order for everybody. A message is a price and a payload. Each daemon
has a port and a segment of its own, so they speak to each other one to one. The library is looked for beside
the daemon (`PREFIX/sbin/spread`, `PREFIX/lib/libspread-core.so`) and where the system has libraries.
"""

import ctypes
import getpass
import select
import struct
from collections.abc import Callable, Iterator, Sequence
from ctypes.util import find_library
from pathlib import Path
from typing import Final

import attrs
import trio

from harness.peers.adapter import PeerClients
from harness.peers.board import BoardPhase
from harness.peers.starting import HOST, find_program, free_ports, start_native
from harness.peers.turns import END_LOOK_S, PublisherTurn, SubscriberTurn, publish_by_calls
from harness.peers.workload import PAYLOAD_BYTES, PRICES
from harness.processes import ProcessError, ServerProcess

_LIBRARY: Final = "libspread-core.so"

_AGREED: Final = 0x10
_ACCEPTED: Final = 1
_NAME_BYTES: Final = 32
"""As `sp.h` of the library has them."""

_GROUP: Final = b"trade"
_PRICE: Final = struct.Struct(">d")
_PRICES: Final = tuple(map(_PRICE.pack, PRICES))
_MESSAGE_BYTES: Final = _PRICE.size + PAYLOAD_BYTES

_TURN: Final = 64
"""Messages that one subscriber is given before the next has its turn."""

FORMING_S: Final = 10.0
"""In which daemons find each other; they say so to nobody, and need half of it."""

_CONFIGURATION: Final = """\
WideAreaNetwork = false
MaxSessionMessages = 100000
SocketPortReuse = AUTO
RuntimeDir = {folder}
DaemonUser = {user}
DaemonGroup = {user}
DebugFlags = {{ EXIT }}
"""
"""A session may be a whole window behind. A daemon that is started by root confines itself to a folder."""

_SEGMENT: Final = "Spread_Segment {host}:{port} {{ {name} {host} }}\n"


@attrs.frozen
class Spread:
    """The group communication toolkit that the paper measures itself by."""

    name: str = "spread"
    most_servers: int = 20

    def missing(self) -> str:
        """Return the missing software, or an empty text."""
        if _library() is not None:
            return ""
        return f"there is no spread with its {_LIBRARY}; build the Spread toolkit, and put its sbin into PATH"

    def version(self) -> str:
        """Return the version of the library."""
        parts = [ctypes.c_int() for _ in range(3)]
        _loaded().SP_version(*map(ctypes.byref, parts))
        return ".".join(str(part.value) for part in parts)

    async def start(self, nursery: trio.Nursery, count: int, folder: Path) -> list[ServerProcess]:
        """Start daemons with a segment each."""
        ports = {f"S{number}": port for number, port in enumerate(free_ports(count), 1)}
        segments = [_SEGMENT.format(host=HOST, port=port, name=name) for name, port in ports.items()]
        options = _CONFIGURATION.format(folder=folder, user=getpass.getuser())
        path = trio.Path(folder) / "spread.conf"
        await path.write_text("".join([*segments, options]), encoding="utf-8")
        servers = [
            await start_native(
                nursery, f"spread {name}", (HOST, port), "spread", ["-c", str(path), "-n", name]
            )
            for name, port in ports.items()
        ]
        if count > 1:
            await trio.sleep(FORMING_S)
        return servers

    def publish(self, clients: PeerClients, turns: Sequence[PublisherTurn]) -> None:
        """Publish with a connection for each publisher."""
        library = _loaded()
        connections = [_connected(library, clients, turn.place, b"p") for turn in turns]
        clients.ready()
        publish_by_calls(turns, [_put(library, connection) for connection in connections])
        for connection in connections:
            library.SP_disconnect(connection)

    def subscribe(self, clients: PeerClients, turns: Sequence[SubscriberTurn]) -> None:
        """Read with a connection for each subscriber, whichever has something."""
        library, poll = _loaded(), select.poll()
        readers: dict[int, Callable[[], None]] = {}
        for turn in turns:
            connection = _connected(library, clients, turn.place, b"s")
            _check(library.SP_join(connection, _GROUP), 0, "join")
            readers[connection] = _reader(library, connection, turn)
            poll.register(connection, select.POLLIN)
        clients.ready()
        while turns[0].board.phase != BoardPhase.OVER:
            for connection, _ in poll.poll(END_LOOK_S * 1000):
                readers[connection]()


def _candidates() -> Iterator[str]:
    program = find_program("spread")
    if program is not None:
        beside = Path(program).resolve().parent.parent / "lib" / _LIBRARY
        if beside.exists():
            yield str(beside)
        elif (found := find_library("spread-core")) is not None:
            yield found


def _library() -> str | None:
    return next(_candidates(), None)


def _loaded() -> ctypes.CDLL:
    path = _library()
    assert path is not None
    return ctypes.CDLL(path)


def _check(answer: int, expected: int, what: str) -> None:
    if answer != expected:
        raise ProcessError(f"spread: {what} failed with {answer}")


def _connected(library: ctypes.CDLL, clients: PeerClients, place: int, role: bytes) -> int:
    """Connect a client; return its connection, which is a file descriptor."""
    host, _, port = clients.address(place).rpartition(":")
    connection, own = ctypes.c_int(), ctypes.create_string_buffer(_NAME_BYTES)
    name = role + str(place).encode()
    answer = library.SP_connect(f"{port}@{host}".encode(), name, 0, 0, ctypes.byref(connection), own)
    _check(answer, _ACCEPTED, f"connect to {host}:{port}")
    return connection.value


def _put(library: ctypes.CDLL, connection: int) -> Callable[[int, bytes], None]:
    """Return the function that sends an event."""
    send = library.SP_multicast

    def put(price: int, payload: bytes) -> None:
        send(connection, _AGREED, _GROUP, 0, _MESSAGE_BYTES, _PRICES[price] + payload)

    return put


def _reader(library: ctypes.CDLL, connection: int, turn: SubscriberTurn) -> Callable[[], None]:
    """Return the function that reads some of the events that have arrived, and records them."""
    receive, pending = library.SP_receive, library.SP_poll
    service, groups, kind, endian = ctypes.c_int(), ctypes.c_int(), ctypes.c_short(), ctypes.c_int()
    sender, named = (ctypes.create_string_buffer(_NAME_BYTES) for _ in range(2))
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    references = [ctypes.byref(each) for each in (service, groups, kind, endian)]
    arguments = (references[0], sender, 1, references[1], named, *references[2:], _MESSAGE_BYTES, message)

    def read() -> None:
        for _ in range(_TURN):
            service.value = 0
            _check(receive(connection, *arguments), _MESSAGE_BYTES, "receive")
            received = message.raw
            turn.note(_PRICE.unpack_from(received)[0], received[_PRICE.size :])
            if pending(connection) <= 0:
                return

    return read
