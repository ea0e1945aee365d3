"""A proxy process in links: it delays and limits bytes, and cuts connections.

On standard input come lines of JSON: first `{"links": [{"name", "port", "delay_s", "bytes_per_s"}, ...]}`,
which is answered by `{"ports": {name: port}}`; then `{"shape": name, "delay_s": s, "bytes_per_s": b}`,
`{"cut": name}` and `{"restore": name}`.

Laws:

1. Each direction keeps its order, whatever changes meanwhile: nothing is due before what came before it.
2. What is on its way is bounded; beyond that the sender waits, as it would for a slow network.
3. A cut link resets its connections, what is on the way is lost, and new ones are reset until it is restored.

Run as `python -m harness.runs.shaper`.
"""

import gc
import json
import socket
import struct
import sys
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Final, cast

import trio
from attrs import define, field

from harness.processes import orders
from harness.runs.plan import HOST

READ_BYTES: Final = 64 * 1024

UNDERWAY_BYTES_MIN: Final = 256 * 1024
"""What may be on its way in one direction of a link without delay: about what the system itself would
hold."""

UNDERWAY_BYTES_MAX: Final = 64 * 1024 * 1024
"""What may be on its way at most, however long and wide the link is."""

WIDE_BYTES_PER_S: Final = 100e6
"""What a link without a limit is taken to carry when the room for what is on its way is worked out."""

_RESET: Final = struct.pack("ii", 1, 0)
"""The value of SO_LINGER: closing discards unsent bytes, and resets the connection."""


@define(eq=False)
class ShapedLink:
    """One link and the connections on it."""

    name: str
    port: int
    delay_s: float
    bytes_per_s: float
    is_cut: bool = False
    connections: dict[trio.CancelScope, None] = field(factory=dict)

    def room_bytes(self) -> float:
        """Return how many bytes may be in flight: twice what fits into the delay."""
        wide = self.bytes_per_s or WIDE_BYTES_PER_S
        return min(max(2 * wide * self.delay_s, UNDERWAY_BYTES_MIN), UNDERWAY_BYTES_MAX)

    def cut(self) -> None:
        """Reset what is there, and what comes."""
        self.is_cut = True
        for connection in self.connections:
            connection.cancel()


@define(eq=False)
class _Direction:
    """The bytes that pass one way over one connection."""

    link: ShapedLink
    source: trio.SocketStream
    target: trio.SocketStream
    underway: deque[tuple[float, bytes]] = field(factory=deque)
    underway_bytes: int = 0
    changed: trio.Event = field(factory=trio.Event)
    free_s: float = 0.0
    is_over: bool = False

    def _change(self) -> None:
        self.changed.set()
        self.changed = trio.Event()

    async def read(self) -> None:
        """Read bytes, and compute when they are due."""
        while True:
            while self.underway_bytes > self.link.room_bytes():
                await self.changed.wait()
            chunk = await self.source.receive_some(READ_BYTES)
            if not chunk:
                break
            link = self.link
            sent_s = max(trio.current_time(), self.free_s)
            self.free_s = sent_s + (len(chunk) / link.bytes_per_s if link.bytes_per_s else 0.0)
            last_s = self.underway[-1][0] if self.underway else 0.0
            self.underway.append((max(self.free_s + link.delay_s, last_s), bytes(chunk)))
            self.underway_bytes += len(chunk)
            self._change()
        self.is_over = True
        self._change()

    async def write(self) -> None:
        """Forward the bytes that are due, and in the end the end of the stream."""
        while True:
            while not self.underway:
                if self.is_over:
                    await self.target.send_eof()
                    return
                await self.changed.wait()
            due_s, chunk = self.underway[0]
            if due_s > trio.current_time():
                await trio.sleep_until(due_s)
            await self.target.send_all(chunk)
            self.underway.popleft()
            self.underway_bytes -= len(chunk)
            self._change()


def _reset(stream: trio.SocketStream) -> None:
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    stream.socket.close()


async def listen(link: ShapedLink, nursery: trio.Nursery) -> int:
    """Stand in a link until the nursery ends; return the port to dial."""
    (listener,) = await trio.open_tcp_listeners(0, host=HOST)
    nursery.start_soon(trio.serve_listeners, partial(_serve, link), [listener])
    port: int = listener.socket.getsockname()[1]
    return port


async def _serve(link: ShapedLink, lower: trio.SocketStream) -> None:
    """Join one connection with the one behind it, until either ends or the link is cut."""
    upper: trio.SocketStream | None = None
    try:
        if link.is_cut:
            return
        upper = await trio.open_tcp_stream(HOST, link.port)
        await _join(link, lower, upper)
    except* (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
        pass  # An end of the link is gone: so is the link.
    finally:
        for stream in (lower, upper):
            if stream is not None:
                _reset(stream)


async def _join(link: ShapedLink, lower: trio.SocketStream, upper: trio.SocketStream) -> None:
    with trio.CancelScope() as scope:
        link.connections[scope] = None
        try:
            async with trio.open_nursery() as nursery:
                for direction in (_Direction(link, lower, upper), _Direction(link, upper, lower)):
                    nursery.start_soon(direction.read)
                    nursery.start_soon(direction.write)
        finally:
            del link.connections[scope]


@define(eq=False)
class _Shaper:
    """All links."""

    links: dict[str, ShapedLink] = field(factory=dict)

    async def open(self, nursery: trio.Nursery, asked: list[dict[str, object]]) -> None:
        """Listen for every link, and report the ports."""
        ports: dict[str, int] = {}
        for each in asked:
            link = ShapedLink(**each)  # type: ignore[arg-type]  # as our own starter wrote it
            self.links[link.name] = link
            ports[link.name] = await listen(link, nursery)
        sys.stdout.write(json.dumps({"ports": ports}) + "\n")
        sys.stdout.flush()

    def obey(self, order: Mapping[str, object]) -> None:
        """Change a link."""
        if "shape" in order:
            link = self.links[str(order["shape"])]
            link.delay_s = float(cast("float", order["delay_s"]))
            link.bytes_per_s = float(cast("float", order["bytes_per_s"]))
        elif "cut" in order:
            self.links[str(order["cut"])].cut()
        elif "restore" in order:
            self.links[str(order["restore"])].is_cut = False


async def _main() -> None:
    shaper = _Shaper()
    async with trio.open_nursery() as nursery:
        async for order in orders():
            if "links" in order:
                await shaper.open(nursery, order["links"])
            else:
                shaper.obey(order)
        nursery.cancel_scope.cancel()


def main() -> None:
    """Stand in links until the input ends."""
    gc.freeze()
    trio.run(_main)


if __name__ == "__main__":
    main()
