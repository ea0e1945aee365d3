"""Snapshots of the state, so that the records before them can be removed.

Laws:

1. A snapshot is written aside, synced, renamed, and the directory synced. Only then is anything removed.
2. Two are kept, and the records since the older one: if the newer is damaged, the older and the records
   give the same state.
"""

from itertools import pairwise
from typing import Final

from broker.journal.files import Files
from broker.journal.identity import write_aside
from broker.journal.layout import (
    FORMAT,
    SEGMENT,
    SNAPSHOT,
    SNAPSHOT_HEAD_BYTES,
    SnapshotHead,
    name_of,
    numbers,
    read_snapshot_head,
    snapshot_head,
)

KEPT: Final = 2
"""The newest, and one to fall back on."""


def write_snapshot(files: Files, journal_id: bytes, content: bytes, upto: int) -> None:
    """Write one; it is there when this returns. Raises `OSError`, and leaves nothing then."""
    head = snapshot_head(journal_id, SnapshotHead.of(content, upto))
    write_aside(files, name_of(upto, SNAPSHOT), [head, content])


def read_snapshot(files: Files, journal_id: bytes, upto: int) -> bytes | None:
    """Return the content of one, or None if it is damaged. Raises `OSError`."""
    file = files.open(name_of(upto, SNAPSHOT))
    try:
        head = read_snapshot_head(journal_id, file.read(0, SNAPSHOT_HEAD_BYTES))
        if head is None or (head.upto, head.version) != (upto, FORMAT):
            return None
        content = file.read(SNAPSHOT_HEAD_BYTES, min(head.content_bytes, file.size_bytes))
    finally:
        file.close()
    return content if head.fits(content) else None


def prune(files: Files) -> None:
    """Remove what the kept snapshots make superfluous. Raises `OSError`."""
    names = files.names()
    snapshots = numbers(names, SNAPSHOT)
    if len(snapshots) < KEPT:
        return
    oldest = snapshots[-KEPT]
    for upto in snapshots[:-KEPT]:
        files.remove(name_of(upto, SNAPSHOT))
    for first, next_first in pairwise(numbers(names, SEGMENT)):
        if next_first - 1 <= oldest:
            files.remove(name_of(first, SEGMENT))
