"""A run of publications that one publisher published together, as the bytes they came in. No I/O."""

from collections.abc import Iterator
from struct import Struct
from typing import Final

import cbor2
from attrs import define, field

from broker.filters.constraints import Value
from broker.wire import publication_prefix
from broker.wire.header import HEADER, LENGTH_BYTES

_NUMBERS: Final = Struct(">BQBQ")
_EIGHT_BYTES: Final = 0x1B
"""How our clients write the sequence number and the time: this byte, and eight more."""


@define(eq=False)
class CachedRun:
    """A run of frames, one behind the other; the runs of a cache are numbered in the order of arrival.

    `floor_ns` is the time of what its publisher had published before, `peak_ns` that of the last of these.
    `forgotten` is 0 while the cache has the run; then it counts how many were forgotten before.
    """

    number: int
    publisher: str
    count: int
    floor_ns: int
    peak_ns: int
    frames: bytes = field(repr=False)
    forgotten: int = 0

    def stop_of(self, start: int) -> int:
        """Return the end of the frame that begins there."""
        inside = start + LENGTH_BYTES
        return inside + int.from_bytes(self.frames[start:inside], "big")

    def events(self) -> Iterator[tuple[int, int, int]]:
        """Yield the time of each event, its sequence number, and where its frame begins."""
        start, at_ns = 0, self.floor_ns
        prefix = publication_prefix(self.publisher)
        while start < len(self.frames):
            stop = self.stop_of(start)
            sequence, published_ns = self._numbers(prefix, start, stop)
            at_ns = max(at_ns, published_ns)
            yield at_ns, sequence, start
            start = stop

    def _numbers(self, prefix: bytes, start: int, stop: int) -> tuple[int, int]:
        """Return the sequence number and the time of an event; decode the rest only if that is necessary."""
        frames, body = self.frames, start + HEADER.size
        place = body + len(prefix)
        if min(stop, len(frames)) - place >= _NUMBERS.size and frames.startswith(prefix, body):
            one, sequence, other, published_ns = _NUMBERS.unpack_from(frames, place)
            if one == other == _EIGHT_BYTES:
                return sequence, published_ns
        _, sequence, published_ns, _, _ = cbor2.loads(frames[body:stop])
        return sequence, published_ns

    def attributes(self, start: int, stop: int) -> dict[str, Value]:
        """Return the attributes of the event whose frame is there."""
        attributes: dict[str, Value] = cbor2.loads(self.frames[start + HEADER.size : stop])[3]
        return attributes
