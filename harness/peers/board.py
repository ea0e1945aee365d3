"""The shared state of a measurement's processes: the phase, and the counts of each client.

The board is a file in memory. The harness alone writes the phase, and each client its own count; everybody
reads all of it without locks, so that looking costs nothing that could be seen in what is measured.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Final

import attrs

_NUMBER_BYTES: Final = 8


class BoardPhase(IntEnum):
    """The phases of a measurement, in this order."""

    CONNECTING = 0
    """Clients connect and subscribe; no client publishes."""
    PACED = 1
    """Publishers publish at a light rate: latency is measured."""
    FLAT_OUT = 2
    """Publishers publish as fast as the window lets them: deliveries are counted."""
    STOPPING = 3
    """Publishers end; subscribers read what is on its way."""
    OVER = 4
    """Subscribers end."""


@attrs.frozen(eq=False)
class Board:
    """The phase, and the counts of every publisher and subscriber."""

    _phase: memoryview
    published: memoryview
    delivered: memoryview

    @property
    def phase(self) -> int:
        """Return the phase, as a number that compares with those of `BoardPhase`."""
        return int(self._phase[0])

    def enter(self, phase: BoardPhase) -> None:
        """Begin a phase, for everybody."""
        self._phase[0] = phase

    def in_flight(self) -> int:
        """Return how many events the slowest subscriber has not been delivered."""
        return sum(self.published) - min(self.delivered)


@contextmanager
def opened(path: Path, publishers: int, subscribers: int) -> Iterator[Board]:
    """Map the board in a file, which is made if it is not there."""
    size_bytes = _NUMBER_BYTES * (1 + publishers + subscribers)
    with path.open("a+b") as file:
        if os.fstat(file.fileno()).st_size < size_bytes:
            file.truncate(size_bytes)
        with (
            mmap.mmap(file.fileno(), size_bytes) as mapped,
            memoryview(mapped) as octets,
            octets.cast("Q") as numbers,
            numbers[:1] as phase,
            numbers[1 : 1 + publishers] as published,
            numbers[1 + publishers :] as delivered,
        ):
            yield Board(phase, published, delivered)
