"""Merges the events of this broker and of those behind its links: each source in order, and so is the whole.

Laws.

1. The next event is known only when every source has an event or is over. So a merge has in memory no more
   than one part of each link, and nothing of its own excerpt, however long all of it is.
2. A source that is lost is over, and the merge is not whole.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Generic, TypeVar

from attrs import define, field

from broker.replay.bounds import PART_COUNT, Item
from broker.replay.excerpt import Excerpt
from broker.replay.time_index import key_of

Origin = TypeVar("Origin")

_HERE: Final = -1
"""The number of this broker's own excerpt among the sources."""


@define(eq=False)
class _Source:
    """The items that have come from one origin and have not been merged."""

    items: deque[Item] = field(factory=deque, repr=False)
    is_asked: bool = False
    is_over: bool = False

    @property
    def is_dry(self) -> bool:
        return not self.items and not self.is_over


@define(eq=False)
class Merge(Generic[Origin]):
    """The sources of other brokers, known by their origins, and this broker's own excerpt."""

    _excerpt: Excerpt
    _sources: dict[Origin, _Source]
    _has_lost: bool = False

    @classmethod
    def of(cls, excerpt: Excerpt, origins: Iterable[Origin]) -> "Merge[Origin]":
        """Merge this cache's excerpt with what comes from these origins."""
        return cls(excerpt, {origin: _Source() for origin in origins})

    @property
    def is_over(self) -> bool:
        """Return whether everything has been taken."""
        return self._excerpt.is_over and all(
            source.is_over and not source.items for source in self._sources.values()
        )

    @property
    def is_searching(self) -> bool:
        """Return whether the next item of this cache is still to be found."""
        return self._excerpt.is_searching

    @property
    def is_whole(self) -> bool:
        """Return whether nothing is missing so far."""
        return self._excerpt.is_whole and not self._has_lost

    def close(self) -> None:
        """Close the excerpt."""
        self._excerpt.close()

    def comes_from(self, origin: Origin) -> bool:
        """Return whether a part is still to come from this origin."""
        source = self._sources.get(origin)
        return source is not None and not source.is_over

    def awaits(self, origin: Origin) -> bool:
        """Return whether this origin was asked for more and has not answered."""
        source = self._sources.get(origin)
        return source is not None and source.is_asked

    def ask(self) -> list[Origin]:
        """Return the origins that have to be asked for more now."""
        dry = [origin for origin, source in self._sources.items() if source.is_dry and not source.is_asked]
        for origin in dry:
            self._sources[origin].is_asked = True
        return dry

    def put(self, origin: Origin, items: Sequence[Item], *, is_over: bool, is_whole: bool) -> None:
        """Add the items of an origin that has answered."""
        source = self._sources[origin]
        source.is_asked = False
        source.items.extend(items)
        source.is_over = is_over
        self._has_lost = self._has_lost or not is_whole

    def lose(self, origin: Origin) -> None:
        """End the source of this origin: nothing more comes from there (law 2)."""
        source = self._sources.get(origin)
        if source is not None and not source.is_over:
            source.is_asked, source.is_over = False, True
            self._has_lost = True

    def open_origins(self) -> list[Origin]:
        """Return the origins that have more."""
        return [origin for origin, source in self._sources.items() if not source.is_over]

    def take(self, size_bytes: int, step_count: int, count: int = PART_COUNT) -> list[Item]:
        """Return the next items, as far as so many more events of this cache make them known."""
        choose = max if self._excerpt.newest_first else min
        own = self._excerpt.read(step_count)
        sources = list(self._sources.values())
        taken: list[Item] = []
        while size_bytes > 0 and len(taken) < count:
            if (own.head is None and not self._excerpt.is_over) or any(source.is_dry for source in sources):
                break
            heads = [(source.items[0][:3], origin) for origin, source in enumerate(sources) if source.items]
            if own.head is not None:
                heads.append((key_of(own.head), _HERE))
            if not heads:
                break
            _, origin = choose(heads)
            item = own.take() if origin == _HERE else sources[origin].items.popleft()
            taken.append(item)
            size_bytes -= len(item[3])
        return taken
