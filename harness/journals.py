"""Journals under crashes: a disk in memory, and an observer that remembers every record.

The disk can stop at any operation, and forgets what was not synced: in part, in any order. Laws:

1. What was not synced survives sector by sector, each or not, whatever came before or after it.
2. Changes of names that were not synced survive each or not.
3. A kill of the process forgets nothing that was done, but may stop a write in its middle.
4. A sync that fails is not made up for by the next: what it should have written is shown, and never written.
"""

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, Self

from attrs import define, field

from broker.journal.files import Files, OpenFile
from broker.journal.identity import identify
from broker.journal.journal import Journal
from broker.journal.opening import opened_in
from broker.journal.recovery import Recovered

SECTOR_BYTES: Final = 512
"""The bytes that a disk writes whole or not at all."""

BROKER: Final = "B1"
ID: Final = bytes(range(16))


class CrashError(Exception):
    """The machine or the process stops here."""


@define(eq=False)
class _Content:
    """A file's bytes as the system shows them, and as they are on the disk."""

    now: bytearray = field(factory=bytearray)
    synced: bytearray = field(factory=bytearray)
    writes: list[tuple[int, bytes]] = field(factory=list)

    def write(self, start: int, content: bytes) -> None:
        _put(self.now, start, content)
        self.writes.append((start, content))

    def sync(self) -> None:
        for start, content in self.writes:
            _put(self.synced, start, content)
        self.writes.clear()

    def survived(self, random: Random) -> "_Content":
        """Return the content that is left after the machine has stopped."""
        left = bytearray(self.synced)
        pieces = [piece for start, content in self.writes for piece in _sectors(start, content)]
        chance = random.choice([0.0, 0.1, 0.5, 0.9, 1.0])
        for start, content in pieces:
            if random.random() < chance:
                _put(left, start, content)
        return _Content(bytearray(left), left)


def _put(content: bytearray, start: int, part: bytes) -> None:
    if len(content) < start:
        content.extend(bytes(start - len(content)))
    content[start : start + len(part)] = part


def _sectors(start: int, content: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(content):
        stop = place + SECTOR_BYTES - (start + place) % SECTOR_BYTES
        yield start + place, content[place:stop]
        place = stop


@define(eq=False)
class _SimulatedFile:
    _content: _Content
    _disk: "SimulatedDisk"

    @property
    def size_bytes(self) -> int:
        return len(self._content.now)

    @property
    def is_removed(self) -> bool:
        return self._disk.has_lost(self._content)

    def read(self, start: int, size_bytes: int) -> bytes:
        return bytes(self._content.now[start : start + size_bytes])

    def write(self, start: int, parts: Sequence[bytes | memoryview]) -> None:
        content = b"".join(parts)
        self._disk.need(max(0, start + len(content) - self.size_bytes))
        self._disk.step("write", lambda part: self._content.write(start, content[: int(part * len(content))]))

    def sync(self) -> None:
        try:
            self._disk.step("sync", lambda part: self._content.sync() if part == 1 else None)
        except OSError:
            # The system takes the pages for written (law 4).
            self._content.writes.clear()
            raise

    def close(self) -> None:
        pass


Names = dict[str, _Content]


@define(eq=False)
class SimulatedDisk:
    """A directory on such a disk. `stop_after` operations it stops; `errors` hit the next of a kind."""

    path: Path = Path("simulated")
    room_bytes: int | None = None
    stop_after: int | None = None
    errors: dict[str, int] = field(factory=dict)
    displacement: str = ""
    random: Random = field(factory=lambda: Random(0))  # noqa: S311 - chance that can be repeated
    steps: int = field(default=0, init=False)
    _now: Names = field(factory=dict)
    _synced: Names = field(factory=dict)
    _changes: list[Callable[[Names], None]] = field(factory=list)

    @classmethod
    def of(cls, files: Mapping[str, bytes | bytearray]) -> Self:
        """Return a disk that has these files, synced."""
        contents = {name: _Content(bytearray(each), bytearray(each)) for name, each in files.items()}
        return cls(now=dict(contents), synced=dict(contents))

    def step(self, kind: str, act: Callable[[float], None]) -> None:
        """Do an operation, or a part of it and stop."""
        self._fail(kind)
        if self.stop_after is not None and self.steps >= self.stop_after:
            act(self.random.random())
            raise CrashError
        self.steps += 1
        act(1)

    def _fail(self, kind: str) -> None:
        """Raise the error that is to hit this kind of operation next, if there is one."""
        if kind in self.errors:
            number = self.errors.pop(kind)
            raise OSError(number, errno.errorcode[number])

    def need(self, size_bytes: int) -> None:
        """Make sure that there is room for so many bytes more."""
        if self.room_bytes is not None and self.used_bytes() + size_bytes > self.room_bytes:
            raise OSError(errno.ENOSPC, "no room")

    def after_power_loss(self, random: Random) -> "SimulatedDisk":
        """Return what another start of the machine finds."""
        names = dict(self._synced)
        for change in self._changes:
            if random.random() < random.choice([0.1, 0.5, 1.0]):
                change(names)
        survived = {id(each): each.survived(random) for each in names.values()}
        left = {name: survived[id(content)] for name, content in names.items()}
        return SimulatedDisk(self.path, self.room_bytes, random=random, now=left, synced=dict(left))

    def after_kill(self) -> "SimulatedDisk":
        """Return the disk that another process finds: all operations were carried out."""
        return SimulatedDisk(
            self.path,
            self.room_bytes,
            random=self.random,
            now=dict(self._now),
            synced=dict(self._synced),
            changes=list(self._changes),
        )

    def content(self, name: str) -> bytearray:
        """The bytes of a file, to be looked at or spoilt."""
        return self._now[name].now

    def _change(self, kind: str, change: Callable[[Names], None]) -> None:
        def act(part: float) -> None:
            if part == 1:
                change(self._now)
                self._changes.append(change)

        self.step(kind, act)

    def names(self) -> list[str]:
        """Return the names in it, sorted."""
        self._fail("names")
        return sorted(self._now)

    def open(self, name: str) -> OpenFile:
        """Open a file that is there."""
        return _SimulatedFile(self._named(name), self)

    def create(self, name: str) -> OpenFile:
        """Make an empty file, in the place of any other of that name."""
        content = _Content()
        self._change("create", lambda names: names.__setitem__(name, content))
        return _SimulatedFile(content, self)

    def reserve(self, name: str, size_bytes: int) -> OpenFile:
        """Make a file of that many zeros, synced."""
        self._fail("reserve")
        self.need(size_bytes)
        file = self.create(name)
        file.write(0, [bytes(size_bytes)])
        file.sync()
        return file

    def _named(self, name: str) -> _Content:
        if name not in self._now:
            raise FileNotFoundError(errno.ENOENT, "no such file", name)
        return self._now[name]

    def rename(self, old: str, new: str) -> None:
        """Give a file another name, in the place of any other of that name."""
        content = self._named(old)

        def change(names: Names) -> None:
            if names.get(old) is content:
                del names[old]
            names[new] = content

        self._change("rename", change)

    def remove(self, name: str) -> None:
        """Remove a file."""
        content = self._named(name)

        def change(names: Names) -> None:
            if names.get(name) is content:
                del names[name]

        self._change("remove", change)

    def sync(self) -> None:
        """Return when all changes of names are on the disk."""

        def act(part: float) -> None:
            if part == 1:
                self._synced = dict(self._now)
                self._changes.clear()

        self.step("sync directory", act)

    def displaced(self) -> str:
        """Return how the directory was displaced; "" if it is in place."""
        return self.displacement

    def has_lost(self, content: _Content) -> bool:
        """Return whether no file of the directory has this content."""
        return all(each is not content for each in self._now.values())

    def used_bytes(self) -> int:
        """Return the size of all files together."""
        return sum(len(each.now) for each in self._now.values())


def content_of(records: list[bytes]) -> bytes:
    """A snapshot's content: here the state is the list of all records."""
    return b"".join(len(record).to_bytes(4, "big") + record for record in records)


def state_of(recovered: Recovered) -> list[bytes]:
    """Return all records that the recovered journal represents."""
    content = recovered.snapshot or b""
    records = []
    place = 0
    while place < len(content):
        stop = place + 4 + int.from_bytes(content[place : place + 4], "big")
        records.append(content[place + 4 : stop])
        place = stop
    assert len(records) == recovered.upto
    records.extend(recovered.records())
    return records


@define(eq=False)
class Keeper:
    """Uses the journal and remembers `records`; the first `acknowledged` of them were on disk."""

    files: Files
    random: Random
    segment_bytes: int
    journal: Journal = field(init=False)
    records: list[bytes] = field(factory=list)
    acknowledged: int = 0

    def open(self) -> None:
        """Open the journal; check that it has the acknowledged records, and none that was never appended.

        Raises `AssertionError` if it has not, and the errors of the journal.
        """
        self.journal = opened_in(
            self.files, identify(self.files, BROKER, ID), self.segment_bytes, fresh=self.random.randbytes
        )
        found = state_of(self.journal.recovered)
        assert self.acknowledged <= len(found) <= len(self.records), (self.acknowledged, len(found))
        assert found == self.records[: len(found)]
        assert self.journal.synced == self.journal.appended == len(found)
        self.records = found
        self.acknowledged = len(found)

    def append(self, size_bytes: int) -> None:
        """Append a record that is like no other."""
        record = self.random.randbytes(8) + bytes(self.random.choice([0, 1])) * size_bytes
        self.records.append(record + self.random.randbytes(size_bytes // 2))
        assert self.journal.append(self.records[-1]) == len(self.records)

    def flush(self) -> None:
        """Sync every record to disk, and acknowledge them."""
        self.journal.flush()
        assert self.journal.synced == len(self.records)
        self.acknowledged = self.journal.synced

    def snapshot(self) -> bool:
        """Take a snapshot of all records."""
        return self.journal.snapshot(content_of(self.records), len(self.records))

    def reopen(self) -> None:
        """Close and open again."""
        self.journal.close()
        self.acknowledged = len(self.records)
        self.open()
