"""Joins what this broker and those behind its links have found: each in order, and so is the whole.

Laws.

1. The next one is known only when every source has something to show or is over. So a merge keeps no more
   than one part of each source, however long all of it is.
2. A source that is lost is over, and what is joined is not whole.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from attrs import define, field

from broker.replay.bounds import PART_BYTES, PART_COUNT
from broker.replay.excerpt import Excerpt
from broker.replay.item import Item

Place = TypeVar("Place")


@define(eq=False)
class _Source:
    """What has come from one place and has not been merged."""

    items: deque[Item] = field(factory=deque, repr=False)
    is_asked: bool = False
    is_over: bool = False

    @property
    def is_dry(self) -> bool:
        return not self.items and not self.is_over


@define(eq=False)
class Merge(Generic[Place]):
    """Sources elsewhere, known by their places, and our own excerpt."""

    _excerpt: Excerpt
    _sources: dict[Place, _Source]
    is_whole: bool = True
    _own: _Source = field(factory=_Source)

    @classmethod
    def of(cls, excerpt: Excerpt, places: Iterable[Place]) -> "Merge[Place]":
        """Join what is found here and in these places."""
        return cls(excerpt, {place: _Source() for place in places})

    @property
    def is_over(self) -> bool:
        """Whether everything has been taken."""
        return all(source.is_over and not source.items for source in self._all())

    @property
    def is_searching(self) -> bool:
        """Whether there is still something to be looked at here."""
        return not self._excerpt.is_searched

    def _all(self) -> Iterator[_Source]:
        yield self._own
        yield from self._sources.values()

    def comes_from(self, place: Place) -> bool:
        """Whether a part of it is to come from there."""
        source = self._sources.get(place)
        return source is not None and not source.is_over

    def awaits(self, place: Place) -> bool:
        """Whether that place was asked for more and has not answered."""
        source = self._sources.get(place)
        return source is not None and source.is_asked

    def ask(self) -> list[Place]:
        """Return the places that have to be asked for more now."""
        dry = [place for place, source in self._sources.items() if source.is_dry and not source.is_asked]
        for place in dry:
            self._sources[place].is_asked = True
        return dry

    def put(self, place: Place, items: Sequence[Item], *, is_over: bool, is_whole: bool) -> None:
        """That place has answered."""
        source = self._sources[place]
        source.is_asked = False
        source.items.extend(items)
        source.is_over = is_over
        self.is_whole = self.is_whole and is_whole

    def lose(self, place: Place) -> None:
        """Nothing more comes from there (law 2)."""
        source = self._sources.get(place)
        if source is not None and not source.is_over:
            source.is_asked, source.is_over = False, True
            self.is_whole = False

    def open_places(self) -> list[Place]:
        """The places that have more."""
        return [place for place, source in self._sources.items() if not source.is_over]

    def take(self, size_bytes: int, count: int = PART_COUNT) -> list[Item]:
        """Return what comes next, as far as it is known."""
        choose = max if self._excerpt.newest_first else min
        taken: list[Item] = []
        while size_bytes > 0 and len(taken) < count:
            self._look_here()
            sources = list(self._all())
            if any(source.is_dry for source in sources):
                break
            heads = [(source.items[0][:3], place) for place, source in enumerate(sources) if source.items]
            if not heads:
                break
            _, place = choose(heads)
            item = sources[place].items.popleft()
            taken.append(item)
            size_bytes -= len(item[3])
        return taken

    def _look_here(self) -> None:
        own = self._own
        if own.is_dry:
            own.items.extend(self._excerpt.take(PART_BYTES, PART_COUNT))
            own.is_over = self._excerpt.is_over

    def search(self, count: int) -> None:
        """Look at so many more of what is here."""
        self._excerpt.search(count)
