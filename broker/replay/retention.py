"""The index that open questions share, and the runs that the cache has forgotten since they were asked.

Laws.

1. A cursor is all that an open question costs here: what it has to look at is that of all questions.
2. What the cache forgets while a question is open that has to look at it is retained, up to as much as the
   cache itself may have. Beyond that the oldest is lost, and every question that had not looked at it is not
   whole from then on. Whether the lost event would have matched is not asked.
3. What is retained is in the index. With the last question all of it goes. Without, the index stays for the
   next question until the cache has forgotten `IDLE_PART` of it: what is asked soon again finds it made.
4. No step adds more than its share to the index: what one step has not come to, the next one does.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import ClassVar, Final

from attrs import define, field

from broker.replay.kept import CachedRun
from broker.replay.time_index import Entry, Key, TimeIndex

COST_BYTES: Final = 1024
"""Looking at an event counts once by itself and once for each of these: large ones take longer."""

IDLE_PART: Final = 8
"""Taking out a part of so many costs less than a quarter of what making the index has cost."""

_BEHIND_ALL_NS: Final = 2**64 - 1
"""Later than any event."""


@define(eq=False)
class Cursor:
    """How far one question has looked: up to `key`.

    It is about what the cache had when it was asked: the runs before `upto` that were not yet forgotten when
    `forgotten` runs were. Of these it wants the events from `asked_ns` on and the runs from `first` on; none
    of both is before `since_ns`.
    """

    upto: int
    forgotten: int
    since_ns: int
    newest_first: bool
    key: Key
    is_whole: bool = True
    asked_ns: int = 0
    first: int = 0

    def is_about(self, run: CachedRun) -> bool:
        """Return whether the cache had the run when the question was asked."""
        return run.number < self.upto and (not run.forgotten or run.forgotten > self.forgotten)

    def wants(self, at_ns: int, run: CachedRun) -> bool:
        """Return whether an event of that time in that run is asked for."""
        return self.is_about(run) and (at_ns >= self.asked_ns or run.number >= self.first)

    def needs(self, run: CachedRun) -> bool:
        """Return whether an event of the run may not have been looked at."""
        if not self.wants(run.peak_ns, run):
            return False
        return run.floor_ns <= self.key[0] if self.newest_first else run.peak_ns >= self.key[0]


@define(eq=False)
class Retention:
    """The cursors of one cache's open questions, and the runs that they need."""

    DERIVED: ClassVar = frozenset({"_runs", "_index"})

    size_bytes_max: int = 0
    count_max: int = 0
    size_bytes: int = 0
    count: int = 0
    forgotten: int = 0
    _indexed: int = 0
    _wanted: int = 0
    _idle_count: int = 0
    _cursors: dict[Cursor, None] = field(factory=dict, repr=False)
    _runs: deque[CachedRun] = field(factory=deque, repr=False)
    _index: TimeIndex = field(factory=TimeIndex, repr=False)

    def __len__(self) -> int:
        return len(self._cursors)

    @property
    def runs(self) -> Sequence[CachedRun]:
        """Return the retained runs, in the order in which they were forgotten."""
        return self._runs

    @property
    def indexed_count(self) -> int:
        """Return how many events are in the index."""
        return len(self._index)

    def open(self, upto: int, since_ns: int, *, newest_first: bool) -> Cursor:
        """Return a cursor over the present runs of the cache, which are retained while it is open."""
        key = (_BEHIND_ALL_NS if newest_first else since_ns, "", 0)
        cursor = Cursor(upto, self.forgotten, since_ns, newest_first, key)
        self._cursors[cursor] = None
        self._wanted, self._idle_count = upto, 0
        return cursor

    def close(self, cursor: Cursor) -> None:
        """Close a cursor."""
        self._cursors.pop(cursor, None)
        if not self._cursors:
            self._wanted = 0
            if self._runs:
                self._forget_all()

    def _forget_all(self) -> None:
        self._indexed = self.size_bytes = self.count = 0
        self._runs.clear()
        self._index = TimeIndex()

    # --- what is retained ---

    def bound(self, size_bytes_max: int, count_max: int) -> None:
        """Set the limits, and drop what exceeds them."""
        self.size_bytes_max, self.count_max = size_bytes_max, count_max
        self._shrink()

    def retain(self, run: CachedRun) -> None:
        """Retain a run that the cache has just forgotten, if a cursor needs it."""
        if run.number >= self._wanted:
            self._leave_out(run)
            return
        if run.number >= self._indexed:
            self._index.add(run)
        self.forgotten += 1
        run.forgotten = self.forgotten
        self._runs.append(run)
        self.count += run.count
        self.size_bytes += len(run.frames)
        self._shrink()

    def _leave_out(self, run: CachedRun) -> None:
        """Take a run that no cursor needs out of the index (law 3)."""
        if run.number < self._indexed:
            self._index.remove(run)
            self._idle_count += run.count
            if self._idle_count * IDLE_PART > len(self._index):
                self._forget_all()

    def _shrink(self) -> None:
        while self.size_bytes > self.size_bytes_max or self.count > self.count_max:
            run = self._runs.popleft()
            self.count -= run.count
            self.size_bytes -= len(run.frames)
            self._index.remove(run)
            for cursor in self._cursors:
                if cursor.is_whole and cursor.needs(run):
                    cursor.is_whole = False

    # --- what is looked at ---

    def catch_up(self, kept: Sequence[CachedRun], upto: int, count: int) -> int:
        """Index the runs before `upto` that the cache has; return what is left of the count (law 4)."""
        if self._indexed >= upto:
            return count
        index = bisect_left(kept, self._indexed, key=attrgetter("number"))
        while count > 0 and index < len(kept) and kept[index].number < upto:
            run = kept[index]
            self._index.add(run)
            self._indexed = run.number + 1
            count -= run.count + len(run.frames) // COST_BYTES
            index += 1
        if index == len(kept) or kept[index].number >= upto:
            self._indexed = upto
        return count if self._indexed >= upto else 0

    def walk(self, cursor: Cursor) -> Iterator[Entry]:
        """Yield the entries behind the cursor in its direction, also those that are not its own."""
        return self._index.before(cursor.key) if cursor.newest_first else self._index.after(cursor.key)

    def find(self, key: Key) -> Entry | None:
        """Return the event of that key, unless it was lost."""
        return self._index.find(key)

    def restore(self, retained: Iterable[CachedRun], kept: Iterable[CachedRun]) -> None:
        """Restore what no snapshot contains."""
        self._runs, self._index = deque(retained), TimeIndex()
        for run in self._runs:
            self._index.add(run)
        for run in kept:
            if run.number < self._indexed:
                self._index.add(run)
