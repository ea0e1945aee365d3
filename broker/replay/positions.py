"""Positions in the caches of all brokers: a subscription asks for what is published from then on by no clock.

Theory. Which publications are from after a subscription was made? Their times do not say: clocks differ. So
from time to time every broker sends its neighbours a mark, and keeps its own position with it: how far its
cache goes, and the last mark of each neighbour. A subscription keeps the position of its broker at the moment
in which it is made, and its question takes each neighbour's mark back to it. That mark had arrived by then,
so it is of an earlier moment; so are, at every broker further on, the marks kept with it. What was cached
behind them is wanted, whatever its time.

Laws.

1. A position is never after the moment that it is taken for, and before it by no more than marks are apart
   and on their way.
2. A mark that is not known, because another broker or another run of this one has set it, or because
   `POSITIONS_MAX` were set since, means the beginning: too much is sent, never too little.
3. A neighbour gets a mark only if something was cached elsewhere than behind it since the last. So brokers at
   rest send none, and marks do not go round.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from attrs import define, field

from broker.replay.cache import NOTHING_CACHED_NS, Cache

POSITIONS_MAX: Final = 64
"""The marks of a broker that are known to it: a minute of events without a pause."""


@define(eq=False)
class CachePosition:
    """How far a cache went, in runs, and the last mark of each neighbour, by its name.

    `low_ns` is the least time of what was cached from then on until the next position was kept.
    """

    number: int = 0
    marks: dict[str, str] = field(factory=dict)
    low_ns: int = NOTHING_CACHED_NS


@define(eq=False)
class Positions:
    """The marks of one broker. `_served` are the neighbours that have its present mark; keys alone count."""

    owner: str
    _count: int = 0
    _last: str = ""
    _marks: dict[str, str] = field(factory=dict)
    _kept: dict[str, CachePosition] = field(factory=dict)
    _served: dict[str, None] = field(factory=dict)

    @property
    def last(self) -> str:
        """Return the present mark, "" before the first."""
        return self._last

    def present(self, cache: Cache) -> CachePosition:
        """Return the position at this moment."""
        return CachePosition(cache.next_number, dict(self._marks))

    def at(self, mark: str) -> CachePosition:
        """Return the position of a mark, or the beginning (law 2)."""
        return self._kept.get(mark) or CachePosition()

    def low_ns(self, position: CachePosition, cache: Cache) -> int:
        """Return a time before which nothing was cached from that position on."""
        kept = list(self._kept.values())
        if not kept or position.number < kept[0].number:
            return 0
        ends = [*(each.number for each in kept[1:]), cache.next_number + 1]
        lows = [each.low_ns for each, end in zip(kept, ends, strict=True) if end > position.number]
        return min(*lows, cache.low_ns)

    def take(self, mark: str, neighbour: str) -> None:
        """Take the mark of a neighbour; it is news to all others."""
        self._marks[neighbour] = mark
        self._served = {each: None for each in self._served if each == neighbour}

    def due(self, cache: Cache, neighbours: Iterable[str]) -> Sequence[str]:
        """Return the neighbours that are to get a mark now (law 3)."""
        is_new = cache.next_number != (self._kept[self._last].number if self._kept else 0)
        served = {} if is_new else self._served
        return [
            each
            for each in neighbours
            if each not in served and (cache.next_number or self._marks.keys() - {each})
        ]

    def mark(self, cache: Cache, neighbours: Sequence[str]) -> Sequence[str]:
        """Set a mark if one is due; return the neighbours that get it."""
        due = self.due(cache, neighbours)
        if due:
            self._marks = {name: mark for name, mark in self._marks.items() if name in neighbours}
            if self._kept:
                self._kept[self._last].low_ns = cache.low_ns
            cache.low_ns = NOTHING_CACHED_NS
            self._count += 1
            self._last = f"{self.owner}:{self._count}"
            self._kept[self._last] = self.present(cache)
            if len(self._kept) > POSITIONS_MAX:
                del self._kept[next(iter(self._kept))]
            self._served.update(dict.fromkeys(due))
        return due
