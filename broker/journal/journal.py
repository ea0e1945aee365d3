"""A broker's journal: its inputs, on disk before any peer gets their effects.

Laws:

1. Records are numbered from 1. `append` puts one into memory; `flush` gets everything appended to disk, batch
   by batch, one sync each; `synced` says how far that is.
2. One thread may append while another flushes, a third makes room and a fourth writes a snapshot.
3. Room is made ahead: while a segment is filled, the next one waits beside it, full of zeros. Until it does,
   `has_room` is false when only half a segment is left: granted credit, and the control messages of the
   overlay, still fit. If the disk has no room for it, the journal `is_full` then, until it has.
4. After a failed write or sync the content of the disk is unknown, and a second sync could report a false
   success. So every later call raises the same error. Opening the journal again reads what is on disk.
5. When a file cannot be opened because too many are (`EMFILE`), nothing has happened: it is tried again
   later, like the room of law 3. Only a `flush` that needs the next segment waits for it.
6. No record is `synced` in a directory that has been moved or deleted for longer than `CHECK_S`.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Final

import structlog
from attrs import define, field

from broker.journal.descriptors import DESCRIPTOR_ERRORS
from broker.journal.errors import ROOM_ERRORS, JournalError, explained
from broker.journal.files import Files, OpenFile
from broker.journal.layout import SNAPSHOT, mark, name_of
from broker.journal.recovery import MARK, Recovered
from broker.journal.segments import SPARE, Segment, begin, capacity_for
from broker.journal.snapshots import prune, write_snapshot

BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""What collects beyond this while a sync takes long goes into a batch of its own: each is read at once."""

CHECK_S: Final = 1.0
"""How often a sync looks whether the directory is still where it was."""

RETRY_S: Final = 0.1
"""How often a flush that waits for a descriptor tries again."""

CLOSING_S: Final = 5.0
"""How long it tries when the journal is to be closed: by then the broker has closed what it had open."""

SALT_BYTES: Final = 16

_log = structlog.get_logger()


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
    _snapshot_at_s: float = field(factory=monotonic, init=False)
    _pending: deque[bytes] = field(factory=deque, init=False)
    _appended_bytes: int = field(default=0, init=False)
    _taken_bytes: int = field(default=0, init=False)
    _rest_bytes: int = field(default=0, init=False)
    _spare_bytes: int = field(default=0, init=False)
    _spare: OpenFile | None = field(default=None, init=False)
    _failure: JournalError | None = field(default=None, init=False)
    _is_short: bool = field(default=False, init=False)
    _is_starved: bool = field(default=False, init=False)
    _checked_at_s: float = field(factory=monotonic, init=False)
    _gives_up_at_s: float = field(default=inf, init=False)
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
        if monotonic() - self._checked_at_s >= CHECK_S:
            self._check_files()
        # The mark is written before any acknowledgement leaves.
        synced = self.synced + len(records)
        self._mark_file.write(0, [mark(self._id, synced)])
        self.synced = synced

    def _begin_next(self, records: list[bytes]) -> None:
        """Begin another segment, however long it takes to get a descriptor for it (law 5)."""
        while not self._has_begun(capacity_for(records)):
            sleep(RETRY_S)
        self._check_files()

    def _has_begun(self, needed_bytes: int) -> bool:
        with self._making:
            spare, self._spare = self._spare, None
            if spare is None or spare.size_bytes < needed_bytes:
                if spare is not None:
                    spare.close()
                self._spare_bytes = 0
                try:
                    spare = self._files.reserve(SPARE, max(needed_bytes, self._segment_bytes))
                except OSError as error:
                    if monotonic() >= self._gives_up_at_s or not self._comes_later(error, DESCRIPTOR_ERRORS):
                        raise
                    return False
            filled = self._segment
            self._segment = begin(self._files, self._id, spare, self.synced + 1, self._fresh(SALT_BYTES))
            filled.close()
            self._spare_bytes = 0
            self._comes_now()
            return True

    def _comes_later(self, error: OSError, expected: frozenset[int]) -> bool:
        """Return whether a failed operation is to be tried again; log that once."""
        if error.errno in DESCRIPTOR_ERRORS and not self._is_starved:
            self._is_starved = True
            _log.warning(
                "journal has no file descriptor for its next file, and asks again until it has",
                journal=str(self.path),
                reason=error.strerror,
            )
        return error.errno in expected

    def _comes_now(self) -> None:
        """Clear the lack of room and of descriptors: there is a segment to write to."""
        self._is_short = False
        if self._is_starved:
            self._is_starved = False
            _log.info("journal has a file descriptor again", journal=str(self.path))

    def check(self) -> None:
        """Make sure that the directory is where the next start will look for it. Raises `JournalError`."""
        self._check()
        self._end_if(self._files.displaced())

    def _check_files(self) -> None:
        """The same, and that what is written to is in it; for the thread that writes."""
        self.check()
        self._checked_at_s = monotonic()
        if self._segment.is_removed or self._mark_file.is_removed:
            self._end_if("is there, but files in it were deleted")

    def _end_if(self, what: str) -> None:
        if what:
            self._failure = self._displaced(what)
            raise self._failure

    def _displaced(self, what: str) -> JournalError:
        return JournalError(
            f"{self.path}: the journal's directory {what} while the broker used it: put it back, for "
            "everything that was acknowledged is in it, and start the broker again; or start with an empty "
            "one: the broker then comes back without its memory",
            str(self.path),
        )

    @property
    def has_room(self) -> bool:
        """Return whether more credit may be granted: there is more room than the granted credit may need."""
        waiting_bytes = self._appended_bytes - self._taken_bytes
        return self._rest_bytes + self._spare_bytes - waiting_bytes >= self._segment_bytes // 2

    @property
    def is_full(self) -> bool:
        """Return whether publications must be refused: no segment is reserved and room is short."""
        return self._is_short and not self.has_room

    @property
    def room_bytes(self) -> int:
        """The bytes that can be written before the next segment is needed."""
        return self._rest_bytes + self._spare_bytes

    @property
    def wants_room(self) -> bool:
        """Return whether no next segment is reserved."""
        return self._spare is None

    def make_room(self) -> bool:
        """Reserve the next segment; blocks. Return whether it is there. Raises `JournalError`."""
        with self._making:
            self._check()
            if self._spare is None:
                try:
                    self._spare = self._files.reserve(SPARE, self._segment_bytes)
                except OSError as error:
                    if self._comes_later(error, ROOM_ERRORS | DESCRIPTOR_ERRORS):
                        self._is_short = True
                        return False
                    raise self._failed(error, SPARE, "cannot be made") from error
                self._spare_bytes = self._spare.size_bytes
                self._comes_now()
            return True

    def snapshot(self, content: bytes, upto: int) -> bool:
        """Keep a snapshot of the state after that record, and drop what it makes superfluous; blocks.

        Return whether there was room for it. Raises `JournalError`.
        """
        assert 0 <= upto <= self.appended
        if upto > self.synced:
            self.flush()
        with self._picturing:
            self._check()
            try:
                write_snapshot(self._files, self._id, content, upto)
                self.check()
                self._prune()
            except OSError as error:
                if self._comes_later(error, ROOM_ERRORS | DESCRIPTOR_ERRORS):
                    return False
                raise self._failed(error, name_of(upto, SNAPSHOT), "cannot be written") from error
            self.snapshots += 1
            self._snapshot_at_s = monotonic()
            return True

    def _prune(self) -> None:
        try:
            prune(self._files)
        except OSError as error:
            # The snapshot is there; what it makes superfluous goes with the next one.
            if not self._comes_later(error, DESCRIPTOR_ERRORS):
                raise

    @property
    def snapshot_age_s(self) -> float:
        """Return how long ago the last snapshot was written, or the journal opened if none was since."""
        return monotonic() - self._snapshot_at_s

    @property
    def size_bytes(self) -> int:
        """Return the bytes that the directory holds. Raises `OSError`."""
        return self._files.used_bytes()

    def close(self) -> None:
        """Write and sync all appended records, and close the directory. Raises `JournalError`."""
        if self._is_closed:
            return
        self._gives_up_at_s = monotonic() + CLOSING_S
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
        displaced = ""
        with suppress(OSError):
            displaced = self._files.displaced()
        self._failure = self._displaced(displaced) if displaced else explained(error, self.path / name, what)
        return self._failure
