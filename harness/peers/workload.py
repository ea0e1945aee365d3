"""The workload, the same for every system: what an event is, how many clients there are, and for how long.

An event has a kind, a price and a payload of 100 bytes that begins with the event's number. A system carries
the price where its users look for one: as an attribute, a header, a field of an entry, or in the subject.
"""

import struct
from typing import Final, Self

import attrs

PAYLOAD_BYTES: Final = 100

WINDOW: Final = 2_000
"""Events that the slowest subscriber may be behind: publishers wait then, whatever the system would hold."""

BATCH: Final = 32
"""Events that a publisher publishes between two looks at the window."""

PRICES: Final = tuple(50.0 + number / 8 for number in range(1000))
"""What the events cost, in turn."""

_NUMBER: Final = struct.Struct(">Q")
_PADDING: Final = bytes(PAYLOAD_BYTES - _NUMBER.size)
SEQUENCE_BITS: Final = 40
"""A publisher of a million events a second would need twelve days to use them up."""

SEQUENCE_MASK: Final = (1 << SEQUENCE_BITS) - 1

number_of: Final = _NUMBER.unpack_from
"""Reads the number at the beginning of a payload, as a tuple of one."""


def numbered(publisher: int, sequence: int) -> bytes:
    """Return the payload of an event."""
    return _NUMBER.pack(publisher << SEQUENCE_BITS | sequence) + _PADDING


@attrs.frozen
class WorkloadShape:
    """How many servers, publishers and subscribers; clients are dealt out to the servers in turn.

    Each subscriber is delivered every event. All publishers share one process, and all subscribers another.
    """

    name: str
    servers: int
    publishers: int
    subscribers: int


SHAPES: Final = (
    WorkloadShape("1 x 1", 1, 1, 1),
    WorkloadShape("4 x 4", 1, 4, 4),
    WorkloadShape("10 x 50", 1, 10, 50),
    WorkloadShape("3 servers, 4 x 4", 3, 4, 4),
)


PINS: Final = ("never", "latency", "always")


@attrs.frozen
class WorkloadTiming:
    """How long each phase lasts, how often everything is repeated, and when who has which cores."""

    repeat: int = 3
    warm_up_s: float = 1.0
    measure_s: float = 3.0
    rate_per_s: float = 500.0
    """Events per second of all publishers together while latency is measured: light load."""

    pin: str = "latency"
    """When servers have one half of the cores and clients the other: one of `PINS`."""

    @classmethod
    def of(cls, *, quick: bool, repeat: int | None, pin: str) -> Self:
        """Return what the options of a command ask for."""
        timing = cls(1, 0.2, 0.5, pin=pin) if quick else cls(pin=pin)
        return timing if repeat is None else attrs.evolve(timing, repeat=repeat)
