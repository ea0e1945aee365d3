"""Cuts what arrives from the broker into frames, as fast as Python can. No I/O.

Laws:

* Publications come in runs, as they are: whoever reads one decodes it (see `broker.client.delivery`). The
  decoder of `broker.wire` decodes them all at arrival, as a broker must; here that would be most of the cost.
* Everything else is decoded here, with every check: first the answer to Hello, then a broker's frames.
* A frame cut in two by a read waits for its rest; at most one partial frame is kept, and one that is larger
  than any may be is refused as soon as its length is there.
"""

from collections.abc import Iterator
from typing import Final

from attrs import define, frozen

from broker.messages import Welcome
from broker.wire import DEFAULT_LIMITS, WireError
from broker.wire.control import decode, size_limit
from broker.wire.errors import MALFORMED, UNEXPECTED, UNKNOWN, oversize
from broker.wire.header import HEADER, KIND_AND_FLAGS_BYTES, LENGTH_BYTES, PUBLICATION
from broker.wire.kinds import BY_KIND, Stage

__all__ = ["Run", "Stream"]

_FRAME_BYTES_MAX: Final = DEFAULT_LIMITS.publication_frame_bytes


@frozen
class Run:
    """Publication frames that came one behind the other, and their size together."""

    frames: list[bytes]
    size_bytes: int


@define(eq=False)
class Stream:
    """One connection's incoming bytes."""

    _stage: Stage = Stage.WELCOME
    _rest: bytes = b""

    def feed(self, received: bytes) -> Iterator[Run | object]:
        """What is whole now, in order. Exhaust it before the next call.

        Raises:
            WireError: the broker sent what it must not send; what came before it has been given.
        """
        buffer = self._rest + received if self._rest else received
        position = 0
        while True:
            frames: list[bytes] = []
            start, position = position, _publications(buffer, position, frames)
            if frames:
                yield Run(frames, position - start)
            stop = _stop(buffer, position)
            if not stop:
                break
            yield self._message(buffer[position:stop])
            position = stop
        self._rest = buffer[position:]

    def _message(self, frame: bytes) -> object:
        """Decode a whole frame that is no publication."""
        length, kind, flags = HEADER.unpack_from(frame)
        row = BY_KIND.get(kind)
        if row is None:
            raise WireError(UNKNOWN, f"kind 0x{kind:02x}: this end knows no such frame")
        if self._stage not in row.stages or kind == PUBLICATION:
            raise WireError(UNEXPECTED, f"{row.name}: this end expects {self._stage.value} here")
        if flags:
            raise WireError(MALFORMED, f"{row.name}: flags 0x{flags:02x} are not used here")
        limit_bytes = size_limit(row, DEFAULT_LIMITS)
        if length > limit_bytes:
            raise oversize(row.name, limit_bytes, "bytes", length)
        message = decode(kind, frame[HEADER.size :], DEFAULT_LIMITS)
        if isinstance(message, Welcome):
            self._stage = Stage.SERVER
        return message


def _publications(buffer: bytes, position: int, frames: list[bytes]) -> int:
    """Append the whole publication frames that stand here; returns where something else begins."""
    unpack, append = HEADER.unpack_from, frames.append
    whole = len(buffer)
    last = whole - HEADER.size
    while position <= last:
        length, kind, _ = unpack(buffer, position)
        stop = position + LENGTH_BYTES + length
        if kind != PUBLICATION or stop > whole or length < KIND_AND_FLAGS_BYTES:
            break
        append(buffer[position:stop])
        position = stop
    return position


def _stop(buffer: bytes, position: int) -> int:
    """The end of the frame that stands here, or 0 if it is not whole yet."""
    if len(buffer) - position < LENGTH_BYTES:
        return 0
    length = int.from_bytes(buffer[position : position + LENGTH_BYTES])
    if length < KIND_AND_FLAGS_BYTES:
        raise WireError(MALFORMED, f"frame: expected a length of 2 or more, got {length}")
    if length > _FRAME_BYTES_MAX:
        raise oversize("frame", _FRAME_BYTES_MAX, "bytes", length)
    stop = position + LENGTH_BYTES + length
    return stop if stop <= len(buffer) else 0
