"""The matching events of one cache for one question, searched in steps, so that no step takes long.

Laws.

1. An excerpt is of the moment in which it was made. What is kept later changes nothing in it; what is
   forgotten later may be missing in it, and then it is not whole (`broker.replay.retention`).
2. An open excerpt is a cursor: it has no part of what it has found or will find.
3. A step looks at a limited number of events and bytes, and so does every call of it.
"""

from collections.abc import Iterator
from typing import Final

from attrs import define, field

from broker.filters import Filter
from broker.replay.bounds import Item
from broker.replay.cache import NOTHING_CACHED_NS, Cache
from broker.replay.retention import COST_BYTES, Cursor
from broker.replay.time_index import Entry, Key, key_of

LAST_RUN: Final = 2**64 - 1
"""Behind every run: nothing is asked for by its position."""


@define(eq=False)
class Excerpt:
    """The matching events of a cache, in their order or (newest first) in the opposite one.

    `is_over` is whether all has been taken; `found` is the next one, if it was found and has not been taken.
    """

    filter: Filter
    cache: Cache = field(repr=False)
    cursor: Cursor
    found: Key | None = None
    is_over: bool = False

    @classmethod
    def of(  # noqa: PLR0913 - what a question says
        cls,
        cache: Cache,
        content: Filter,
        since_ns: int,
        *,
        newest_first: bool,
        first: int = LAST_RUN,
        low_ns: int = NOTHING_CACHED_NS,
    ) -> "Excerpt":
        """Return the matching events that are not older than this, or in the runs from `first` on.

        No event of those runs is before `low_ns`. The excerpt has to be closed.
        """
        start_ns = min(since_ns, low_ns)
        cursor = cache.retention.open(cache.next_number, start_ns, newest_first=newest_first)
        cursor.asked_ns, cursor.first = since_ns, first
        return cls(content, cache, cursor)

    @property
    def newest_first(self) -> bool:
        """Return whether the newest event comes first."""
        return self.cursor.newest_first

    @property
    def is_searching(self) -> bool:
        """Return whether the next event, if there is one, is still to be found."""
        return self.found is None and not self.is_over

    @property
    def is_whole(self) -> bool:
        """Return whether no event was lost before it was looked at."""
        return self.cursor.is_whole

    def close(self) -> None:
        """End the excerpt: it looks at nothing more."""
        self.cache.retention.close(self.cursor)

    def read(self, count: int) -> "ExcerptReading":
        """Begin a step that looks at so many more."""
        return ExcerptReading.of(self, count)


@define(eq=False)
class ExcerptReading:
    """One step of an excerpt: `head` is the next event, None if there is none, or none in this step."""

    _excerpt: Excerpt
    _left: int
    _walk: Iterator[Entry]
    head: Entry | None = None

    @classmethod
    def of(cls, excerpt: Excerpt, count: int) -> "ExcerptReading":
        """Begin where the last step has ended."""
        cache, cursor, found = excerpt.cache, excerpt.cursor, excerpt.found
        if excerpt.is_over:
            return cls(excerpt, 0, iter(()))
        left = cache.retention.catch_up(cache.runs, cursor.upto, count)
        step = cls(excerpt, left, cache.retention.walk(cursor))
        if found is not None:
            step.head = cache.retention.find(found)
        if step.head is None:
            step._look()
        return step

    def take(self) -> Item:
        """Return the next event, and look for the one behind it."""
        assert self.head is not None, "the caller has seen that there is one"
        at_ns, sequence, run, start = self.head
        self._look()
        return at_ns, run.publisher, sequence, run.frames[start : run.stop_of(start)]

    def _look(self) -> None:
        """Look for the next one that matches, as far as the step goes."""
        excerpt, entry = self._excerpt, None
        cursor, matches = excerpt.cursor, excerpt.filter.compiled()
        self.head = excerpt.found = None
        while self._left > 0 and self.head is None:
            entry = next(self._walk, None)
            if entry is None or entry[0] < cursor.since_ns:
                excerpt.is_over = True
                excerpt.close()
                return
            at_ns, _, run, start = entry
            stop = run.stop_of(start)
            self._left -= 1 + (stop - start) // COST_BYTES
            if cursor.wants(at_ns, run) and matches(run.attributes(start, stop)):
                self.head = entry
        if entry is not None:
            cursor.key = key_of(entry)
        if self.head is not None:
            excerpt.found = cursor.key
