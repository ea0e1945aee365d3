"""The bytes of a journal's files, and the names of numbered ones: they sort as their numbers do.

    N.segment     page 0: magic, version, first record number, size, salt, digest
                  then batches, each from the beginning of a page:
                      head: magic, content's length, records, first record's number, content's CRC, digest
                      content: for each record its length and its bytes
                  then zeros to the end: room for what comes
    N.snapshot    head: magic, version, last record covered, content's length, digests; then the content
    synced        magic, number of a record that is known to be on disk, digest

Laws:

1. Every digest is keyed with the journal's id, and that of a batch with its segment's salt and its position:
   bytes of another journal, another segment, or another position are never taken for a batch here, even if
   they are published as an event.
2. Batches begin at pages, so a page that has been synced is never written again.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from zlib import crc32

from attrs import frozen

FORMAT: Final = 1
"""A journal of another version is not read."""

NUMBER_MAX: Final = 2**62 + 2**61
"""No journal gets that far, and what follows still fits the fields: a larger number is damage."""

PAGE_BYTES: Final = 4096
"""What systems and disks write at least."""

_DIGEST_BYTES: Final = 8
_CONTENT_DIGEST_BYTES: Final = 16

_LENGTH: Final = struct.Struct(">I")
_BATCH: Final = struct.Struct(">4sIIQI")
_SEGMENT: Final = struct.Struct(">8sIQQ16s")
_SNAPSHOT: Final = struct.Struct(">8sIQQ16s")
_MARK: Final = struct.Struct(">8sQ")

_BATCH_MAGIC: Final = b"BTCH"
_SEGMENT_MAGIC: Final = b"CONCSEGM"
_SNAPSHOT_MAGIC: Final = b"CONCSNAP"
_MARK_MAGIC: Final = b"CONCSYNC"

_BATCH_HEAD_BYTES: Final = _BATCH.size + _DIGEST_BYTES
_SEGMENT_HEAD_BYTES: Final = _SEGMENT.size + _DIGEST_BYTES
SNAPSHOT_HEAD_BYTES: Final = _SNAPSHOT.size + _DIGEST_BYTES
MARK_BYTES: Final = _MARK.size + _DIGEST_BYTES


def _digest(content: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES, key=key).digest()


def _sealed(content: bytes, key: bytes) -> bytes:
    return content + _digest(content, key)


def _unsealed(content: bytes, layout: struct.Struct, key: bytes) -> tuple[object, ...] | None:
    """The fields of what `_sealed` has written, or None if it is anything else."""
    fields, digest = content[: layout.size], content[layout.size : layout.size + _DIGEST_BYTES]
    if len(digest) < _DIGEST_BYTES or digest != _digest(fields, key):
        return None
    return layout.unpack(fields)


def padded(size_bytes: int) -> int:
    """Return the size in whole pages."""
    return -(-size_bytes // PAGE_BYTES) * PAGE_BYTES


@frozen
class SegmentHead:
    """The head of a segment. `first` is the number of its first record."""

    version: int
    first: int
    size_bytes: int
    salt: bytes


def segment_head(journal_id: bytes, head: SegmentHead) -> bytes:
    """Return the beginning of a segment's first page."""
    fields = _SEGMENT.pack(_SEGMENT_MAGIC, head.version, head.first, head.size_bytes, head.salt)
    return _sealed(fields, journal_id)


def read_segment_head(journal_id: bytes, page: bytes) -> SegmentHead | None:
    """Return the head of a segment, or None if the page is no segment's of this journal."""
    match _unsealed(page[:_SEGMENT_HEAD_BYTES], _SEGMENT, journal_id):
        case (bytes(magic), int(version), int(first), int(size_bytes), bytes(salt)) if (
            magic == _SEGMENT_MAGIC and 0 < first <= NUMBER_MAX
        ):
            return SegmentHead(version, first, size_bytes, salt)
    return None


@frozen
class JournalBatch:
    """The head of a batch: its records are `first` to `first + count - 1`."""

    content_bytes: int
    count: int
    first: int
    checksum: int

    @property
    def size_bytes(self) -> int:
        """The bytes that it takes of the segment, in whole pages."""
        return padded(_BATCH_HEAD_BYTES + self.content_bytes)

    def content(self, segment: bytes, start: int) -> memoryview | None:
        """Return the content of the batch that begins there, or None if it is damaged or no such batch."""
        begin = start + _BATCH_HEAD_BYTES
        content = memoryview(segment)[begin : begin + self.content_bytes]
        if len(content) < self.content_bytes or crc32(content) != self.checksum:
            return None
        return content if self.count > 0 and _count_in(content) == self.count else None


def _place_key(salt: bytes, start: int) -> bytes:
    return salt + start.to_bytes(8, "big")


def batch_size_bytes(records: Sequence[bytes]) -> int:
    """Return what a batch of these records takes of the segment."""
    return padded(_BATCH_HEAD_BYTES + _LENGTH.size * len(records) + sum(map(len, records)))


def batch_head(salt: bytes, start: int, batch: JournalBatch) -> bytes:
    """Return the head of a batch that begins at `start`."""
    fields = _BATCH.pack(_BATCH_MAGIC, batch.content_bytes, batch.count, batch.first, batch.checksum)
    return _sealed(fields, _place_key(salt, start))


def batch_parts(salt: bytes, start: int, first: int, records: Sequence[bytes]) -> list[bytes]:
    """Return a batch that begins at `start`, in parts to be written one behind the other."""
    content = b"".join([part for record in records for part in (_LENGTH.pack(len(record)), record)])
    head = batch_head(salt, start, JournalBatch(len(content), len(records), first, crc32(content)))
    used_bytes = len(head) + len(content)
    return [head, content, bytes(padded(used_bytes) - used_bytes)]


def read_batch_head(salt: bytes, segment: bytes, start: int) -> JournalBatch | None:
    """Return the head of the batch that begins there, or None if none does."""
    # Most pages that are looked at are no heads: the magic spares them a digest.
    if segment[start : start + len(_BATCH_MAGIC)] != _BATCH_MAGIC:
        return None
    head = segment[start : start + _BATCH_HEAD_BYTES]
    match _unsealed(head, _BATCH, _place_key(salt, start)):
        case (_, int(content_bytes), int(count), int(first), int(checksum)):
            return JournalBatch(content_bytes, count, first, checksum)
    return None


def _count_in(content: memoryview) -> int:
    """Return how many records are there, one behind the other and nothing else; 0 if it is not so."""
    count = position = 0
    while position <= len(content) - _LENGTH.size:
        (size_bytes,) = _LENGTH.unpack_from(content, position)
        position += _LENGTH.size + size_bytes
        count += 1
    return count if position == len(content) else 0


def records_in(content: memoryview) -> Iterator[bytes]:
    """Yield the records of a batch."""
    position = 0
    while position < len(content):
        (size_bytes,) = _LENGTH.unpack_from(content, position)
        position += _LENGTH.size
        yield bytes(content[position : position + size_bytes])
        position += size_bytes


@frozen
class SnapshotHead:
    """The head of a snapshot: it covers the records up to `upto`."""

    version: int
    upto: int
    content_bytes: int
    digest: bytes

    @classmethod
    def of(cls, content: bytes, upto: int) -> "SnapshotHead":
        """Return the head of a snapshot with that content."""
        return cls(FORMAT, upto, len(content), _content_digest(content))

    def fits(self, content: bytes) -> bool:
        """Return whether it is the content that was written."""
        return len(content) == self.content_bytes and _content_digest(content) == self.digest


def _content_digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CONTENT_DIGEST_BYTES).digest()


def snapshot_head(journal_id: bytes, head: SnapshotHead) -> bytes:
    """Return the beginning of a snapshot's file."""
    fields = _SNAPSHOT.pack(_SNAPSHOT_MAGIC, head.version, head.upto, head.content_bytes, head.digest)
    return _sealed(fields, journal_id)


def read_snapshot_head(journal_id: bytes, content: bytes) -> SnapshotHead | None:
    """Return the head of a snapshot's file, or None if it is none of this journal."""
    match _unsealed(content[:SNAPSHOT_HEAD_BYTES], _SNAPSHOT, journal_id):
        case (bytes(magic), int(version), int(upto), int(size_bytes), bytes(digest)) if (
            magic == _SNAPSHOT_MAGIC and upto <= NUMBER_MAX
        ):
            return SnapshotHead(version, upto, size_bytes, digest)
    return None


def mark(journal_id: bytes, number: int) -> bytes:
    """Return the mark that the records up to this one are on disk."""
    return _sealed(_MARK.pack(_MARK_MAGIC, number), journal_id)


def read_mark(journal_id: bytes, content: bytes) -> int | None:
    """Return the number, or None if it is no mark of this journal."""
    match _unsealed(content, _MARK, journal_id):
        case (bytes(magic), int(number)) if magic == _MARK_MAGIC and number <= NUMBER_MAX:
            return number
    return None


SEGMENT: Final = ".segment"
"""The number is that of the first record."""

SNAPSHOT: Final = ".snapshot"
"""The number is that of the last record covered."""

_DIGITS: Final = 20
"""As many as the largest number has that fits the files' fields."""


def name_of(number: int, kind: str) -> str:
    """Return the name of the file of that kind and number."""
    return f"{number:0{_DIGITS}}{kind}"


def numbers(names: Iterable[str], kind: str) -> list[int]:
    """Return the numbers of the files of that kind, in order."""
    stems = [name.removesuffix(kind) for name in names if name.endswith(kind)]
    return sorted(int(stem) for stem in stems if len(stem) == _DIGITS and stem.isdecimal() and stem.isascii())
