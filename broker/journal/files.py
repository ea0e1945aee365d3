"""The file operations of a journal: a handful, on one directory.

Laws, on the state after a crash of the machine:

1. A write is there after a crash only once the file has been synced after it. Until then any part of it may
   be there, in any order, page by page, and other pages are as before.
2. A name made, changed or removed is so after a crash only once the directory has been synced.
3. `reserve` returns a file full of zeros that is synced already: writing into it later cannot fail for want
   of room, and needs no change to what the file system knows about the file, which makes syncs cheaper.

4. An operation that needs a descriptor may find none (`EMFILE`), and then changes nothing. Operations on an
   open file need none.

`SystemFiles` does it for real; the simulated disk of the tests does the same with crashes at every point.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, Self

from attrs import define, field

from broker.journal.descriptors import DESCRIPTOR_ERRORS, Descriptors

ZEROS_BYTES: Final = 1024 * 1024
"""Zeros are written in pieces of this size: large enough for the disk, small enough for memory."""

_FILE_MODE: Final = 0o600
"""Events are readable by the broker's user only."""

_ZEROS: Final = memoryview(bytes(ZEROS_BYTES))


class OpenFile(Protocol):
    """A file of the directory."""

    @property
    def size_bytes(self) -> int:
        """Its size in bytes."""

    @property
    def is_removed(self) -> bool:
        """Return whether it has no name any more: what is written into it is gone when it is closed."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return what is there; less at the end of the file."""

    def write(self, start: int, parts: Sequence[bytes | memoryview]) -> None:
        """Write all of it, one part behind the other."""

    def sync(self) -> None:
        """Return when everything written is on the disk."""

    def close(self) -> None:
        """Close it."""


class Files(Protocol):
    """One directory."""

    @property
    def path(self) -> Path:
        """Its path, for messages."""

    def names(self) -> list[str]:
        """Return the names in it, sorted."""

    def open(self, name: str) -> OpenFile:
        """Open a file that is there."""

    def create(self, name: str) -> OpenFile:
        """Make an empty file, replacing any other of that name."""

    def reserve(self, name: str, size_bytes: int) -> OpenFile:
        """Make a file of that many zeros, synced; nothing is left of it if there is no room."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file, replacing any other of that name."""

    def remove(self, name: str) -> None:
        """Remove a file."""

    def sync(self) -> None:
        """Return when all changes of names are on the disk."""

    def used_bytes(self) -> int:
        """Return the size of all files together."""

    def displaced(self) -> str:
        """Return what has happened to the directory if it is not where it was, or ""."""


@define(eq=False)
class _SystemFile:
    """An open file of the system."""

    _descriptor: int
    _descriptors: Descriptors

    @property
    def size_bytes(self) -> int:
        return os.fstat(self._descriptor).st_size

    @property
    def is_removed(self) -> bool:
        return os.fstat(self._descriptor).st_nlink == 0

    def read(self, start: int, size_bytes: int) -> bytes:
        # What asks for more than there is must not cost its memory.
        size_bytes = min(size_bytes, max(0, self.size_bytes - start))
        chunks = []
        while size_bytes > 0 and (chunk := os.pread(self._descriptor, size_bytes, start)):
            chunks.append(chunk)
            start += len(chunk)
            size_bytes -= len(chunk)
        return b"".join(chunks)

    def write(self, start: int, parts: Sequence[bytes | memoryview]) -> None:
        written = os.pwritev(self._descriptor, parts, start)
        total = sum(map(len, parts))
        if written < total:
            rest = memoryview(b"".join(parts))
            while written < total:
                written += os.pwrite(self._descriptor, rest[written:], start + written)

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        self._descriptors.close(self._descriptor)


@define(eq=False)
class SystemFiles:
    """A directory of the system's; it is opened once, and everything in it by way of that."""

    path: Path
    _descriptors: Descriptors
    _names: set[str] = field(factory=set)

    @classmethod
    def of(cls, path: Path) -> Self:
        """Open a directory. Raises `OSError`."""
        return cls(path, Descriptors.of(os.open(path, os.O_RDONLY | os.O_DIRECTORY)))

    @property
    def directory(self) -> int:
        """The descriptor of the directory."""
        return self._descriptors.directory

    def close(self) -> None:
        """Close it."""
        self._descriptors.close_all()

    def names(self) -> list[str]:
        """Return the names in it, sorted; without a free descriptor, those that this process put there."""
        try:
            self._names = set(os.listdir(self.directory))  # noqa: PTH208 - pathlib lists no open directory
        except OSError as error:
            if error.errno not in DESCRIPTOR_ERRORS:
                raise
        return sorted(self._names)

    def _opened(self, name: str, flags: int) -> int:
        # Without waiting: what has a file's name need not be one.
        flags |= os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = self._descriptors.opening(
            lambda: os.open(name, flags, _FILE_MODE, dir_fd=self.directory)
        )
        self._names.add(name)
        return descriptor

    def open(self, name: str) -> OpenFile:
        """Open a file that is there."""
        return _SystemFile(self._opened(name, 0), self._descriptors)

    def create(self, name: str) -> OpenFile:
        """Make an empty file, replacing any other of that name."""
        return _SystemFile(self._opened(name, os.O_CREAT | os.O_TRUNC), self._descriptors)

    def reserve(self, name: str, size_bytes: int) -> OpenFile:
        """Make a file of that many zeros, synced; nothing is left of it if there is no room."""
        descriptor = self._opened(name, os.O_CREAT | os.O_TRUNC)
        file = _SystemFile(descriptor, self._descriptors)
        try:
            # First ask for all of the room, then write: reserved blocks that were never written would have to
            # be noted as written at every sync.
            os.posix_fallocate(descriptor, 0, size_bytes)
            for start in range(0, size_bytes, ZEROS_BYTES):
                file.write(start, [_ZEROS[: size_bytes - start]])
            os.fsync(descriptor)
        except BaseException:
            file.close()
            self.remove(name)
            raise
        return file

    def rename(self, old: str, new: str) -> None:
        """Rename a file, replacing any other of that name."""
        os.rename(old, new, src_dir_fd=self.directory, dst_dir_fd=self.directory)
        self._names.discard(old)
        self._names.add(new)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=self.directory)
        self._names.discard(name)

    def sync(self) -> None:
        """Return when all changes of names are on the disk."""
        os.fsync(self.directory)

    def used_bytes(self) -> int:
        """Return the size of all files together."""
        used_bytes = 0
        for name in self.names():
            # It may have been removed since.
            with suppress(FileNotFoundError):
                used_bytes += os.stat(name, dir_fd=self.directory, follow_symlinks=False).st_size
        return used_bytes

    def displaced(self) -> str:
        """Return what has happened to the directory if it is not where it was, or "".

        The reserve of descriptors is filled as well: others may have closed some.
        """
        self._descriptors.refill()
        own = os.fstat(self.directory)
        if own.st_nlink == 0:
            return "was deleted"
        try:
            there = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return "was moved or deleted"
        except OSError:
            # Who cannot look has not seen that it is gone.
            return ""
        is_same = (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
        return "" if is_same else "was moved or deleted, and another is in its place"
