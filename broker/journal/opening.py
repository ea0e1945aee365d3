"""Opening a journal: its owner, its content, and the repair of a torn write after a crash.

Law: an error is raised before anything is changed. A crash in the middle of a repair leaves nothing worse.
"""

import os
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from broker.journal.errors import JournalError, explained
from broker.journal.files import Files, OpenFile, SystemFiles
from broker.journal.identity import SPARE_SUFFIX, Identity, identify, lock, made, write_aside
from broker.journal.journal import SALT_BYTES, Journal
from broker.journal.layout import PAGE_BYTES, SEGMENT, SNAPSHOT, mark, name_of, numbers
from broker.journal.recovery import MARK, Found, recover
from broker.journal.segments import SPARE, Segment, begin
from broker.journal.walk import JournalWalk

SEGMENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Made in some ten milliseconds on a fast disk, and filled in a second by a busy broker."""

SEGMENT_BYTES_MIN: Final = 1024 * 1024
"""On a small file system; still many batches, and more than any record."""

_PART_OF_FREE: Final = 16
"""A segment is at most this part of what is free when the journal is opened."""

_DAMAGED_SUFFIX: Final = ".damaged"


def open_journal(directory: Path, broker: str) -> Journal:
    """Open the journal in that directory, or make one there. Raises `JournalError`."""
    made(directory)
    try:
        files = SystemFiles.of(directory)
    except OSError as error:
        raise explained(error, directory, "cannot be opened") from error
    with ExitStack() as opened:
        opened.callback(files.close)
        opened.callback(os.close, lock(directory, files.directory))
        try:
            if files.displaced():
                raise JournalError(
                    f"{directory}: was exchanged for another directory while it was opened: start the broker "
                    "again when nobody does that any more",
                    str(directory),
                )
            segment_bytes = _fitting(directory)
            identity = identify(files, broker)
        except OSError as error:
            raise explained(error, directory, "cannot be opened") from error
        return opened_in(files, identity, segment_bytes, unlock=opened.pop_all().close)


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
    """Open the journal of a locked directory; repair what a crash has left. Raises `JournalError`."""
    with ExitStack() as opened:
        try:
            found = recover(files, identity.id)
            _tidy(files, found)
            mark_file = _marked(files, identity.id, found)
            opened.callback(mark_file.close)
            segment = _tail(files, identity.id, found, segment_bytes, fresh)
            opened.callback(segment.close)
            mark_file.write(0, [mark(identity.id, found.recovered.last)])
        except OSError as error:
            raise explained(error, files.path, "the journal cannot be opened") from error
        opened.pop_all()
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
    """Return the file of the mark; make it if it is missing or empty."""
    if MARK not in files.names() or not found.mark:
        write_aside(files, MARK, [mark(journal_id, found.mark)])
    return files.open(MARK)


def _tail(
    files: Files, journal_id: bytes, found: Found, segment_bytes: int, fresh: Callable[[int], bytes]
) -> Segment:
    """Return the segment to go on with, after everything in it is on disk for sure."""
    first = found.recovered.last + 1
    if found.tail is None:
        return begin(files, journal_id, files.reserve(SPARE, segment_bytes), first, fresh(SALT_BYTES))
    tail = found.tail
    name = name_of(tail.head.first, SEGMENT)
    file = files.open(name)
    _settle(file, tail, is_certain=tail.last <= found.mark)
    return Segment(name, tail.head.size_bytes, tail.end, tail.head.salt, file)


def _settle(file: OpenFile, tail: JournalWalk, *, is_certain: bool) -> None:
    """Make the tail as if the crash had come a moment earlier, or later."""
    if not is_certain and tail.start_of_last:
        # It was read, but perhaps from memory alone; after a failed sync the system may take it for written.
        # Only writing it again puts it on disk.
        file.write(tail.start_of_last, [file.read(tail.start_of_last, tail.end - tail.start_of_last)])
    if not tail.is_clean:
        file.write(tail.end, [bytes(tail.dirty_end - tail.end)])
    file.sync()
