"""The content of a journal when it is opened: the newest sound snapshot, the records after it, the damage.

Laws:

1. What a crash can have left is repaired and reported; anything else stops the start with a message that
   names the file, the position, and what can be done. `broker.journal.walk` argues which is which.
2. The file `synced` (the mark) has the number of a record that is known to be on disk. It is written after
   every sync, and never synced for its own sake: after a crash of the machine it may be older, never newer,
   than the truth. So a journal that ends before the mark has lost what was acknowledged, however
   much its end looks like a torn write.
3. Damage to records that a sound snapshot covers is harmless, and is only reported.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from broker.journal.errors import JournalError
from broker.journal.files import Files
from broker.journal.layout import (
    FORMAT,
    MARK_BYTES,
    SEGMENT,
    SNAPSHOT,
    SegmentHead,
    name_of,
    numbers,
    read_mark,
)
from broker.journal.snapshots import read_snapshot
from broker.journal.walk import JournalWalk, read_head, read_records, walk

MARK: Final = "synced"

_ADVICE: Final = (
    "restore it if there is a copy that is as new; or move the directory away and start with an empty one: "
    "the broker then comes back without its memory, and subscribers are told that something may be missing"
)


@frozen(eq=False)
class _Part:
    """A segment that is needed, and the last of its records that is."""

    name: str
    head: SegmentHead
    upto: int


@define(eq=False)
class Recovered:
    """The recovered memory of a broker: a snapshot, if there is one, and the records after it.

    `notes` say what was found wrong and put right, a sentence each.
    """

    snapshot: bytes | None
    upto: int
    last: int
    notes: list[str]
    _files: Files
    _parts: list[_Part]

    @property
    def count(self) -> int:
        """Return how many records there are after the snapshot."""
        return self.last - self.upto

    def forget(self) -> None:
        """Release the content of the snapshot: the state is in memory by now."""
        self.snapshot = None

    def records(self) -> Iterator[bytes]:
        """Yield the records after the snapshot, in order, one segment in memory at a time."""
        for part in self._parts:
            file = self._files.open(part.name)
            try:
                yield from read_records(file, part.head, self.upto, part.upto)
            finally:
                file.close()


@frozen(eq=False)
class Found:
    """What the journal goes on with. `tail` is the segment to be continued, if any can be."""

    recovered: Recovered
    mark: int
    tail: JournalWalk | None


@define(eq=False)
class _Search:
    files: Files
    journal_id: bytes
    mark: int = 0
    upto: int = 0
    snapshot: bytes | None = None
    notes: list[str] = field(factory=list)

    def path(self, name: str) -> Path:
        return self.files.path / name

    def refuse(self, name: str, what: str) -> JournalError:
        return JournalError(f"{self.path(name)}: {what}; {_ADVICE}", str(self.path(name)))

    def read_mark(self, names: list[str]) -> None:
        if MARK not in names:
            if numbers(names, SEGMENT):
                self.notes.append(f"{MARK} is missing: what was lost at the end would not be noticed")
            return
        file = self.files.open(MARK)
        try:
            number = read_mark(self.journal_id, file.read(0, MARK_BYTES))
        finally:
            file.close()
        if number is None:
            self.notes.append(f"{MARK} is damaged: what was lost at the end would not be noticed")
        else:
            self.mark = number

    def choose_snapshot(self, names: list[str]) -> None:
        """Take the newest that is sound, and set damaged ones aside."""
        for upto in reversed(numbers(names, SNAPSHOT)):
            self.snapshot = read_snapshot(self.files, self.journal_id, upto)
            if self.snapshot is not None:
                self.upto = upto
                return
            self.notes.append(
                f"{name_of(upto, SNAPSHOT)} is damaged: the one before it and the records are used"
            )

    def needed(self, names: list[str]) -> list[int]:
        """The segments that may have records after the snapshot; there is none between the two."""
        firsts = numbers(names, SEGMENT)
        while len(firsts) > 1 and firsts[1] <= self.upto + 1:
            del firsts[0]
        if firsts and firsts[0] > self.upto + 1:
            raise self.refuse(
                name_of(firsts[0], SEGMENT),
                f"begins with record {firsts[0]}, and nothing sound is there that has record {self.upto + 1}"
                + self._damaged_snapshots(),
            )
        return firsts

    def _damaged_snapshots(self) -> str:
        damaged = [note.partition(" ")[0] for note in self.notes if SNAPSHOT in note]
        return f" ({', '.join(damaged)}: damaged)" if damaged else ""

    def look(self, first: int) -> JournalWalk:
        """Walk one segment. Raises `JournalError` if its head is damaged."""
        name = name_of(first, SEGMENT)
        file = self.files.open(name)
        try:
            head = read_head(file, self.journal_id)
            if head is None or head.first != first:
                raise self.refuse(name, "is damaged at offset 0, where it should say what it is")
            if head.version != FORMAT:
                raise self.refuse(name, f"has format {head.version}, and this release reads format {FORMAT}")
            return walk(file, head, self.upto)
        finally:
            file.close()

    def check_inner(self, found: JournalWalk, next_first: int) -> None:
        """A segment with another behind it ends exactly where that begins."""
        if found.last == next_first - 1:
            return
        name = name_of(found.head.first, SEGMENT)
        raise self.refuse(
            name,
            f"is damaged at offset {found.end}: records {found.last + 1} to {next_first - 1} should be "
            f"there, and those from {next_first} on are in {name_of(next_first, SEGMENT)}, so this is no "
            "torn write",
        )

    def judge_tail(self, found: JournalWalk) -> bool:
        """Return whether the last segment can be continued; raise `JournalError` on any but a torn write."""
        name = name_of(found.head.first, SEGMENT)
        known = max(self.mark, found.later_last)
        if found.last < self.upto and known <= self.upto:
            self.notes.append(
                f"{name} is damaged at offset {found.end}: the snapshot covers everything that was there"
            )
            return False
        if found.later_last:
            raise self.refuse(
                name,
                f"is damaged at offset {found.end}: record {found.last + 1} should begin there, and the "
                f"batch at offset {found.later_start} was written later, so this is no torn write",
            )
        if found.last < self.mark:
            raise self.refuse(
                name,
                f"is damaged at offset {found.end}: records {found.last + 1} to {self.mark} were on disk, "
                "so this is no torn write",
            )
        if not found.is_clean:
            self.notes.append(
                f"{name} was cut at offset {found.end}: up to {found.dirty_end} a batch was begun and not "
                "finished, as a crash leaves it; nobody was told that it was taken"
            )
        if found.is_short:
            self.notes.append(
                f"{name} has {found.size_bytes} bytes and had {found.head.size_bytes}: goes on in another"
            )
        return not found.is_short


def recover(files: Files, journal_id: bytes) -> Found:
    """Read the directory, and change nothing. Raises `JournalError` or `OSError`."""
    names = files.names()
    search = _Search(files, journal_id)
    search.read_mark(names)
    search.choose_snapshot(names)
    firsts = search.needed(names)
    parts: list[_Part] = []
    found: JournalWalk | None = None
    for index, first in enumerate(firsts):
        found = search.look(first)
        if index + 1 < len(firsts):
            search.check_inner(found, firsts[index + 1])
        parts.append(_Part(name_of(first, SEGMENT), found.head, found.last))
    tail = found if found is not None and search.judge_tail(found) else None
    last = max(search.upto, found.last if found is not None else 0)
    if last < search.mark:
        raise search.refuse(MARK, f"records up to {search.mark} were on disk, and the files end with {last}")
    recovered = Recovered(search.snapshot, search.upto, last, search.notes, files, parts)
    return Found(recovered, search.mark, tail)
