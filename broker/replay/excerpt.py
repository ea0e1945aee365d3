"""What one cache has for one question: looked for in steps, so that no step takes long.

Law: an excerpt is of the moment in which it was made. What is kept or forgotten later changes nothing in it.
"""

from collections.abc import Iterable

import cbor2
from attrs import define, field

from broker.filters import Filter
from broker.replay.cache import Kept
from broker.replay.item import Item
from broker.wire.header import HEADER, LENGTH_BYTES

_Run = tuple[int, int, bytes]
"""How many there are, the time before the first, and the frames. A plain value: a picture of an excerpt has
its own, and shares nothing with the cache."""

_Found = tuple[int, str, int, int, int, int]
"""The order of an item, then where it is: the number of its run, and from where to where in there."""


@define(eq=False)
class Excerpt:
    """The matching publications of some runs, in their order or (`newest_first`) in the opposite one."""

    filter: Filter
    since_ns: int
    newest_first: bool
    _runs: list[_Run | None] = field(repr=False)
    _looked_at: int = 0
    _found: list[_Found] = field(factory=list, repr=False)
    _given: int = 0

    @classmethod
    def of(cls, runs: Iterable[Kept], content: Filter, since_ns: int, *, newest_first: bool) -> "Excerpt":
        """What matches and is not older than this, of these runs."""
        return cls(content, since_ns, newest_first, [(run.count, run.floor_ns, run.frames) for run in runs])

    @property
    def is_searched(self) -> bool:
        """Whether everything has been looked at."""
        return self._looked_at == len(self._runs)

    @property
    def is_over(self) -> bool:
        """Whether all has been given."""
        return self.is_searched and self._given == len(self._found)

    def search(self, count: int) -> None:
        """Look at so many more."""
        number, end, left = self._looked_at, len(self._runs), count
        if number == end:
            return
        while number < end and left > 0:
            run = self._runs[number]
            assert run is not None
            before = len(self._found)
            self._found += self._matching(number, run[1], run[2])
            if len(self._found) == before:
                self._runs[number] = None
            number += 1
            left -= run[0]
        self._looked_at = number
        if number == end:
            self._found.sort(reverse=self.newest_first)

    def _matching(self, number: int, at_ns: int, frames: bytes) -> Iterable[_Found]:
        matches, start = self.filter.compiled(), 0
        while start < len(frames):
            stop = start + LENGTH_BYTES + int.from_bytes(frames[start : start + LENGTH_BYTES], "big")
            publisher, sequence, published_ns, attributes, _ = cbor2.loads(frames[start + HEADER.size : stop])
            at_ns = max(at_ns, published_ns)
            if at_ns >= self.since_ns and matches(attributes):
                yield at_ns, publisher, sequence, number, start, stop
            start = stop

    def take(self, size_bytes: int, count: int) -> list[Item]:
        """Return what comes next: at most so many, and none once the size is used."""
        items: list[Item] = []
        if not self.is_searched:
            return items
        while size_bytes > 0 and len(items) < count and self._given < len(self._found):
            at_ns, publisher, sequence, number, start, stop = self._found[self._given]
            self._given += 1
            run = self._runs[number]
            assert run is not None
            items.append((at_ns, publisher, sequence, run[2][start:stop]))
            size_bytes -= stop - start
        return items
