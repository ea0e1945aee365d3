"""The segment that is written to: one batch behind the other, one sync each.

Laws:

1. A segment gets its name when it is begun: its head is synced first, then it is renamed, then the directory
   is synced. So a segment with a name has a sound head, and all that came before it is on disk.
2. A batch is written only after the one before it has been synced. So a crash leaves at most one batch that
   is not whole, and nothing behind it.
"""

from collections.abc import Sequence

from attrs import define

from broker.journal.files import Files, OpenFile
from broker.journal.layout import (
    FORMAT,
    PAGE_BYTES,
    SEGMENT,
    SegmentHead,
    batch_parts,
    batch_size_bytes,
    name_of,
    segment_head,
)

SPARE = "spare.new"
"""The room for the next segment, until that is begun."""


@define(eq=False)
class Segment:
    """An open segment; the next batch begins at `end`."""

    name: str
    size_bytes: int
    end: int
    _salt: bytes
    _file: OpenFile

    @property
    def rest_bytes(self) -> int:
        """The bytes that still fit."""
        return max(0, self.size_bytes - self.end)

    @property
    def is_removed(self) -> bool:
        """Return whether its file has been removed."""
        return self._file.is_removed

    def fits(self, records: Sequence[bytes]) -> bool:
        """Return whether these would fit as one batch."""
        return batch_size_bytes(records) <= self.rest_bytes

    def write(self, first: int, records: Sequence[bytes]) -> int:
        """Write one batch and sync it; return how many bytes that took. Raises `OSError`."""
        parts = batch_parts(self._salt, self.end, first, records)
        self._file.write(self.end, parts)
        self._file.sync()
        written_bytes = sum(map(len, parts))
        self.end += written_bytes
        return written_bytes

    def close(self) -> None:
        """Close the file; everything written is on disk."""
        self._file.close()


def capacity_for(records: Sequence[bytes]) -> int:
    """Return how large a segment must be to hold these as one batch."""
    return PAGE_BYTES + batch_size_bytes(records)


def begin(files: Files, journal_id: bytes, spare: OpenFile, first: int, salt: bytes) -> Segment:
    """Make the reserved room the segment that begins with this record. Raises `OSError`."""
    head = SegmentHead(FORMAT, first, spare.size_bytes, salt)
    spare.write(0, [segment_head(journal_id, head)])
    spare.sync()
    name = name_of(first, SEGMENT)
    files.rename(SPARE, name)
    files.sync()
    return Segment(name, head.size_bytes, PAGE_BYTES, salt, spare)
