"""One connection of a node: its unhandled messages, its outbox, and how it ends.

Its session interprets the messages (`broker.node.greeting`, `clients`, `links`).

Laws.

1. Frames are collected in the outbox and leave as one buffer; one buffer is with the shell at a time.
2. With a journal, frames sent in a step leave when every record up to the end of that step is on disk
   (`seal`). Frames that follow from no record, such as credit, need no sync (`send_free`). No frame
   overtakes another.
3. The outbox is bounded. Sessions put publications there only while it has room, and are asked for more when
   a buffer has been written (`ConnectionSession.pump`). A client that does not read its answers is not read
   either.
4. A connection goes through the states of `Life` and never back. Its session learns of the end in the step in
   which it is decided, before anything else is handled.
"""

from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Final, Protocol

from attrs import define, field

from broker.messages import Fault
from broker.node.credit import CreditBatch
from broker.node.timers import Timer
from broker.transitions import Transitions, follow
from broker.wire import Decoder, encode

OUTBOX_BYTES: Final = 256 * 1024
"""Publications wait in the outbox only up to here: what the system takes in one or two writes."""

PARTING_S: Final = 1.0
"""How long a peer may take to read why its connection ends."""

FAULT_TEXT_CHARACTERS: Final = 1000
"""Enough for a sentence; a peer's own words in it cannot make the frame too large."""


class Life(Enum):
    """How far a connection has come."""

    GREETING = "nobody knows yet who it is"
    SERVING = "its peer is a client or a broker"
    PARTING = "it has ended; what was sent before is still to be written"
    OVER = "nothing more of it is read or written"


TRANSITIONS: Final[Transitions[Life]] = {
    Life.GREETING: frozenset({Life.SERVING, Life.PARTING, Life.OVER}),
    Life.SERVING: frozenset({Life.PARTING, Life.OVER}),
    Life.PARTING: frozenset({Life.OVER}),
    Life.OVER: frozenset(),
}


class ConnectionSession(Protocol):
    """The use of a connection: a greeting, a client, or a link."""

    def handle(self, messages: Sequence[object]) -> int:
        """Handle messages that arrived together; return how many the step had time for."""
        ...

    def pump(self) -> None:
        """Put more into the outbox: it has room again."""
        ...

    def grant(self) -> None:
        """Return credit to the peer if there is enough to return."""
        ...

    def lost(self, reason: str) -> None:
        """Withdraw what belonged to this connection, which has ended."""
        ...


class Host(Protocol):
    """The part of a node that a connection calls."""

    @property
    def is_clear(self) -> bool:
        """Whether every record is on disk, so that everything may leave now."""
        ...

    def filled(self, connection: "Connection") -> None:
        """Write what this connection has to send, before the step ends or soon after."""
        ...

    def ended(self, connection: "Connection") -> None:
        """Notify the session of this connection before the step ends."""
        ...


def fault_of(code: str, text: str) -> Fault:
    """Return the frame that gives the reason for which a connection ends."""
    return Fault(code, text[:FAULT_TEXT_CHARACTERS])


@define(eq=False)
class _Sealed:
    """The frames of one step, and the record that has to be on disk before they leave."""

    upto: int
    chunks: list[bytes]
    batches: list[CreditBatch]


@define(eq=False)
class Connection:
    """The state of one connection. The node's heartbeats use `has_received` and `silent_beats`."""

    number: int
    peer: str
    decoder: Decoder
    _host: Host
    life: Life = Life.GREETING
    is_ended: bool = False
    """Whether it has been decided that the connection ends."""
    session: ConnectionSession | None = None
    reason: str = ""
    certificates: tuple[str, ...] = ()
    outbox_bytes: int = 0
    read_bytes: int = 0
    sent_bytes: int = 0
    sent_bytes_at_beat: int = 0
    has_received: bool = True
    silent_beats: int = 0
    silent_s: float = 0.0
    is_client: bool = False
    incarnation: str = ""
    """The process of a client, if it has said which."""
    is_malformed: bool = False
    is_filled: bool = False
    is_paused: bool = False
    is_writing: bool = False
    is_gone: bool = False
    """The other end has closed it, or it broke: nothing can be written any more."""
    parting: Timer | None = None
    unhandled: Sequence[object] = ()
    """Messages for which the step had no time; nothing more is read until they are handled."""
    turn_at_s: float = 0.0
    """When its unhandled messages have their next turn."""
    not_before_s: float = 0.0
    """Its session handles nothing more until then: infinity while an answer waits for room."""
    inputs_at_turn: int = 0
    """How many inputs the node had received from all connections at its last turn."""
    failure: Fault | None = None
    """The fault of the bytes behind the unhandled messages."""
    end_when_handled: str = ""
    """Why it ends once the unhandled messages are handled: the other end has closed it."""
    _fresh: list[bytes] = field(factory=list)
    _fresh_batches: list[CreditBatch] = field(factory=list)
    _sealed: deque[_Sealed] = field(factory=deque)
    _ready: list[bytes] = field(factory=list)
    _ready_batches: list[CreditBatch] = field(factory=list)
    _writing_bytes: int = 0
    _writing_batches: list[CreditBatch] = field(factory=list)

    @property
    def is_idle(self) -> bool:
        """Whether everything has been handed to the system."""
        return self.outbox_bytes == 0

    def enter(self, life: Life) -> None:
        """Enter another state of `Life`."""
        self.life = follow(TRANSITIONS, self.life, life)
        self.is_ended = life is Life.PARTING or life is Life.OVER

    @property
    def due_s(self) -> float:
        """When the unhandled messages are to be handled."""
        return max(self.turn_at_s, self.not_before_s)

    # --- sending ---

    def send(self, frame: bytes) -> None:
        """Put one frame into the outbox; nothing follows the fault of a connection that ends."""
        if self.is_ended:
            return
        self._fresh.append(frame)
        self.outbox_bytes += len(frame)
        if not self.is_filled:
            self._host.filled(self)

    def send_free(self, frame: bytes) -> None:
        """Send a frame that follows from no record, such as credit, without a sync; it overtakes nothing."""
        if self.is_ended or self._fresh or self._sealed or self._host.is_clear:
            self.send(frame)
            return
        self._ready.append(frame)
        self.outbox_bytes += len(frame)
        if not self.is_filled:
            self._host.filled(self)

    def send_all(self, chunks: Sequence[bytes], batches: Sequence[CreditBatch] = ()) -> None:
        """Put frames into the outbox; release the batches when they have been written."""
        if self.is_ended:
            for batch in batches:
                batch.release()
            return
        self._fresh += chunks
        self._fresh_batches += batches
        self.outbox_bytes += sum(map(len, chunks))
        if not self.is_filled:
            self._host.filled(self)

    # --- the outbox ---

    def _seal(self, upto: int) -> None:
        """Let the frames sent up to now leave when this record is on disk, behind those sealed already."""
        self._sealed.append(_Sealed(upto, self._fresh, self._fresh_batches))
        self._fresh, self._fresh_batches = [], []

    def unseal(self, synced: int) -> None:
        """Release the frames of records that are on disk."""
        while self._sealed and self._sealed[0].upto <= synced:
            sealed = self._sealed.popleft()
            self._ready += sealed.chunks
            self._ready_batches += sealed.batches

    def take(self, upto: int) -> bytes:
        """Return the next buffer to write; nothing if there is none, or one is being written.

        Frames sent up to now leave when the record `upto` is on disk (law 2); 0 means no record.
        """
        self.is_filled = False
        if upto or self._sealed:
            if self._fresh:
                self._seal(upto)
        else:
            self._ready += self._fresh
            self._ready_batches += self._fresh_batches
            self._fresh.clear()
            self._fresh_batches.clear()
        if self.is_writing or self.is_gone or not self._ready:
            return b""
        ready, self._ready = self._ready, []
        self._writing_batches, self._ready_batches = self._ready_batches, []
        content = ready[0] if len(ready) == 1 else b"".join(ready)
        self.is_writing = True
        self._writing_bytes = len(content)
        return content

    def written(self) -> None:
        """Take the buffer as written: release its batches, and let the session fill the outbox again."""
        self.is_writing = False
        self.sent_bytes += self._writing_bytes
        self.outbox_bytes -= self._writing_bytes
        self._writing_bytes = 0
        if self._writing_batches:
            batches, self._writing_batches = self._writing_batches, []
            for batch in batches:
                batch.release()
        if self.session is not None and not self.is_ended:
            self.session.pump()
        if (self._ready or self.is_paused or self.is_ended) and not self.is_filled:
            self._host.filled(self)

    # --- the end ---

    def end(self, reason: str, fault: Fault | None = None) -> None:
        """Read no more, and close once the outbox, with the fault as its last frame, has been written."""
        if self.is_ended:
            return
        if fault is not None:
            self.send(encode(fault))
        self.reason = reason
        self.enter(Life.PARTING)
        self.unhandled = ()
        self._host.ended(self)

    def end_now(self, reason: str) -> None:
        """End the connection and notify its session before this returns: another connection replaces it."""
        self.end(reason, fault_of("replaced", reason))
        self.release()

    def release(self) -> None:
        """Notify the session and release all batches of this connection; parting may take longer."""
        session, self.session = self.session, None
        if session is not None:
            session.lost(self.reason)
        batches = self._writing_batches + self._ready_batches + self._fresh_batches
        batches += [batch for sealed in self._sealed for batch in sealed.batches]
        self._writing_batches, self._ready_batches, self._fresh_batches = [], [], []
        for sealed in self._sealed:
            sealed.batches = []
        for batch in batches:
            batch.release()

    def close(self) -> None:
        """Drop the frames that were not written; the shell closes the socket."""
        if self.parting is not None:
            self.parting.cancel()
        self._fresh.clear()
        self._ready.clear()
        self._sealed.clear()
        self.outbox_bytes = 0
        self.enter(Life.OVER)
