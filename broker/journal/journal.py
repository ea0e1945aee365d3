"""A broker's journal: what it has taken in, on disk before anybody is told.

Laws:

1. Records are numbered from 1. `append` puts one into memory; `flush` gets everything appended to disk, batch
   by batch, one sync each; `synced` says how far that is.
2. One thread may append while another flushes, a third makes room and a fourth writes a snapshot.
3. Room is made ahead: while a segment is filled, the next one waits beside it, full of zeros. Until it does,
   `has_room` is false when only half a segment is left: what was promised before, and what keeps the
   overlay going, still fits. If the disk has no room for it, the journal `is_full` then, until it has.
4. A write or sync that fails is the end: what is on disk is unknown then, and asking again could get an
   answer that is not true. Every later call raises the same error. Opening the journal again finds out.
"""

import os
import secrets
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from attrs import define, field

from broker.journal.errors import ROOM_ERRORS, JournalError, explained
from broker.journal.files import Files, OpenFile, SystemFiles
from broker.journal.identity import SPARE_SUFFIX, Identity, identify, lock, made, write_aside
from broker.journal.layout import PAGE_BYTES, mark
from broker.journal.names import SEGMENT, SNAPSHOT, name_of, numbers
from broker.journal.recovery import MARK, Found, Recovered, recover
from broker.journal.segments import SPARE, Segment, begin, capacity_for
from broker.journal.snapshots import prune, write_snapshot
from broker.journal.walk import Walk

__all__ = [
    "BATCH_BYTES_MAX",
    "SEGMENT_BYTES_MAX",
    "SEGMENT_BYTES_MIN",
    "Journal",
    "open_journal",
    "opened_in",
]

SEGMENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Made in some ten milliseconds on a fast disk, and filled in a second by a busy broker."""

SEGMENT_BYTES_MIN: Final = 1024 * 1024
"""On a small file system; still many batches, and more than any record."""

_PART_OF_FREE: Final = 16
"""A segment is at most this part of what is free when the journal is opened."""

BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""What collects beyond this while a sync takes long goes into a batch of its own: each is read at once."""

_SALT_BYTES: Final = 16

_DAMAGED_SUFFIX: Final = ".damaged"


@define(eq=False)
class Journal:
    """An open journal; made by `open_journal`."""

    recovered: Recovered
    incarnation: str
    _files: Files
    _id: bytes
    _segment_bytes: int
    _fresh: Callable[[int], bytes]
    _unlock: Callable[[], None]
    _segment: Segment
    _mark_file: OpenFile
    appended: int
    synced: int
    written_bytes: int = field(default=0, init=False)
    snapshots: int = field(default=0, init=False)
    _pictured_at_s: float = field(factory=monotonic, init=False)
    _pending: deque[bytes] = field(factory=deque, init=False)
    _appended_bytes: int = field(default=0, init=False)
    _taken_bytes: int = field(default=0, init=False)
    _rest_bytes: int = field(default=0, init=False)
    _spare_bytes: int = field(default=0, init=False)
    _spare: OpenFile | None = field(default=None, init=False)
    _failure: JournalError | None = field(default=None, init=False)
    _is_disk_full: bool = field(default=False, init=False)
    _is_closed: bool = field(default=False, init=False)
    _flushing: Lock = field(factory=Lock, init=False)
    _making: Lock = field(factory=Lock, init=False)
    _picturing: Lock = field(factory=Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._rest_bytes = self._segment.rest_bytes

    @property
    def path(self) -> Path:
        """The directory."""
        return self._files.path

    # --- records ---

    def append(self, record: bytes) -> int:
        """Put a record behind the others, in memory; return its number."""
        assert record, "an empty record would say nothing"
        self._pending.append(record)
        self._appended_bytes += len(record)
        self.appended += 1
        return self.appended

    def flush(self) -> None:
        """Write and sync everything appended before the call; blocks. Raises `JournalError`."""
        with self._flushing:
            self._check()
            upto = self.appended
            try:
                while self.synced < upto:
                    self._write(self._cut())
            except OSError as error:
                raise self._failed(error, self._segment.name, "cannot be written") from error

    def _cut(self) -> list[bytes]:
        """Take the next batch: a record at least, and no more than should be in one."""
        records: list[bytes] = []
        size_bytes = 0
        while self._pending and (not records or size_bytes + len(self._pending[0]) <= BATCH_BYTES_MAX):
            record = self._pending.popleft()
            records.append(record)
            size_bytes += len(record)
        self._taken_bytes += size_bytes
        return records

    def _write(self, records: list[bytes]) -> None:
        if not self._segment.fits(records):
            self._begin_next(records)
        self.written_bytes += self._segment.write(self.synced + 1, records)
        self._rest_bytes = self._segment.rest_bytes
        # Before anybody may be told: whatever was acknowledged is marked.
        synced = self.synced + len(records)
        self._mark_file.write(0, [mark(self._id, synced)])
        self.synced = synced

    def _begin_next(self, records: list[bytes]) -> None:
        with self._making:
            needed_bytes = capacity_for(records)
            spare, self._spare = self._spare, None
            if spare is None or spare.size_bytes < needed_bytes:
                if spare is not None:
                    spare.close()
                spare = self._files.reserve(SPARE, max(needed_bytes, self._segment_bytes))
            filled = self._segment
            self._segment = begin(self._files, self._id, spare, self.synced + 1, self._fresh(_SALT_BYTES))
            filled.close()
            self._spare_bytes = 0

    # --- room ---

    @property
    def has_room(self) -> bool:
        """Whether more may be promised: there is more room than what was promised already may need."""
        waiting_bytes = self._appended_bytes - self._taken_bytes
        return self._rest_bytes + self._spare_bytes - waiting_bytes >= self._segment_bytes // 2

    @property
    def is_full(self) -> bool:
        """Whether publications must be refused: the disk had no room, and too little was left."""
        return self._is_disk_full and not self.has_room

    @property
    def room_bytes(self) -> int:
        """What can be written before more has to be reserved."""
        return self._rest_bytes + self._spare_bytes

    @property
    def wants_room(self) -> bool:
        """Whether `make_room` has something to do."""
        return self._spare is None

    def make_room(self) -> bool:
        """Reserve the next segment; blocks. Return whether it is there. Raises `JournalError`."""
        with self._making:
            self._check()
            if self._spare is None:
                try:
                    self._spare = self._files.reserve(SPARE, self._segment_bytes)
                except OSError as error:
                    if error.errno in ROOM_ERRORS:
                        self._is_disk_full = True
                        return False
                    raise self._failed(error, SPARE, "cannot be made") from error
                self._spare_bytes = self._spare.size_bytes
                self._is_disk_full = False
            return True

    # --- snapshots ---

    def snapshot(self, content: bytes, upto: int) -> bool:
        """Keep a picture of the state after that record, and drop what it makes superfluous; blocks.

        Return whether there was room for it. Raises `JournalError`.
        """
        assert 0 <= upto <= self.appended
        if upto > self.synced:
            self.flush()
        with self._picturing:
            self._check()
            try:
                write_snapshot(self._files, self._id, content, upto)
                prune(self._files)
            except OSError as error:
                if error.errno in ROOM_ERRORS:
                    return False
                raise self._failed(error, name_of(upto, SNAPSHOT), "cannot be written") from error
            self.snapshots += 1
            self._pictured_at_s = monotonic()
            return True

    @property
    def snapshot_age_s(self) -> float:
        """How long ago the last snapshot was written, or the journal opened if none was since."""
        return monotonic() - self._pictured_at_s

    @property
    def size_bytes(self) -> int:
        """What the directory holds. Raises `OSError`."""
        return self._files.used_bytes()

    # --- the end ---

    def close(self) -> None:
        """Get everything appended to disk, and let go of the directory. Raises `JournalError`."""
        if self._is_closed:
            return
        try:
            if self._failure is None:
                self.flush()
                self._sync_mark()
        finally:
            self._is_closed = True
            self._segment.close()
            self._mark_file.close()
            if self._spare is not None:
                self._spare.close()
            self._unlock()

    def _sync_mark(self) -> None:
        try:
            self._mark_file.sync()
        except OSError as error:
            raise self._failed(error, MARK, "cannot be written") from error

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        assert not self._is_closed, "the journal has been closed"

    def _failed(self, error: OSError, name: str, what: str) -> JournalError:
        self._failure = explained(error, self.path / name, what)
        return self._failure


def open_journal(directory: Path, broker: str) -> Journal:
    """Open the journal in that directory, or make one there. Raises `JournalError`."""
    made(directory)
    descriptor = lock(directory)
    try:
        files = SystemFiles.of(directory)
        segment_bytes = _fitting(directory)
        identity = identify(files, broker)
    except OSError as error:
        os.close(descriptor)
        raise explained(error, directory, "cannot be opened") from error
    except JournalError:
        os.close(descriptor)
        raise

    def unlock() -> None:
        files.close()
        os.close(descriptor)

    try:
        return opened_in(files, identity, segment_bytes, unlock=unlock)
    except BaseException:
        unlock()
        raise


def _fitting(directory: Path) -> int:
    """Return how large segments should be on this file system."""
    system = os.statvfs(directory)
    part = system.f_bavail * system.f_frsize // _PART_OF_FREE // PAGE_BYTES * PAGE_BYTES
    return min(SEGMENT_BYTES_MAX, max(SEGMENT_BYTES_MIN, part))


def opened_in(
    files: Files,
    identity: Identity,
    segment_bytes: int,
    *,
    fresh: Callable[[int], bytes] = secrets.token_bytes,
    unlock: Callable[[], None] = lambda: None,
) -> Journal:
    """Open the journal of a directory that is ours; repair what a crash has left. Raises `JournalError`."""
    try:
        found = recover(files, identity.id)
        _tidy(files, found)
        mark_file = _marked(files, identity.id, found)
        segment = _tail(files, identity.id, found, segment_bytes, fresh)
        mark_file.write(0, [mark(identity.id, found.recovered.last)])
    except OSError as error:
        raise explained(error, files.path, "the journal cannot be opened") from error
    last = found.recovered.last
    return Journal(
        found.recovered,
        identity.incarnation,
        files,
        identity.id,
        segment_bytes,
        fresh,
        unlock,
        segment,
        mark_file,
        appended=last,
        synced=last,
    )


def _tidy(files: Files, found: Found) -> None:
    """Remove what was never finished, and set aside what is damaged."""
    names = files.names()
    for name in names:
        if name.endswith(SPARE_SUFFIX):
            files.remove(name)
    for upto in numbers(names, SNAPSHOT):
        if upto > found.recovered.upto:
            name = name_of(upto, SNAPSHOT)
            files.rename(name, name + _DAMAGED_SUFFIX)


def _marked(files: Files, journal_id: bytes, found: Found) -> OpenFile:
    """Return the file of the mark; make it if it is not there or says nothing."""
    if MARK not in files.names() or not found.mark:
        write_aside(files, MARK, [mark(journal_id, found.mark)])
    return files.open(MARK)


def _tail(
    files: Files, journal_id: bytes, found: Found, segment_bytes: int, fresh: Callable[[int], bytes]
) -> Segment:
    """Return the segment to go on with, after everything in it is on disk for sure."""
    first = found.recovered.last + 1
    if found.tail is None:
        return begin(files, journal_id, files.reserve(SPARE, segment_bytes), first, fresh(_SALT_BYTES))
    tail = found.tail
    name = name_of(tail.head.first, SEGMENT)
    file = files.open(name)
    _settle(file, tail, is_certain=tail.last <= found.mark)
    return Segment(name, tail.head.size_bytes, tail.end, tail.head.salt, file)


def _settle(file: OpenFile, tail: Walk, *, is_certain: bool) -> None:
    """Make the tail as if the crash had come a moment earlier, or later."""
    if not is_certain and tail.start_of_last:
        # It was read, but perhaps from memory alone; after a failed sync the system may take it for written.
        # Only writing it again puts it on disk.
        file.write(tail.start_of_last, [file.read(tail.start_of_last, tail.end - tail.start_of_last)])
    if not tail.is_clean:
        file.write(tail.end, [bytes(tail.dirty_end - tail.end)])
    file.sync()
