"""A way past Trio's streams: sends at once what the system takes at once, and reads only what is there.

A publication that comes alone would otherwise wait until Trio has come round to the task that writes: a
seventh of its way to the broker. A stream asks the system for bytes before it waits for them, in vain where
events come one at a time. It works beside a Trio stream, on a second descriptor of the same socket; sending,
while no other task writes.
"""

import contextlib
import os
import socket

import trio
from attrs import define


@define(eq=False)
class DirectSocket:
    """The socket of a plain TCP connection, in the non-blocking mode that Trio has put it into."""

    _socket: socket.socket

    @classmethod
    def of(cls, stream: trio.abc.Stream) -> "DirectSocket | None":
        """The way past this stream; None if it is no plain TCP connection."""
        if not isinstance(stream, trio.SocketStream):
            return None
        return cls(socket.socket(fileno=os.dup(stream.socket.fileno())))

    def send(self, content: bytes) -> int:
        """Send what can be sent without waiting, and return how much that was.

        An error is left to the next write, which raises it again.
        """
        try:
            return self._socket.send(content)
        except OSError:
            return 0

    def fileno(self) -> int:
        """Return the descriptor, to wait for."""
        return self._socket.fileno()

    def receive(self, size_bytes: int) -> bytes | None:
        """Return what has arrived; nothing at the end, None if nothing is there yet. Raises `OSError`."""
        with contextlib.suppress(BlockingIOError):
            return self._socket.recv(size_bytes)
        return None

    def close(self) -> None:
        """Close the descriptor; the connection is closed only when the stream is closed too."""
        self._socket.close()
