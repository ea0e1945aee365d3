"""One socket: feeds received bytes to the node, and writes the node's buffers.

Laws:

1. One reader task and one writer task. A buffer goes to the system at once if that takes it; the writer gets
   the rest.
2. A paused connection is not read: the peer's bytes stay with the system, and in the end with the peer.
3. The socket is closed when the node closes it, or when the connection has ended at the other end.
"""

from typing import Final, Protocol

import trio
from attrs import define, field

from broker.node import Gone, Input, Written
from broker.server.transport import Transport

FINISH_S: Final = 1.0
"""How long a peer may take to read the last bytes."""


class _Steps(Protocol):
    """Where inputs go."""

    def step(self, content: Input) -> None:
        """Feed the node, and carry out its effects."""
        ...

    def received(self, number: int, content: bytes | bytearray | memoryview) -> None:
        """Feed the bytes received on a connection."""
        ...


@define(eq=False)
class Serving:
    """A connection that the node knows by its number."""

    number: int
    transport: Transport
    _steps: _Steps
    _rest: memoryview | None = field(default=None, init=False)
    _rest_waits: trio.Event = field(factory=trio.Event, init=False)
    _resumed: trio.Event | None = field(default=None, init=False)
    _reading: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    reason: str = field(default="stopped", init=False)
    _is_ended: bool = field(default=False, init=False)
    _is_broken: bool = field(default=False, init=False)

    # --- what the node asks for ---

    def write(self, content: bytes) -> bool:
        """Send a buffer; return whether the system has taken it whole, or leave the rest to the writer."""
        if self._is_broken:
            return False
        try:
            sent_bytes = self.transport.send_now(content)
        except OSError as error:
            self._break(error)
            return False
        if sent_bytes == len(content):
            return True
        self._rest = memoryview(content)[sent_bytes:]
        self._rest_waits.set()
        return False

    def pause(self) -> None:
        """Read nothing until `resume`."""
        self._resumed = trio.Event()

    def resume(self) -> None:
        """Read again."""
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None

    def end(self) -> None:
        """Close it."""
        self._is_ended = True
        self._reading.cancel()

    # --- tasks ---

    async def run(self) -> None:
        """Serve until the node or the peer ends it."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write)
                with self._reading:
                    self.reason = await self._read()
                    self._steps.step(Gone(self.number, self.reason))
                nursery.cancel_scope.cancel()
            if self._is_ended and not self._is_broken:
                with trio.move_on_after(FINISH_S):
                    await self.transport.finish()
        finally:
            with trio.CancelScope(shield=True):
                await self.transport.close()

    def _break(self, error: BaseException) -> None:
        """Take the connection as broken for writing; the reader ends it."""
        self.reason = f"broken: {error}"
        self._is_broken = True
        self._rest = None
        self._resumed = None
        self._reading.cancel()

    async def _read(self) -> str:
        """Read until the peer ends the connection; return how it ended."""
        receive, received, number = self.transport.receive, self._steps.received, self.number
        while True:
            if self._resumed is not None:
                await self._resumed.wait()
            try:
                content = await receive()
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                return f"broken: {error}"
            if not content:
                return "closed by the other end"
            received(number, content)

    async def _write(self) -> None:
        """Send the bytes that the system did not take at once."""
        while True:
            await self._rest_waits.wait()
            self._rest_waits = trio.Event()
            while (rest := self._rest) is not None:
                try:
                    await self.transport.send_all(rest)
                except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                    self._break(error)
                    return
                self._rest = None
                self._steps.step(Written((self.number,)))
