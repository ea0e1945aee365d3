"""Joins what this broker and those behind its links have found: each in order, and so is the whole.

Laws.

1. The next one is known only when every source has something to show or is over. So a merge keeps no more
   than one part of each link, and nothing of what is here, however long all of it is.
2. A source that is lost is over, and what is joined is not whole.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Generic, TypeVar

from attrs import define, field

from broker.replay.bounds import PART_COUNT, Item
from broker.replay.excerpt import Excerpt
from broker.replay.time_index import key_of

Place = TypeVar("Place")

_HERE: Final = -1
"""Stands for our own excerpt among the sources."""


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
    _has_lost: bool = False

    @classmethod
    def of(cls, excerpt: Excerpt, places: Iterable[Place]) -> "Merge[Place]":
        """Join what is found here and in these places."""
        return cls(excerpt, {place: _Source() for place in places})

    @property
    def is_over(self) -> bool:
        """Whether everything has been taken."""
        return self._excerpt.is_over and all(
            source.is_over and not source.items for source in self._sources.values()
        )

    @property
    def is_searching(self) -> bool:
        """Whether the next one of what is here is still to be found."""
        return self._excerpt.is_searching

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing so far."""
        return self._excerpt.is_whole and not self._has_lost

    def close(self) -> None:
        """Take nothing more."""
        self._excerpt.close()

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
        self._has_lost = self._has_lost or not is_whole

    def lose(self, place: Place) -> None:
        """Nothing more comes from there (law 2)."""
        source = self._sources.get(place)
        if source is not None and not source.is_over:
            source.is_asked, source.is_over = False, True
            self._has_lost = True

    def open_places(self) -> list[Place]:
        """The places that have more."""
        return [place for place, source in self._sources.items() if not source.is_over]

    def take(self, size_bytes: int, step_count: int, count: int = PART_COUNT) -> list[Item]:
        """Return what comes next, as far as it is known when so many more have been looked at here."""
        choose = max if self._excerpt.newest_first else min
        own = self._excerpt.read(step_count)
        sources = list(self._sources.values())
        taken: list[Item] = []
        while size_bytes > 0 and len(taken) < count:
            if (own.head is None and not self._excerpt.is_over) or any(source.is_dry for source in sources):
                break
            heads = [(source.items[0][:3], place) for place, source in enumerate(sources) if source.items]
            if own.head is not None:
                heads.append((key_of(own.head), _HERE))
            if not heads:
                break
            _, place = choose(heads)
            item = own.take() if place == _HERE else sources[place].items.popleft()
            taken.append(item)
            size_bytes -= len(item[3])
        return taken
