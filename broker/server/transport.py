"""Bytes in and out of one connection, plain or TLS.

Laws:

1. A plain connection is read and written without a task switch when the system has something to read or room
   to write: `send_now` takes what fits at once, and only the rest is awaited.
2. What `receive` returns is valid until the next `receive` of any connection: all plain connections read into
   one buffer, because a fresh quarter of a megabyte per read costs six times the read itself.
"""

import contextlib
import socket
from typing import Final, Protocol

import trio
from attrs import define

READ_BYTES: Final = 256 * 1024
"""Most that one read takes: a thousand events or more per step, and still only milliseconds of work."""

_BUFFER: Final = memoryview(bytearray(READ_BYTES))
"""Shared by all connections; its reader copies the bytes that it keeps."""

LINGER_S: Final = 1.0
"""A connection that we end is read (and ignored) for so long, because closing a socket with unread bytes
discards the last bytes sent: the reason of the end."""


class HandshakeError(Exception):
    """A peer did not do what has to come before its frames; the text gives the reason."""


class Transport(Protocol):
    """The stream of a connection."""

    async def receive(self) -> memoryview | bytes | bytearray:
        """Return what has arrived, at least a byte; nothing at the end."""
        ...

    def send_now(self, content: bytes) -> int:
        """Send what can be sent without waiting, and return how much that was."""
        ...

    async def send_all(self, content: memoryview) -> None:
        """Send everything."""
        ...

    async def finish(self) -> None:
        """End the sending side, and give the peer a moment to read the last bytes."""
        ...

    async def close(self) -> None:
        """Free the socket."""
        ...


@define(eq=False)
class PlainTransport:
    """A TCP connection without TLS, on the system's own socket in non-blocking mode."""

    _socket: socket.socket

    @classmethod
    def adopt(cls, stream: trio.SocketStream) -> "PlainTransport":
        """Take the socket out of a Trio stream, which must not be used any more."""
        own = socket.socket(fileno=stream.socket.detach())
        own.settimeout(0)
        return cls(own)

    async def receive(self) -> memoryview | bytes | bytearray:
        """Return what has arrived, at least a byte; nothing at the end."""
        while True:
            await trio.lowlevel.wait_readable(self._socket.fileno())
            try:
                size_bytes = self._socket.recv_into(_BUFFER)
            except BlockingIOError:
                continue
            return _BUFFER[:size_bytes]

    def send_now(self, content: bytes) -> int:
        """Send what can be sent without waiting, and return how much that was."""
        try:
            return self._socket.send(content)
        except BlockingIOError:
            return 0

    async def send_all(self, content: memoryview) -> None:
        """Send everything."""
        while content:
            await trio.lowlevel.wait_writable(self._socket.fileno())
            with contextlib.suppress(BlockingIOError):
                content = content[self._socket.send(content) :]

    async def finish(self) -> None:
        """End the sending side, and give the peer a moment to read the last bytes."""
        with trio.move_on_after(LINGER_S), contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            while await self.receive():
                pass

    async def close(self) -> None:
        """Free the socket."""
        trio.lowlevel.notify_closing(self._socket.fileno())
        self._socket.close()
        await trio.lowlevel.checkpoint()


@define(eq=False)
class TlsTransport:
    """A TLS connection; every write goes through the writer task, because encrypting may have to wait."""

    stream: trio.SSLStream[trio.SocketStream]
    _below: trio.SocketStream

    async def receive(self) -> memoryview | bytes | bytearray:
        """Return what has arrived, at least a byte; nothing at the end."""
        return await self.stream.receive_some(READ_BYTES)

    def send_now(self, content: bytes) -> int:  # noqa: ARG002 - the protocol's signature
        """Send nothing: TLS cannot without waiting."""
        return 0

    async def send_all(self, content: memoryview) -> None:
        """Send everything."""
        await self.stream.send_all(content)

    async def finish(self) -> None:
        """End the sending side, and give the peer a moment to read the last bytes."""
        with trio.move_on_after(LINGER_S), contextlib.suppress(OSError, trio.BrokenResourceError):
            await self._below.send_eof()
            while await self._below.receive_some(READ_BYTES):
                pass

    async def close(self) -> None:
        """Free the socket without a TLS close alert: frames carry their own lengths."""
        await trio.aclose_forcefully(self.stream)
