"""One subscription that gets a part of the past before what is live, each publication once.

Laws.

1. Publications behind the first mark are live: it is set when all gates are open, behind everything pending
   then. Publications before it are in the caches, and are dropped here, but for notices of losses. So the
   subscription counts as complete from now on (R7) when that mark has come, and not before.
2. Until the past has been played, live publications are deferred in the order in which they came.
3. What came live is delivered in its live place, though it is in a cache too. Therefore nothing is played of
   a publisher from the first on that came live; and nothing that was played is delivered when it comes later
   (with some ordering plugins it may).
4. What is played is in the order of items; the newest of a counted window are collected first, and turned.
5. If deferred messages exceed the limit, the rest of the past is left out, and a gap follows it.
"""

from collections.abc import Sequence
from math import inf
from typing import Final

from attrs import define, field

from broker.messages import LinkMessage, Publication
from broker.replay.bounds import Item, ReplayWindow
from broker.replay.positions import CachePosition
from broker.replay_messages import ReplayCut, ReplayMark
from broker.wire import replayed

ITEM_BYTES: Final = 200
"""The memory that an item takes beside its frame."""


@define(eq=False)
class Playback:
    """The deliveries of one subscription until its past has been played.

    `position` is that of its broker when it was made: what was cached behind it is of the past, too.
    """

    subscription: str
    window: ReplayWindow
    position: CachePosition
    is_live: bool = False
    is_marked: bool = False
    is_mark_due: bool = False
    is_collected: bool = False
    is_whole: bool = True
    is_over: bool = False
    played_count: int = 0
    played: dict[str, int] = field(factory=dict)
    _room_bytes: int = 0
    _held: list[LinkMessage] = field(factory=list, repr=False)
    _held_bytes: int = 0
    _first: dict[str, int] = field(factory=dict, repr=False)
    _collected: list[Item] = field(factory=list, repr=False)
    _collected_bytes: int = 0
    _is_short: bool = False
    _out: list[LinkMessage] = field(factory=list, repr=False)

    # --- what is live ---

    def hold(self, messages: Sequence[LinkMessage]) -> bool:
        """Defer the messages of the core; return whether the last mark has come."""
        was_marked = self.is_marked
        for message in messages:
            if isinstance(message, ReplayMark):
                self.is_live = True
                self.is_marked = self.is_marked or message.is_last
            elif not isinstance(message, Publication) or self._is_due(message):
                self._hold(message)
        return self.is_marked and not was_marked

    def _is_due(self, publication: Publication) -> bool:
        return self.is_live and self.played.get(publication.publisher, 0) < publication.sequence

    def _hold(self, message: LinkMessage) -> None:
        if self.is_over:
            self._out.append(message)  # It came in the very step in which the past was over.
            return
        self._held.append(message)
        if isinstance(message, Publication):
            self._held_bytes += len(message.frame)
            self._first.setdefault(message.publisher, message.sequence)

    @property
    def is_overfull(self) -> bool:
        """Return whether deferred messages exceed the limit (law 5)."""
        return self._held_bytes > self.window.bound_bytes

    # --- what is past ---

    @property
    def newest_first(self) -> bool:
        """Return whether the newest event has to be collected first."""
        return self.window.count > 0

    def want(self, size_bytes: int) -> None:
        """Allow so many bytes more to be played."""
        self._room_bytes = size_bytes

    @property
    def room_bytes(self) -> int:
        """Return how many bytes may be played now."""
        return self._room_bytes

    def play(self, items: Sequence[Item]) -> None:
        """Play or collect the next items of the past."""
        for item in items:
            if self.newest_first:
                self._collect(item)
            else:
                self._play(item)

    def _is_new(self, item: Item) -> bool:
        _, publisher, sequence, _ = item
        return self.played.get(publisher, 0) < sequence < self._first.get(publisher, inf)

    def _collect(self, item: Item) -> None:
        if self.is_collected or not self._is_new(item):
            return
        if self._collected and self._collected[-1][:3] == item[:3]:
            return
        self._collected_bytes += len(item[3])
        if self._collected_bytes > self.window.bound_bytes:
            self._collected_bytes -= len(item[3])
            self.cut()
            return
        self._collected.append(item)
        self.is_collected = len(self._collected) == self.window.count

    @property
    def collected_bytes(self) -> int:
        """Return the memory that collected items take."""
        return self._collected_bytes + len(self._collected) * ITEM_BYTES

    def cut(self) -> None:
        """Collect nothing more: older items are left out."""
        self._is_short = self.is_collected = True

    def _play(self, item: Item) -> None:
        if self._is_new(item):
            _, publisher, sequence, frame = item
            self.played[publisher] = sequence
            self.played_count += 1
            self._out.append(replayed(publisher, sequence, frame))
            self._room_bytes -= len(frame)

    def play_collected(self) -> None:
        """Play collected items as far as there is room, and end behind the last one (law 4)."""
        if self._is_short:
            self._out.append(ReplayCut())
            self._is_short = False
        while self._collected and self._room_bytes > 0:
            item = self._collected.pop()
            self._collected_bytes -= len(item[3])
            self._play(item)
        if not self._collected:
            self.end(is_whole=self.is_whole)

    def end(self, *, is_whole: bool) -> None:
        """End the past: deferred messages follow."""
        if not is_whole:
            self._out.append(ReplayCut())
        self._out += self._held
        self._held.clear()
        self._collected.clear()
        self.is_over = True
        for publisher in self._first:
            self.played.pop(publisher, None)

    def take(self) -> list[LinkMessage]:
        """Return the messages to deliver now."""
        out, self._out = self._out, []
        return out
