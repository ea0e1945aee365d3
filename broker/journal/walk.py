"""Reading one segment: which batches are whole, and what is behind the last of them.

What a crash can leave, and what it cannot. A batch is written only when the one before it has been synced
(`broker.journal.segments`), each begins at a page of its own, and room is full of zeros before it is used. So
whenever the machine stops:

1. Every batch but the last one written is whole. Of the last one any part may be there: its pages reach the
   disk in any order, so its head may be missing while its middle is there, or the other way round.
2. Behind the last batch there is nothing: no batch begins there.

Hence a damaged batch with a batch *head* anywhere behind it is no torn write: that head was written when the
damaged batch was already on disk. A head cannot be taken for one by accident, nor by intent: its digest is
keyed with the segment's salt and its position. Conversely, without a head behind it, a damaged batch may be
the one that was being written, and is taken for that, unless the mark (`broker.journal.recovery`) covers it.
"""

from collections.abc import Iterator
from typing import Final

from attrs import define, frozen

from broker.journal.files import OpenFile
from broker.journal.layout import (
    PAGE_BYTES,
    JournalBatch,
    SegmentHead,
    read_batch_head,
    read_segment_head,
    records_in,
)

_SIZE_BYTES_MAX: Final = 2**32
"""No segment is larger; a head that says so would have to be forged."""


@frozen
class _Found:
    """A batch and where it begins."""

    start: int
    batch: JournalBatch

    @property
    def last(self) -> int:
        return self.batch.first + self.batch.count - 1


@define(eq=False)
class JournalWalk:
    """What was found in a segment.

    `last` is the last record of the last whole batch, which begins at `start_of_last`; the next one would
    begin at `end`. `dirty_end` is where the last byte behind it is that is not zero (`end` if there is none).
    `later_last` is the last record that a head behind the damage names, and `later_start` where that is.
    """

    head: SegmentHead
    last: int
    end: int
    start_of_last: int
    size_bytes: int
    dirty_end: int
    later_last: int = 0
    later_start: int = 0

    @property
    def is_clean(self) -> bool:
        """Return whether there is nothing behind the last whole batch."""
        return self.dirty_end == self.end

    @property
    def is_short(self) -> bool:
        """Return whether the file is shorter than it was made."""
        return self.size_bytes < self.head.size_bytes


def read_head(file: OpenFile, journal_id: bytes) -> SegmentHead | None:
    """Return the head of the segment, or None if its first page is damaged."""
    return read_segment_head(journal_id, file.read(0, PAGE_BYTES))


def _content(file: OpenFile, head: SegmentHead) -> bytes:
    return file.read(0, min(head.size_bytes, _SIZE_BYTES_MAX))


def _batches(content: bytes, head: SegmentHead, covered: int) -> Iterator[_Found]:
    """Yield the whole batches from the first on; those that a snapshot covers are not looked at inside."""
    start, number = PAGE_BYTES, head.first
    while batch := read_batch_head(head.salt, content, start):
        found = _Found(start, batch)
        is_needed = found.last > covered
        if batch.first != number or (is_needed and batch.content(content, start) is None):
            return
        yield found
        start += batch.size_bytes
        number += batch.count


def walk(file: OpenFile, head: SegmentHead, covered: int) -> JournalWalk:
    """Look at a whole segment; records up to `covered` are in a snapshot. Raises `OSError`."""
    content = _content(file, head)
    last, end, start_of_last = head.first - 1, PAGE_BYTES, 0
    for found in _batches(content, head, covered):
        last, start_of_last = found.last, found.start
        end = found.start + found.batch.size_bytes
    dirty_end = max(end, len(content.rstrip(b"\0")))
    result = JournalWalk(head, last, end, start_of_last, len(content), dirty_end)
    for start in range(end + PAGE_BYTES, dirty_end, PAGE_BYTES):
        if later := read_batch_head(head.salt, content, start):
            result.later_last = max(result.later_last, _Found(start, later).last)
            result.later_start = result.later_start or start
    return result


def read_records(file: OpenFile, head: SegmentHead, covered: int, upto: int) -> Iterator[bytes]:
    """Yield the records after `covered` and up to `upto`. Raises `OSError`."""
    content = _content(file, head)
    for found in _batches(content, head, covered):
        if found.last <= covered or found.batch.first > upto:
            continue
        inner = found.batch.content(content, found.start)
        assert inner is not None, "the batches were checked when the journal was opened"
        for number, record in enumerate(records_in(inner), found.batch.first):
            if number > covered:
                yield record
