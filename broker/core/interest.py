"""The filters that overlap a local publisher's advertisement, for a client that follows them.

Laws.

1. They are the distinct filters of the routing tables, aggregated as routing announced them: a neighbour that
   announces covers or merged filters is known by these.
2. A watch keeps at most `INTEREST_BYTES_MAX` of their text. If they are more, the advertisement itself is
   reported instead of all of them, until they are half as much.
3. What came and went between two looks is not reported.
4. A watch is no state of the broker: it changes nothing that others see, and no snapshot contains it.
"""

from collections.abc import Collection
from typing import Final

from attrs import define, field, frozen

from broker.filters import Filter

INTEREST_BYTES_MAX: Final = 64 * 1024
"""Text of the filters that are kept for one watch: what one client is charged for, and one page."""

_AGAIN_BYTES: Final = INTEREST_BYTES_MAX // 2
"""So much text is looked for anew in the tables; the way from the limit to here pays for that."""


@frozen
class InterestDifference:
    """The filters that overlap now and did not at the last look, and those that overlap no longer."""

    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@define(eq=False)
class InterestWatch:
    """What a publisher's client has been notified of, and what has changed since."""

    publisher: str
    content: Filter
    _interests: Collection[Filter]
    """All distinct filters of the tables."""
    _overlapping: dict[Filter, None] | None = field(default=None, init=False)
    """None if they are more than the limit."""
    _size_bytes: int = field(default=0, init=False)
    _reported: dict[Filter, None] = field(factory=dict, init=False)
    _changed: dict[Filter, None] | None = field(default=None, init=False)
    """Filters that may have come or gone since the last look; None: all of them."""

    def __attrs_post_init__(self) -> None:
        self._look()

    def _look(self) -> None:
        found = [each for each in self._interests if each.overlaps(self.content)]
        self._size_bytes = sum(map(_size_of, found))
        self._overlapping = dict.fromkeys(found) if self._size_bytes <= INTEREST_BYTES_MAX else None
        self._changed = None

    def came(self, interest: Filter) -> None:
        """Add a filter that overlaps."""
        self._size_bytes += _size_of(interest)
        if self._overlapping is None:
            return
        if self._size_bytes > INTEREST_BYTES_MAX:
            self._overlapping = self._changed = None
            return
        self._overlapping[interest] = None
        self._touch(interest)

    def went(self, interest: Filter) -> None:
        """Remove a filter that overlaps."""
        self._size_bytes -= _size_of(interest)
        if self._overlapping is not None:
            del self._overlapping[interest]
            self._touch(interest)
        elif self._size_bytes <= _AGAIN_BYTES:
            self._look()

    def _touch(self, interest: Filter) -> None:
        if self._changed is not None:
            if (interest in self._reported) is (interest in self._present):
                self._changed.pop(interest, None)
            else:
                self._changed[interest] = None

    @property
    def _present(self) -> dict[Filter, None]:
        return {self.content: None} if self._overlapping is None else self._overlapping

    def take(self) -> InterestDifference:
        """Return the difference to the last look."""
        present, reported = self._present, self._reported
        changed = [*reported, *present] if self._changed is None else self._changed
        added = tuple(each for each in dict.fromkeys(changed) if each in present and each not in reported)
        removed = tuple(each for each in changed if each in reported and each not in present)
        for each in removed:
            del reported[each]
        reported.update(dict.fromkeys(added))
        self._changed = {}
        return InterestDifference(added, removed)


def _size_of(interest: Filter) -> int:
    return len(str(interest))
