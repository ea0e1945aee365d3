"""Distance: a proxy that hands on what it reads after the time that light and routers take.

Both directions are delayed alike, nothing is reordered or lost, and what is written is bounded: who writes
more than may be on the way waits, as on a real line.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import trio

_CHUNK_BYTES: Final = 64 * 1024
_CHUNKS_MAX: Final = 1024
"""On the way at once; at 100 ms that is more than two brokers on one machine say to each other."""

_LOST: Final = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)

_Chunk = tuple[float, bytes]


async def _read(stream: trio.SocketStream, delay_s: float, out: trio.MemorySendChannel[_Chunk]) -> None:
    async with out:
        with suppress(*_LOST):
            while chunk := await stream.receive_some(_CHUNK_BYTES):
                await out.send((trio.current_time() + delay_s, bytes(chunk)))


async def _write(stream: trio.SocketStream, source: trio.MemoryReceiveChannel[_Chunk]) -> None:
    async with source:
        with suppress(*_LOST):
            async for due, chunk in source:
                await trio.sleep_until(due)
                await stream.send_all(chunk)


async def _carry(
    source: trio.SocketStream, target: trio.SocketStream, delay_s: float, scope: trio.CancelScope
) -> None:
    """One direction of one connection; when it ends, both do."""
    out, into = trio.open_memory_channel[_Chunk](_CHUNKS_MAX)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_read, source, delay_s, out)
        await _write(target, into)
        scope.cancel()


async def _connect(address: tuple[str, int], delay_s: float, near: trio.SocketStream) -> None:
    async with near:
        try:
            far = await trio.open_tcp_stream(*address)
        except OSError:
            return  # Nobody is there: whoever dialled sees the end, and dials again.
        async with far, trio.open_nursery() as nursery:
            nursery.start_soon(_carry, near, far, delay_s, nursery.cancel_scope)
            nursery.start_soon(_carry, far, near, delay_s, nursery.cancel_scope)


@asynccontextmanager
async def distant(host: str, port: int, delay_s: float) -> AsyncIterator[str]:
    """The address at which HOST:PORT is that far away, in each direction."""
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, partial(_connect, (host, port), delay_s), 0, host="127.0.0.1")
        listeners = await nursery.start(serve)
        yield f"127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()
