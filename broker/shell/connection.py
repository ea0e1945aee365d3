"""One connection: reads, feeds its session, writes, closes. What the bytes mean is the session's business.

Laws:

1. One reader task and one writer task. The reader handles all that arrived in one synchronous step; what is
   to be sent is collected in the outbox and leaves as one buffer. `flush` sends it at once if the system
   takes it, and wakes the writer only for the rest.
2. The outbox is bounded: sessions put publications there only while it has room, and are asked for more when
   it is empty (`Session.pump`). So what a peer does not read waits where its bound is known.
3. With a journal, the outbox leaves when the inputs before it are on disk. `seal` marks what the next sync
   will cover, and `flush_sealed` sends that; nothing overtakes anything. `flush` sends all, for moments at
   which nothing is left to be synced.
4. What one peer does ends one connection. An exception that is not about bytes, frames or the protocol is a
   defect of ours: it is not caught here and stops the broker.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import trio
from attrs import define, field

from broker.messages import Fault
from broker.shell.credit import Batch
from broker.shell.transport import Transport
from broker.wire import Decoder, WireError, encode

__all__ = ["OUTBOX_BYTES", "PARTING_S", "Connection", "Flushing", "Session", "fault_of"]

OUTBOX_BYTES: Final = 256 * 1024
"""Publications wait in the outbox only up to here: what the system takes in one or two writes."""

PARTING_S: Final = 1.0
"""How long a peer gets to read why its connection ends."""

FAULT_TEXT_CHARACTERS: Final = 1000
"""Enough for a sentence; a peer's own words in it cannot make the frame too large."""


class Session(Protocol):
    """What a connection is used for: being greeted, serving a client, or a link."""

    def handle(self, messages: Sequence[object]) -> None:
        """Handle all messages that arrived together."""
        ...

    def pump(self) -> None:
        """Put more into the outbox: it has room again."""
        ...

    def grant(self) -> None:
        """Return credit to the peer if there is enough to return."""
        ...

    def lost(self, reason: str) -> None:
        """The connection is over; withdraw what was its own."""
        ...


class Flushing(Protocol):
    """Where connections say that their outboxes were filled; empties them soon (`Connection.flush`)."""

    @property
    def is_clear(self) -> bool:
        """Whether everything that could be in an outbox may leave now."""
        ...

    def begin_step(self) -> None:
        """A reader begins to handle what it read."""
        ...

    def end_step(self, message_count: int) -> None:
        """A reader has handled so many messages."""
        ...

    def filled(self, connection: "Connection") -> None:
        """Flush this connection before the next wait."""
        ...


def fault_of(code: str, text: str) -> Fault:
    """Make the frame that says why a connection ends."""
    return Fault(code, text[:FAULT_TEXT_CHARACTERS])


def _release_all(batches: Sequence[Batch]) -> None:
    for batch in batches:
        batch.release()


@define(eq=False)
class Connection:
    """The state of one connection. `heard` and `silent_beats` are for whoever watches heartbeats."""

    peer: str
    transport: Transport
    decoder: Decoder
    _flushing: Flushing
    session: Session | None = field(default=None, init=False)
    outbox_bytes: int = field(default=0, init=False)
    heard: bool = field(default=True, init=False)
    silent_beats: int = field(default=0, init=False)
    silent_s: float = field(default=0.0, init=False)
    is_malformed: bool = field(default=False, init=False)
    released: trio.Event = field(factory=trio.Event, init=False)
    read_bytes: int = field(default=0, init=False)
    sent_bytes: int = field(default=0, init=False)
    is_filled: bool = field(default=False, init=False)
    reason: str | None = field(default=None, init=False)
    _outbox: list[bytes] = field(factory=list, init=False)
    _batches: list[Batch] = field(factory=list, init=False)
    _sealed_chunks: int = field(default=0, init=False)
    _sealed_batches: int = field(default=0, init=False)
    _ready: list[bytes] = field(factory=list, init=False)
    _batches_of_ready: list[Batch] = field(factory=list, init=False)
    _batches_of_rest: list[Batch] = field(factory=list, init=False)
    _rest: memoryview | None = field(default=None, init=False)
    _rest_waits: trio.Event = field(factory=trio.Event, init=False)
    _emptied: trio.Event = field(factory=trio.Event, init=False)
    _reading: trio.CancelScope = field(factory=trio.CancelScope, init=False)

    @property
    def is_ended(self) -> bool:
        """Whether it has been decided that the connection ends."""
        return self.reason is not None

    @property
    def is_idle(self) -> bool:
        """Whether everything has been handed to the system."""
        return self.outbox_bytes == 0

    def send(self, frame: bytes) -> None:
        """Put one frame into the outbox; nothing follows the fault of a connection that ends."""
        if self.reason is not None:
            return
        self._outbox.append(frame)
        self.outbox_bytes += len(frame)
        if not self.is_filled:
            self._flushing.filled(self)

    def send_free(self, frame: bytes) -> None:
        """Send a frame that follows from no input, such as credit, without a sync; it overtakes nothing."""
        if self.reason is not None or self._outbox or self._flushing.is_clear:
            self.send(frame)
            return
        self._ready.append(frame)
        self.outbox_bytes += len(frame)
        self._send_ready()

    def send_all(self, chunks: Sequence[bytes], batches: Sequence[Batch] = ()) -> None:
        """Put frames into the outbox; release the batches when they have been written."""
        if self.reason is not None:
            _release_all(batches)
            return
        self._outbox += chunks
        self._batches += batches
        self.outbox_bytes += sum(map(len, chunks))
        if not self.is_filled:
            self._flushing.filled(self)

    def end(self, reason: str, fault: Fault | None = None) -> None:
        """Stop reading, and close once the outbox, with the fault as its last frame, has been sent."""
        if self.reason is not None:
            return
        if fault is not None:
            self.send(encode(fault))
        self.reason = reason
        self._reading.cancel()

    def end_now(self, reason: str) -> None:
        """End it, and tell the session before this returns: its place is needed by another connection."""
        self.end(reason, fault_of("replaced", reason))
        self._release()

    def seal(self) -> None:
        """Note what is in the outbox now: `flush_sealed` will send so much and no more."""
        self.is_filled = False
        self._sealed_chunks = len(self._outbox)
        self._sealed_batches = len(self._batches)

    def flush_sealed(self) -> None:
        """Send what was there when the outbox was sealed, unless a flush has done so already."""
        chunks, batches = self._sealed_chunks, self._sealed_batches
        self._sealed_chunks = self._sealed_batches = 0
        self._ready += self._outbox[:chunks]
        self._batches_of_ready += self._batches[:batches]
        del self._outbox[:chunks], self._batches[:batches]
        self._send_ready()

    def flush(self) -> None:
        """Hand the whole outbox to the system; what it does not take is the writer's."""
        self.is_filled = False
        self._make_ready()
        self._send_ready()

    def _make_ready(self) -> None:
        self._sealed_chunks = self._sealed_batches = 0
        self._ready += self._outbox
        self._batches_of_ready += self._batches
        self._outbox.clear()
        self._batches.clear()

    def _send_ready(self) -> None:
        while self._ready and self._rest is None:
            content = self._join_ready()
            try:
                sent_bytes = self.transport.send_now(content)
            except OSError as error:
                self._broken(error)
                return
            self.sent_bytes += sent_bytes
            self.outbox_bytes -= sent_bytes
            if sent_bytes < len(content):
                self._rest = memoryview(content)[sent_bytes:]
                self._rest_waits.set()
            else:
                self._written()
        if not self.outbox_bytes:
            self._emptied.set()

    def _join_ready(self) -> bytes:
        ready, self._ready = self._ready, []
        self._batches_of_rest, self._batches_of_ready = self._batches_of_ready, []
        return ready[0] if len(ready) == 1 else b"".join(ready)

    def _written(self) -> None:
        """What was taken out of the outbox is with the system: make room felt."""
        batches, self._batches_of_rest = self._batches_of_rest, []
        _release_all(batches)
        if self.session is not None and self.reason is None:
            self.session.pump()

    def _broken(self, error: BaseException) -> None:
        self._outbox.clear()
        self._ready.clear()
        self._sealed_chunks = self._sealed_batches = 0
        self._rest = None
        self.outbox_bytes = 0
        self._emptied.set()
        self.end(f"broken: {error}")

    async def run(self) -> None:
        """Serve the connection until either side ends it; then tell the session and close the socket."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write)
                with self._reading:
                    self.end(await self._read())
                self._release()
                await self._part()
                nursery.cancel_scope.cancel()
        finally:
            self._release()
            with trio.CancelScope(shield=True):
                await self.transport.close()

    def _release(self) -> None:
        """Let go of everything that waited for this connection; parting from the peer may take longer."""
        self.released.set()
        session, self.session = self.session, None
        if session is not None:
            session.lost(self.reason or "stopped")
        batches = self._batches_of_rest + self._batches_of_ready + self._batches
        self._batches_of_rest, self._batches_of_ready, self._batches = [], [], []
        self._sealed_batches = 0
        _release_all(batches)

    async def _part(self) -> None:
        """Send what is in the outbox, and let the peer read it."""
        with trio.move_on_after(PARTING_S):
            if self._flushing.is_clear:
                self.flush()
            if self.outbox_bytes:
                self._emptied = trio.Event()
                await self._emptied.wait()
            await self.transport.finish()

    async def _read(self) -> str:
        """Read until the peer ends the connection; return how it ended."""
        while True:
            try:
                received = await self.transport.receive()
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                return f"broken: {error}"
            if not received:
                return "closed by the other end"
            if self.reason is not None:
                return self.reason
            self.heard = True
            self.read_bytes += len(received)
            self._feed(received)

    def _feed(self, received: memoryview | bytes | bytearray) -> None:
        """Decode and handle; a malformed frame ends the connection after what came before it was handled."""
        assert self.session is not None
        self._flushing.begin_step()
        try:
            messages: Sequence[object] = self.decoder.feed(received)
        except WireError as error:
            messages = error.messages
            self.session.handle(messages)
            self.is_malformed = True
            self.end(f"malformed: {error}", fault_of(error.code, error.text))
        else:
            self.session.handle(messages)
        self._flushing.end_step(len(messages))

    async def _write(self) -> None:
        """Send what `flush` could not."""
        while True:
            await self._rest_waits.wait()
            self._rest_waits = trio.Event()
            while self._rest is not None:
                try:
                    await self.transport.send_all(self._rest)
                except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                    self._broken(error)
                    break
                self._sent_rest()
            if not self.outbox_bytes:
                self._emptied.set()

    def _sent_rest(self) -> None:
        """Go on with what came into the outbox meanwhile."""
        assert self._rest is not None
        self.sent_bytes += len(self._rest)
        self.outbox_bytes -= len(self._rest)
        self._rest = None
        self._written()
        if self._flushing.is_clear:
            self._make_ready()
        # What was written gave credit back, and sending that may have left another rest.
        if self._ready and self._rest is None:
            self._rest = memoryview(self._join_ready())
