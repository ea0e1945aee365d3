"""Counts that all processes of a measurement share: one number per publisher and one per subscriber.

A process writes only its own numbers, without locks; everybody reads all of them. That costs nothing that
could be seen in what is measured, and it lets a count be taken at any moment without asking anyone.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

__all__ = ["Board", "opened"]

_NUMBER_BYTES = 8


@attrs.frozen(eq=False)
class Board:
    """The counts: what each publisher published, what each subscriber was delivered."""

    published: memoryview
    delivered: memoryview

    def backlog(self) -> int:
        """Events published that the slowest subscriber has not been delivered."""
        return sum(self.published) - min(self.delivered)


@contextmanager
def opened(path: Path, publishers: int, subscribers: int) -> Iterator[Board]:
    """Map the board in a file, which is made if it is not there."""
    size_bytes = _NUMBER_BYTES * (publishers + subscribers)
    with path.open("a+b") as file:
        if os.fstat(file.fileno()).st_size < size_bytes:
            file.truncate(size_bytes)
        with (
            mmap.mmap(file.fileno(), size_bytes) as mapped,
            memoryview(mapped) as octets,
            octets.cast("Q") as numbers,
            numbers[:publishers] as published,
            numbers[publishers:] as delivered,
        ):
            yield Board(published, delivered)
