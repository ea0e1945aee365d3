"""Descriptors that a journal reserves, so that it can open a file when all others are in use.

Laws.

1. A file is opened with a descriptor that is free, and only if there is none, with one of the reserve.
2. A file that is closed gives its descriptor to the reserve if that is not full, without freeing it in
   between: no other thread can take it.
3. Between giving up a descriptor of the reserve and opening the file, another thread may take it. So the
   reserve has several; a caller that gets none in spite of it gets an error, and tries again later.

The reserve is of this process's descriptors. When the whole system has no room for open files (`ENFILE`), it
does not help, and law 3 is what is left.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Final, Self, TypeVar

from attrs import define, field

DESCRIPTOR_ERRORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
"""The process, or the system, has as many files open as it may have: others will close some."""

RESERVE: Final = 3
"""One for a segment, one for a snapshot at the same time, and one to lose."""

Opened = TypeVar("Opened")


@define(eq=False)
class Descriptors:
    """The reserve of one directory; `directory` is a descriptor of it, which those of the reserve double."""

    directory: int
    _size: int
    _reserve: list[int] = field(factory=list)
    _lock: Lock = field(factory=Lock)

    @classmethod
    def of(cls, directory: int) -> Self:
        """Fill a reserve, as far as that is possible."""
        descriptors = cls(directory, RESERVE)
        descriptors.refill()
        return descriptors

    def __len__(self) -> int:
        return len(self._reserve)

    def refill(self) -> None:
        """Fill the reserve again, as far as that is possible."""
        with self._lock, suppress(OSError):
            while len(self._reserve) < self._size:
                self._reserve.append(os.dup(self.directory))

    def opening(self, open_: Callable[[], Opened]) -> Opened:
        """Call what needs a descriptor, with one of the reserve if there is no other. Raises `OSError`."""
        with self._lock:
            while True:
                try:
                    return open_()
                except OSError as error:
                    if error.errno not in DESCRIPTOR_ERRORS or not self._reserve:
                        raise
                os.close(self._reserve.pop())

    def close(self, descriptor: int) -> None:
        """Close a file; keep its descriptor if the reserve is not full (law 2)."""
        with self._lock:
            if len(self._reserve) < self._size:
                os.dup2(self.directory, descriptor, inheritable=False)
                self._reserve.append(descriptor)
            else:
                os.close(descriptor)

    def close_all(self) -> None:
        """Close the reserve and the directory; files closed later give no descriptor to it."""
        with self._lock:
            self._size = 0
            while self._reserve:
                os.close(self._reserve.pop())
            os.close(self.directory)
