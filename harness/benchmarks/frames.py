"""The events that benchmarks publish, and the frames they become.

Every event has other attributes, taken in turn from a prepared list, and a payload of 100 bytes that begins
with the moment it was published. That moment is the machine's monotonic clock, which all processes share.
"""

import struct
import time
from typing import Final

from broker.wire import encode_publication, publication_prefix

PAYLOAD_BYTES: Final = 100
ADVERTISED: Final = "kind == 'trade' and price > 0"
SUBSCRIBED: Final = "price > 0"

_SYMBOLS: Final = ("IBM", "SAP", "AAPL", "MSFT", "NVDA", "SIE", "ASML", "TSM")
EVENTS: Final = tuple(
    {"kind": "trade", "symbol": _SYMBOLS[number % len(_SYMBOLS)], "price": 50.0 + number / 8}
    for number in range(1000)
)

_PREFIX: Final = publication_prefix("publish-0@B1.k3f9/2")
_STAMP: Final = struct.Struct(">Q")
_LENGTH: Final = struct.Struct(">I")
_PADDING: Final = bytes(PAYLOAD_BYTES - _STAMP.size)


def stamped() -> bytes:
    """A payload that says when it was made."""
    return _STAMP.pack(time.monotonic_ns()) + _PADDING


def frame() -> bytes:
    """A stamped event as it is on the wire, as a broker's client would write it."""
    return encode_publication(_PREFIX, 1, time.time_ns(), EVENTS[0], stamped(), ordered=True)


def age_ns(payload: bytes) -> int:
    """How long ago the payload was made."""
    (made_ns,) = _STAMP.unpack_from(payload)
    return time.monotonic_ns() - int(made_ns)


def cut(received: bytes | bytearray) -> tuple[int, int]:
    """How many whole frames the bytes begin with, and where the last of them ends."""
    length_of = _LENGTH.unpack_from
    frames = end = 0
    last = len(received) - _LENGTH.size
    while end <= last:
        following = end + _LENGTH.size + length_of(received, end)[0]
        if following > len(received):
            break
        end = following
        frames += 1
    return frames, end
