"""From a stream of bytes to messages, and the order in which a peer may send them.

Laws:

* What comes out does not depend on how the stream was cut into chunks.
* A decoder keeps at most one partial frame. Its length is checked when four bytes of it are there, its kind
  and flags when six are there; nothing of a refused frame is kept.
* A connection begins with Hello, answered by Welcome. From there on the peer is a client, a broker on a link,
  or a client's broker, and sends only what the table of kinds allows it.
* The first error is the last: a decoder that refused a frame refuses everything.

Frames of publications that follow each other are cut out in one loop and decoded together.
"""

from enum import Enum
from typing import Final

from attrs import define, field, frozen

from broker.messages import Deliver, Fault, Hello, Welcome
from broker.wire import control
from broker.wire.errors import MALFORMED, UNEXPECTED, UNKNOWN, WireError, oversize
from broker.wire.header import HEADER, KIND_AND_FLAGS_BYTES, LENGTH_BYTES, PUBLICATION
from broker.wire.kinds import BY_KIND, ROWS, Row, Stage
from broker.wire.limits import Limits
from broker.wire.publications import MARK, ORDERED, Event, read_events, read_publications

_unpack_header: Final = HEADER.unpack_from
_HEADER_BYTES: Final = HEADER.size


class Peer(Enum):
    """Who is at the other end, as far as it is known when the connection is made."""

    DIALLER = "dialler"
    """It dialled us: its Hello says whether it is a client or a broker."""

    BROKER = "broker"
    """A broker that we, a broker, dialled."""

    SERVER = "server"
    """A broker that we, a client, dialled."""


@frozen
class DeliveredBatch:
    """Deliveries of one subscription that arrived together, in order; a client's decoder gives these.

    They take the place of `Deliver` and its publications. A batch that arrives in several reads comes as
    several of these.
    """

    number: int
    events: list[Event]


@define(eq=False)
class Decoder:
    """Reads one connection's incoming half."""

    limits: Limits
    peer: Peer
    stage: Stage = field(init=False)
    _established: Stage = field(init=False)
    _rest: bytearray = field(init=False, factory=bytearray, repr=False)
    _needed_bytes: int = field(init=False, default=0)
    _subscription: int = field(init=False, default=0)
    _outstanding: int = field(init=False, default=0)
    _error: WireError | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.stage = Stage.HELLO if self.peer is Peer.DIALLER else Stage.WELCOME
        self._established = Stage.SERVER if self.peer is Peer.SERVER else Stage.LINK

    def welcomed(self) -> None:
        """Our Welcome goes out now: from here on the dialler may send more than its Hello."""
        assert self.stage is Stage.GREETED, (
            f"a Welcome answers a Hello; this connection reads {self.stage.value}"
        )
        self.stage = self._established

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[object]:
        """Take what was read and return the messages that are complete now.

        A broker gets messages as they are, publications as `Publication`. A client gets `DeliveredBatch` in
        place of `Deliver` and publications.

        Raises:
            WireError: a frame is refused, now or before; `messages` of the error are those before it.
        """
        if self._error is not None:
            raise self._error
        if self._rest:
            self._rest += chunk
            if len(self._rest) < self._needed_bytes:
                return []
            chunk, self._rest = self._rest, bytearray()
        messages: list[object] = []
        try:
            self._read(bytes(chunk), messages)
        except WireError as error:
            error.messages = messages
            self._error = error
            raise
        return messages

    def _read(self, buffer: bytes, messages: list[object]) -> None:
        position, end = 0, len(buffer)
        while end - position >= _HEADER_BYTES:
            length, kind, flags = _unpack_header(buffer, position)
            row = self._admit(length, kind, flags)
            after = position + LENGTH_BYTES + length
            if after > end:
                break
            if kind == PUBLICATION:
                after = self._read_run(buffer, position, messages)
            else:
                message = control.decode(kind, buffer[position + _HEADER_BYTES : after], self.limits)
                self._step(row, message, messages)
            position = after
        self._keep(buffer, position)

    def _keep(self, buffer: bytes, position: int) -> None:
        """Keep the beginning of a frame, and how much of it must be there before a look is worth it."""
        present = len(buffer) - position
        self._rest += buffer[position:]
        self._needed_bytes = _HEADER_BYTES if present >= LENGTH_BYTES else LENGTH_BYTES
        if present >= LENGTH_BYTES:
            length = int.from_bytes(buffer[position : position + LENGTH_BYTES])
            _check_length("frame", length, self._largest_bytes())
            if present >= _HEADER_BYTES:
                self._needed_bytes = LENGTH_BYTES + length

    def _largest_bytes(self) -> int:
        """The largest frame that could come now, whatever its kind."""
        return max(control.size_limit(row, self.limits) for row in ROWS if self.stage in row.stages)

    def _admit(self, length: int, kind: int, flags: int) -> Row:
        """Refuse a frame by its header alone."""
        row = BY_KIND.get(kind)
        if row is None:
            raise WireError(UNKNOWN, f"kind 0x{kind:02x}: this end knows no such frame")
        if self.stage not in row.stages:
            raise WireError(UNEXPECTED, f"{row.name}: this end expects {self.stage.value} here")
        if self.stage is Stage.SERVER and (kind == PUBLICATION) != (self._outstanding > 0):
            announced = f"{self._outstanding} publications" if self._outstanding else "no publication"
            raise WireError(UNEXPECTED, f"{row.name}: Deliver announced {announced} here")
        _check_length(row.name, length, control.size_limit(row, self.limits))
        if flags & ~_flags_of(self.stage, kind):
            raise WireError(MALFORMED, f"{row.name}: flags 0x{flags:02x} are not used here")
        return row

    def _read_run(self, buffer: bytes, position: int, messages: list[object]) -> int:
        """Read as many publications as follow each other; the first has been admitted and is all there."""
        allowed = _flags_of(self.stage, PUBLICATION)
        limit = self.limits.publication_frame_bytes
        if self.stage is not Stage.SERVER:
            frames, position = _cut(buffer, position, 0, len(buffer), limit, ~allowed)
            read_publications(frames, self.limits, messages)
            return position
        bodies, position = _cut(buffer, position, _HEADER_BYTES, self._outstanding, limit, ~allowed)
        self._outstanding -= len(bodies)
        events, error = read_events(bodies, self.limits)
        if events:
            messages.append(DeliveredBatch(self._subscription, events))
        if error is not None:
            raise error
        return position

    def _step(self, row: Row, message: object, messages: list[object]) -> None:
        """Where the connection stands after a control message, and who gets to see it."""
        if isinstance(message, Deliver):
            if message.count == 0:
                raise WireError(MALFORMED, f"{row.name}.count: expected 1 or more, got 0")
            self._subscription, self._outstanding = message.number, message.count
            return
        if isinstance(message, Hello):
            self._established = Stage.CLIENT if message.role == "client" else Stage.LINK
            self.stage = Stage.GREETED
        elif isinstance(message, Welcome):
            self.stage = self._established
        elif isinstance(message, Fault):
            self.stage = Stage.OVER
        messages.append(message)


def _cut(  # noqa: PLR0913, PLR0917 - one loop for both directions
    buffer: bytes, position: int, skip_bytes: int, most: int, limit_bytes: int, refused_flags: int
) -> tuple[list[bytes], int]:
    """Cut out whole publications that follow each other, and say where they end.

    It stops before whatever is not quite right: that frame comes up first the next time and is refused there.
    """
    end = len(buffer)
    last = end - _HEADER_BYTES
    frames: list[bytes] = []
    for _ in range(most):
        if position > last:
            break
        length, kind, flags = _unpack_header(buffer, position)
        after = position + LENGTH_BYTES + length
        if kind != PUBLICATION or after > end or flags & refused_flags or not 2 <= length <= limit_bytes:  # noqa: PLR2004
            break
        frames.append(buffer[position + skip_bytes : after])
        position = after
    return frames, position


def _flags_of(stage: Stage, kind: int) -> int:
    """Which flags a frame may have: marks are between brokers."""
    if kind != PUBLICATION:
        return 0
    return ORDERED | MARK if stage is Stage.LINK else ORDERED


def _check_length(where: str, length: int, limit: int) -> None:
    if length < KIND_AND_FLAGS_BYTES:
        raise WireError(MALFORMED, f"{where}: expected a length of 2 or more, got {length}")
    if length > limit:
        raise oversize(where, limit, "bytes", length)
