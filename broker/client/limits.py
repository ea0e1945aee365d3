"""Every limit of the client, with its default and the reason for it."""

from math import inf
from typing import Final

from attrs import field, frozen, validators

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB

WINDOW_BYTES: Final = 4 * _MIB
"""Publications that the broker has not acknowledged. At 50 MB/s this is 80 ms of a stalled broker: longer
than a busy one takes to answer; and a client that loses its connection holds no more than this."""

FLUSH_BYTES: Final = 256 * _KIB
"""After so many bytes of publications the client asks for a `Flushed` by itself: a sixteenth of the window,
so that it empties long before it is full, and about one small frame per thousand publications."""

FLUSH_INTERVAL_S: Final = 0.25
"""A slow publisher's window empties this often, so that a restarted broker is not sent old events again."""

CHECKPOINT_BYTES: Final = 64 * _KIB
"""`publish` lets other tasks run after so many bytes: one write's worth, less than a millisecond's work."""

WRITE_BYTES: Final = 256 * _KIB
"""Most that is joined for one write. More costs copies and does not save calls that matter."""

READ_BYTES: Final = 128 * _KIB
"""Most that one read takes: several hundred deliveries a task switch, without a page fault for each page."""

INBOX_BYTES: Final = 4 * _MIB
"""The bytes that should wait inside the client for a subscription. Credit is counted in deliveries: the
client works out from the sizes it sees how many deliveries that is."""

CREDIT_FIRST: Final = 1024
"""Deliveries allowed before any size has been seen."""

CREDIT_MIN: Final = 8
"""Deliveries allowed however large they are; with fewer, every delivery would wait for a round trip."""

CREDIT_MAX: Final = 16_384
"""Deliveries allowed however small they are; 700,000 of them a second pass with round trips of 20 ms."""

OPEN_COUNT: Final = 10_000
"""The default for deliveries that are not acknowledged, where the program acknowledges: several batches."""

BOUND_BYTES: Final = 8 * _MIB
"""The default limit of a subscription's queue at the broker, beyond the client's inbox."""

CONNECT_TIMEOUT_S: Final = 10.0
"""Dialling, TLS and greeting together; a broker that answers at all answers within a fraction of this."""

CLOSE_TIMEOUT_S: Final = 5.0
"""Leaving the `connect` block sends pending output for at most this long."""

RECONNECT_TIMEOUT_S: Final = inf
"""A client that lost its broker reconnects for ever, unless a limit is set: the publications in its window
would be lost."""


@frozen
class Limits:
    """The limits of a client. Change one with `Limits(window_bytes=...)`."""

    window_bytes: int = field(default=WINDOW_BYTES, validator=validators.ge(1))
    flush_bytes: int = field(default=FLUSH_BYTES, validator=validators.ge(1))
    flush_interval_s: float = field(default=FLUSH_INTERVAL_S, validator=validators.gt(0))
    checkpoint_bytes: int = field(default=CHECKPOINT_BYTES, validator=validators.ge(1))
    write_bytes: int = field(default=WRITE_BYTES, validator=validators.ge(1))
    read_bytes: int = field(default=READ_BYTES, validator=validators.ge(1))
    inbox_bytes: int = field(default=INBOX_BYTES, validator=validators.ge(1))
    credit_first: int = field(default=CREDIT_FIRST, validator=validators.ge(1))
    credit_min: int = field(default=CREDIT_MIN, validator=validators.ge(1))
    credit_max: int = field(default=CREDIT_MAX, validator=validators.ge(1))
    connect_timeout_s: float = field(default=CONNECT_TIMEOUT_S, validator=validators.gt(0))
    close_timeout_s: float = field(default=CLOSE_TIMEOUT_S, validator=validators.ge(0))
    reconnect_timeout_s: float = field(default=RECONNECT_TIMEOUT_S, validator=validators.gt(0))
