"""An index of the events of a cache, in the order in which they are replayed. No I/O.

Laws.

1. The order is that of items: time, publisher, sequence number.
2. An entry takes `ENTRY_BYTES`, however large its event is. There is one index for all questions.
3. Adding and removing moves at most the entries of one block.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from attrs import define, field

from broker.replay.kept import CachedRun

BLOCK_COUNT_MAX: Final = 1024
"""A full block is halved: few enough that moving them costs as much as finding the block."""

CHUNK_COUNT: Final = 64
"""So many entries are taken out of a block at a time: a step may end soon."""

ENTRY_BYTES: Final = 28
"""Time, sequence number and run take eight bytes each, the position in the run takes four."""

Key = tuple[int, str, int]
"""The beginning of an `Item`, by which items are ordered."""

Entry = tuple[int, int, CachedRun, int]
"""An event: its time, its sequence number, its run, and where its frame begins in there."""


def key_of(entry: Entry) -> Key:
    """Return the key of an entry."""
    at_ns, sequence, run, _ = entry
    return at_ns, run.publisher, sequence


@define(eq=False)
class _Block:
    """Consecutive entries, as columns."""

    times: "array[int]" = field(factory=lambda: array("Q"))
    sequences: "array[int]" = field(factory=lambda: array("Q"))
    starts: "array[int]" = field(factory=lambda: array("I"))
    runs: list[CachedRun] = field(factory=list)

    def key(self, index: int) -> Key:
        return self.times[index], self.runs[index].publisher, self.sequences[index]

    def forwards(self, first: int) -> Iterator[Entry]:
        """Yield the entries from this index on."""
        for start in range(first, len(self.runs), CHUNK_COUNT):
            yield from self._chunk(slice(start, start + CHUNK_COUNT))

    def backwards(self, end: int) -> Iterator[Entry]:
        """Yield the entries before this index, the last one first."""
        for stop in range(end, 0, -CHUNK_COUNT):
            yield from reversed(list(self._chunk(slice(max(0, stop - CHUNK_COUNT), stop))))

    def _chunk(self, indices: slice) -> Iterator[Entry]:
        columns = self.times, self.sequences, self.runs, self.starts
        return zip(*[column[indices] for column in columns], strict=True)

    def index_of(self, key: Key) -> int:
        """Return the index of the first entry that is not before the key."""
        low = bisect_left(self.times, key[0])
        high = bisect_right(self.times, key[0], low)
        return bisect_left(range(high), key, low, high, key=self.key)

    def has(self, key: Key, index: int) -> bool:
        return index < len(self.runs) and self.key(index) == key

    def append(self, entry: Entry) -> None:
        at_ns, sequence, run, start = entry
        self.times.append(at_ns)
        self.sequences.append(sequence)
        self.runs.append(run)
        self.starts.append(start)

    def insert(self, index: int, entry: Entry) -> None:
        at_ns, sequence, run, start = entry
        self.times.insert(index, at_ns)
        self.sequences.insert(index, sequence)
        self.runs.insert(index, run)
        self.starts.insert(index, start)

    def remove(self, index: int) -> None:
        del self.times[index], self.sequences[index], self.starts[index], self.runs[index]

    def upper_half(self) -> "_Block":
        """Take the upper half of the entries out of the block, and return them as another."""
        half = len(self.runs) // 2
        upper = _Block(self.times[half:], self.sequences[half:], self.starts[half:], self.runs[half:])
        del self.times[half:], self.sequences[half:], self.starts[half:], self.runs[half:]
        return upper


@define(eq=False)
class TimeIndex:
    """Entries in order, in blocks; none of the blocks is empty."""

    _blocks: list[_Block] = field(factory=list, repr=False)
    _firsts: list[Key] = field(factory=list, repr=False)
    _last: Key = (0, "", 0)
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def _number_of(self, key: Key) -> int:
        """Return the number of the block that has the key, if any does."""
        return max(0, bisect_right(self._firsts, key) - 1)

    def add(self, run: CachedRun) -> None:
        """Add the events of a run."""
        for at_ns, sequence, start in run.events():
            self._add((at_ns, sequence, run, start))
            self._count += 1

    def _add(self, entry: Entry) -> None:
        key = key_of(entry)
        if not self._blocks or key > self._last:
            self._append(key, entry)
            return
        number = self._number_of(key)
        block = self._blocks[number]
        block.insert(block.index_of(key), entry)
        self._firsts[number] = block.key(0)
        if len(block.runs) > BLOCK_COUNT_MAX:
            upper = block.upper_half()
            self._blocks.insert(number + 1, upper)
            self._firsts.insert(number + 1, upper.key(0))

    def _append(self, key: Key, entry: Entry) -> None:
        """Add what comes behind all others, as most do."""
        if not self._blocks or len(self._blocks[-1].runs) == BLOCK_COUNT_MAX:
            self._blocks.append(_Block())
            self._firsts.append(key)
        self._blocks[-1].append(entry)
        self._last = key

    def remove(self, run: CachedRun) -> None:
        """Remove the events of a run."""
        for at_ns, sequence, _ in run.events():
            self._remove((at_ns, run.publisher, sequence))
            self._count -= 1

    def _remove(self, key: Key) -> None:
        number = self._number_of(key)
        block = self._blocks[number]
        index = block.index_of(key)
        assert block.has(key, index), "what is removed was added"
        block.remove(index)
        if block.runs:
            self._firsts[number] = block.key(0)
        else:
            del self._blocks[number], self._firsts[number]

    def find(self, key: Key) -> Entry | None:
        """Return the entry of that key, if there is one."""
        if not self._blocks:
            return None
        block = self._blocks[self._number_of(key)]
        index = block.index_of(key)
        return next(block.forwards(index)) if block.has(key, index) else None

    def after(self, key: Key) -> Iterator[Entry]:
        """Yield what comes behind the key; nothing may be added or removed meanwhile."""
        number = self._number_of(key)
        for block in self._blocks[number : number + 1]:
            index = block.index_of(key)
            yield from block.forwards(index + block.has(key, index))
        for block in self._blocks[number + 1 :]:
            yield from block.forwards(0)

    def before(self, key: Key) -> Iterator[Entry]:
        """Yield what comes before the key, backwards; nothing may be added or removed meanwhile."""
        number = self._number_of(key)
        for block in self._blocks[number : number + 1]:
            yield from block.backwards(block.index_of(key))
        for lower in range(number - 1, -1, -1):
            block = self._blocks[lower]
            yield from block.backwards(len(block.runs))
