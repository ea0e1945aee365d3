"""What a journal asks of the file system: a handful of operations on one directory.

Laws, which are what a crash of the machine leaves of them:

1. A write is there after a crash only once the file has been synced after it. Until then any part of it may
   be there, in any order, page by page, and other pages are as before.
2. A name made, changed or removed is so after a crash only once the directory has been synced.
3. `reserve` returns a file full of zeros that is synced already: writing into it later cannot fail for want
   of room, and needs no change to what the file system knows about the file, which makes syncs cheaper.

`SystemFiles` does it for real; the simulated disk of the tests does the same with crashes at every place.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, Self

from attrs import define

__all__ = ["Files", "OpenFile", "SystemFiles"]

ZEROS_BYTES: Final = 1024 * 1024
"""Zeros are written in pieces of this size: large enough for the disk, small enough for memory."""

_FILE_MODE: Final = 0o600
"""What is published is nobody else's business."""

_ZEROS: Final = memoryview(bytes(ZEROS_BYTES))


class OpenFile(Protocol):
    """A file of the directory."""

    @property
    def size_bytes(self) -> int:
        """How long it is."""
        ...

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return what is there; less at the end of the file."""
        ...

    def write(self, start: int, parts: Sequence[bytes | memoryview]) -> None:
        """Write all of it, one part behind the other."""
        ...

    def sync(self) -> None:
        """Return when everything written is on the disk."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Files(Protocol):
    """One directory."""

    @property
    def path(self) -> Path:
        """Where it is, for messages."""
        ...

    def names(self) -> list[str]:
        """What is in it, sorted."""
        ...

    def open(self, name: str) -> OpenFile:
        """Open a file that is there."""
        ...

    def create(self, name: str) -> OpenFile:
        """Make an empty file, in the place of any other of that name."""
        ...

    def reserve(self, name: str, size_bytes: int) -> OpenFile:
        """Make a file of that many zeros, synced; nothing is left of it if there is no room."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in the place of any other of that name."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file."""
        ...

    def sync(self) -> None:
        """Return when all changes of names are on the disk."""
        ...

    def used_bytes(self) -> int:
        """What all files together take."""
        ...


@define(eq=False)
class _SystemFile:
    """An open file of the system."""

    _descriptor: int

    @property
    def size_bytes(self) -> int:
        return os.fstat(self._descriptor).st_size

    def read(self, start: int, size_bytes: int) -> bytes:
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
        os.close(self._descriptor)


@define(eq=False)
class SystemFiles:
    """A directory of the system's."""

    path: Path
    _descriptor: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Open a directory. Raises `OSError`."""
        return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY))

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)

    def names(self) -> list[str]:
        """What is in it, sorted."""
        return sorted(os.listdir(self._descriptor))  # noqa: PTH208 - pathlib lists no open directory

    def open(self, name: str) -> OpenFile:
        """Open a file that is there."""
        return _SystemFile(os.open(name, os.O_RDWR, dir_fd=self._descriptor))

    def create(self, name: str) -> OpenFile:
        """Make an empty file, in the place of any other of that name."""
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
        return _SystemFile(os.open(name, flags, _FILE_MODE, dir_fd=self._descriptor))

    def reserve(self, name: str, size_bytes: int) -> OpenFile:
        """Make a file of that many zeros, synced; nothing is left of it if there is no room."""
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
        descriptor = os.open(name, flags, _FILE_MODE, dir_fd=self._descriptor)
        file = _SystemFile(descriptor)
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
        """Give a file another name, in the place of any other of that name."""
        os.rename(old, new, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=self._descriptor)

    def sync(self) -> None:
        """Return when all changes of names are on the disk."""
        os.fsync(self._descriptor)

    def used_bytes(self) -> int:
        """What all files together take."""
        with os.scandir(self._descriptor) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
