"""From a stream of bytes to messages, and the order in which a peer may send them.

Laws:

* What comes out does not depend on how the stream was cut into chunks, nor does the code of an error. (But a
  batch of deliveries may come in parts, and an oversize frame may be refused before its kind is known.)
* A decoder keeps at most one partial frame. Its length is checked when four bytes of it are there, its kind
  and flags when six are there; nothing of a refused frame is kept.
* A connection begins with Hello, answered by Welcome. From there on the peer is a client, a broker on a link,
  or a client's broker, and sends only what the table of kinds allows it.
* The first error is the last: a decoder that refused a frame refuses everything.

Publications that follow each other are cut out in one loop, and a broker's decoder decodes them together,
with every check. A client's decoder leaves them as they are. Of a *delivered* publication

* checked at arrival are its length, kind and flags, and that a `Deliver` announced it; the client's session
  checks that the subscription was placed and had credit for it;
* trusted is its body. Each broker on the way has read it with every check, the client's own broker last, and
  checking it again would cost as much as everything else that a client does for it. It is decoded when the
  program first looks at it; what cannot be read then is the broker's fault, and is raised as that.
"""

from enum import Enum
from functools import lru_cache
from typing import Final, NoReturn

from attrs import define, field, frozen

from broker.form import IS_COMPILED
from broker.messages import Deliver, Fault, Hello, Welcome
from broker.wire import control, events
from broker.wire.errors import MALFORMED, UNEXPECTED, UNKNOWN, WireError, oversize
from broker.wire.header import HEADER, KIND_AND_FLAGS_BYTES, LENGTH_BYTES, PUBLICATION
from broker.wire.kinds import BY_KIND, BY_MESSAGE, ROWS, DecoderStage
from broker.wire.limits import DEFAULT_LIMITS, WireLimits
from broker.wire.publications import MARK, ORDERED, REPLAYED, read_publications

_unpack_header: Final = HEADER.unpack_from
_HEADER_BYTES: Final = HEADER.size
_ALL_FLAGS: Final = 0xFF
_NO_LIMIT: Final = 2**62
_SERVER: Final = DecoderStage.SERVER
_DELIVER: Final = BY_MESSAGE[Deliver].kind

_ANNOUNCEMENTS: Final = 1024
"""So many `Deliver` are remembered: some dozens of subscriptions, with the usual counts of each."""


class Peer(Enum):
    """The peer at the other end, as far as it is known when the connection is made."""

    DIALLER = "dialler"
    """A peer that dialled: its Hello distinguishes a client from a broker."""

    UPLINK = "uplink"
    """A broker that we, a broker, dialled."""

    SERVER = "server"
    """A broker that we, a client, dialled."""

    NEIGHBOUR = "neighbour"
    """A broker that greeted long ago: the stored messages of a link."""


@define
class DeliveredBatch:
    """Deliveries of one subscription that arrived together, in order; a client's decoder gives these.

    They replace `Deliver` and the publications it announces. What arrives in several reads comes as
    several of these. `size_bytes` is the size of all frames together.
    """

    number: int
    frames: list[bytes]
    size_bytes: int


_FIRST_STAGES: Final = {Peer.DIALLER: DecoderStage.HELLO, Peer.NEIGHBOUR: DecoderStage.LINK}


@frozen
class _Admission:
    """What one stage lets through by the header alone: largest length and refused flags of each kind."""

    limits_bytes: dict[int, int]
    refused_flags: dict[int, int]
    largest_bytes: int


@lru_cache(maxsize=64)
def _admission(stage: DecoderStage, limits: WireLimits, *, is_kept: bool) -> _Admission:
    """Allow stored frames (`is_kept`) the flags of links and those of clients."""
    rows = [row for row in ROWS if stage in row.stages]
    limits_bytes = {row.kind: control.size_limit(row, limits) for row in rows}
    refused_flags = dict.fromkeys(limits_bytes, _ALL_FLAGS)
    flags = ORDERED | (MARK if stage is DecoderStage.LINK else 0)
    flags |= REPLAYED if stage is DecoderStage.SERVER or is_kept else 0
    refused_flags[PUBLICATION] = _ALL_FLAGS & ~flags
    return _Admission(
        limits_bytes, refused_flags, max(limits_bytes.values(), default=limits.control_frame_bytes)
    )


@define(eq=False)
class Decoder:
    """Reads one connection's incoming half."""

    limits: WireLimits
    peer: Peer
    stage: DecoderStage = field(init=False)
    _established: DecoderStage = field(init=False)
    _admission: _Admission = field(init=False, repr=False)
    _rest: bytearray = field(init=False, factory=bytearray, repr=False)
    _needed_bytes: int = field(init=False, default=0)
    _subscription: int = field(init=False, default=0)
    _outstanding: int = field(init=False, default=0)
    _error: WireError | None = field(init=False, default=None)
    controls_max: int = field(init=False, default=_NO_LIMIT)
    """How many frames that are no publications one `feed` reads; what follows is kept as it is."""
    has_more: bool = field(init=False, default=False)
    """Whether whole frames may be kept for the next `feed`, which may be one of nothing."""

    def __attrs_post_init__(self) -> None:
        self._established = DecoderStage.SERVER if self.peer is Peer.SERVER else DecoderStage.LINK
        self._enter(_FIRST_STAGES.get(self.peer, DecoderStage.WELCOME))

    @property
    def is_within_frame(self) -> bool:
        """Return whether the beginning of a frame has come and its end has not."""
        return bool(self._rest)

    def welcomed(self) -> None:
        """Our Welcome goes out now: from here on the dialler may send more than its Hello."""
        assert self.stage is DecoderStage.GREETED, f"a Welcome answers a Hello, but this is {self.stage}"
        self._enter(self._established)

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[object]:
        """Take what was read and return the messages that are complete now.

        A broker gets messages as they are, publications as `Publication`. A client gets `DeliveredBatch`
        instead of `Deliver` and publications.

        Raises:
            WireError: a frame is refused, now or before; `messages` of the error are those before it.
        """
        if self._error is not None:
            raise self._error
        buffer = bytes(chunk)
        if self._rest:
            if len(self._rest) + len(buffer) < self._needed_bytes:
                self._rest += buffer
                return []
            buffer = b"".join((self._rest, buffer))
            self._rest.clear()
        messages: list[object] = []
        try:
            self._read(buffer, messages)
        except WireError as error:
            error.messages = messages + error.messages
            self._error = error
            raise
        return messages

    def _enter(self, stage: DecoderStage) -> None:
        self.stage = stage
        self._admission = _admission(stage, self.limits, is_kept=self.peer is Peer.NEIGHBOUR)

    def _read(self, buffer: bytes, messages: list[object]) -> None:
        position, end = 0, len(buffer)
        controls_left = self.controls_max
        self.has_more = False
        while end - position >= _HEADER_BYTES:
            length, kind, flags = _unpack_header(buffer, position)
            admission = self._admission
            if (
                not KIND_AND_FLAGS_BYTES <= length <= admission.limits_bytes.get(kind, 0)
                or flags & admission.refused_flags[kind]
                or (self.stage is _SERVER and (kind == PUBLICATION) != (self._outstanding > 0))
            ):
                self._refuse(length, kind, flags)
            after = position + LENGTH_BYTES + length
            if after > end:
                break
            if kind == PUBLICATION:
                # No further than one largest publication reaches, so that no whole frame is too large.
                # A frame that is not right ends the run, comes up first the next time, and is refused there.
                farthest = min(end, position + LENGTH_BYTES + admission.limits_bytes[PUBLICATION])
                frames: list[bytes] = []
                after = _cut(buffer, position, farthest, admission.refused_flags[PUBLICATION], frames)
                if self.stage is _SERVER:
                    batch = self._take_delivered(frames, after - position)
                    messages.append(batch)
                    position += batch.size_bytes
                else:
                    messages += read_publications(frames, self.limits)
                    position = after
            elif controls_left:
                controls_left -= 1
                self._read_control(kind, buffer[position + _HEADER_BYTES : after], messages)
                position = after
            else:
                self.has_more = True
                break
        if position < end:
            self._keep(buffer, position)

    def _keep(self, buffer: bytes, position: int) -> None:
        """Keep the beginning of a frame, and how much of it must be there before a look is worth it."""
        present = len(buffer) - position
        self._needed_bytes = _HEADER_BYTES
        if present < LENGTH_BYTES:
            self._needed_bytes = LENGTH_BYTES
        else:
            length = int.from_bytes(buffer[position : position + LENGTH_BYTES])
            _check_length("frame", length, self._admission.largest_bytes)
            if present >= _HEADER_BYTES:
                self._needed_bytes = LENGTH_BYTES + length
        if self.has_more:
            self._needed_bytes = 0
        self._rest += memoryview(buffer)[position:]

    def _refuse(self, length: int, kind: int, flags: int) -> NoReturn:
        """Return the error of a header; its length comes first, as it does where only that is there."""
        row = BY_KIND.get(kind)
        _check_length(row.name if row else "frame", length, self._admission.largest_bytes)
        if row is None:
            raise WireError(UNKNOWN, f"kind 0x{kind:02x}: this end knows no such frame")
        if self.stage not in row.stages:
            raise WireError(UNEXPECTED, f"{row.name}: this end expects {self.stage.value} here")
        _check_length(row.name, length, control.size_limit(row, self.limits))
        if flags & self._admission.refused_flags[kind]:
            raise WireError(MALFORMED, f"{row.name}: flags 0x{flags:02x} are not used here")
        due = f"{self._outstanding} publications are due" if self._outstanding else "no Deliver announced it"
        raise WireError(UNEXPECTED, f"{row.name}: {due} here")

    def _take_delivered(self, frames: list[bytes], size_bytes: int) -> DeliveredBatch:
        """Take deliveries that were announced; the first one that was not comes up again, and is refused."""
        for frame in frames[self._outstanding :]:
            size_bytes -= len(frame)
        del frames[self._outstanding :]
        self._outstanding -= len(frames)
        return DeliveredBatch(self._subscription, frames, size_bytes)

    def _read_control(self, kind: int, body: bytes, messages: list[object]) -> None:
        """Decode a control message and go where it leads the connection."""
        if kind == _DELIVER:
            self._subscription, self._outstanding = _announced(body)
            return
        message = control.decode(kind, body, self.limits)
        if isinstance(message, Hello):
            self._established = DecoderStage.CLIENT if message.role == "client" else DecoderStage.LINK
            self._enter(DecoderStage.GREETED)
        elif isinstance(message, Welcome):
            self._enter(self._established)
        elif isinstance(message, Fault):
            self._enter(DecoderStage.OVER)
        messages.append(message)


@lru_cache(maxsize=_ANNOUNCEMENTS)
def _announced(body: bytes) -> tuple[int, int]:
    """Read for which subscription a `Deliver` announces how many publications.

    The same few come again and again, one for each delivery where deliveries come alone. It holds numbers and
    nothing else, so no limit of the decoder plays a part.
    """
    message = control.decode(_DELIVER, body, DEFAULT_LIMITS)
    assert isinstance(message, Deliver)
    if message.count == 0:
        raise WireError(MALFORMED, "Deliver.count: expected 1 or more, got 0")
    return message.number, message.count


def _cut_plainly(buffer: bytes, position: int, end: int, refused_flags: int, frames: list[bytes]) -> int:
    """Do what `events.cut` does, as Python does it fastest."""
    last = end - _HEADER_BYTES
    unpack, append = _unpack_header, frames.append
    while position <= last:
        length, kind, flags = unpack(buffer, position)
        after = position + LENGTH_BYTES + length
        if kind != PUBLICATION or after > end or length < KIND_AND_FLAGS_BYTES or flags & refused_flags:
            break
        append(buffer[position:after])
        position = after
    return position


_cut: Final = events.cut if IS_COMPILED else _cut_plainly


def _check_length(where: str, length: int, limit_bytes: int) -> None:
    if length < KIND_AND_FLAGS_BYTES:
        raise WireError(MALFORMED, f"{where}: expected a length of 2 or more, got {length}")
    if length > limit_bytes:
        raise oversize(where, limit_bytes, "bytes", length)
