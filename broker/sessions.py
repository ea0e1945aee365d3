"""Sessions: links and streams that survive their connections. Dialling and writing are elsewhere.

The sender keeps frames until the other end has acknowledged them (`Retained`, one direction). Both ends of a
session count the frames received. Only the newest connection counts: before an end states how many frames it
has received, it stops taking frames from an older connection, which would otherwise arrive twice.

Laws.

1. Frames are numbered from 1 by counting. No number travels with a frame: both ends count.
2. An acknowledgement is a count and cumulative; an old one changes nothing. One of more than was sent is an
   error: the two ends are not of the same session.
3. `after(n)` returns exactly the frames sent from number n + 1 on, in their order, for every n from the
   acknowledged count to the sent count. So the other end gets the sequence once, however many connections are
   lost and resumed, if it states how many frames it has received.
4. Dropped frames leave a `Missing` at their position, which counts as many numbers as were dropped.

Frames that leave together are kept together: adding a batch costs the same whatever its size. The lists
belong to their sender; nothing changes them.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from attrs import define, field, frozen

Frame = TypeVar("Frame")

RETAINED_COUNT_MAX: Final = 1_000_000
"""Frames kept for a neighbour that does not acknowledge. Publications are limited by credit long before; this
many messages about routes are some hundred megabytes, and the neighbour is better declared lost."""


class SessionError(Exception):
    """The other end counts frames that were never sent; the state is unchanged."""


@frozen
class Missing:
    """A number of frames were dropped at this position."""

    count: int

    def __len__(self) -> int:
        return self.count


Batch = Sequence[Frame] | Missing
"""Frames that were sent together, or a number of dropped ones."""


@define(eq=False)
class Retained(Generic[Frame]):
    """The unacknowledged frames, in the batches in which they were sent.

    `_offset` frames of the first batch have been acknowledged.
    """

    sent: int = 0
    acknowledged: int = 0
    _batches: deque[Batch[Frame]] = field(factory=deque, repr=False)
    _offset: int = 0

    def add(self, batch: Sequence[Frame]) -> None:
        """Keep a batch that is sent now; nothing may change it from here on."""
        self._batches.append(batch)
        self.sent += len(batch)

    def acknowledge(self, count: int) -> None:
        """Drop the first `count` frames of the session: the other end has them.

        Raises:
            SessionError: so many were never sent.
        """
        self.check_sent(count)
        if count <= self.acknowledged:
            return
        left = self._offset + count - self.acknowledged
        batches = self._batches
        while batches and len(batches[0]) <= left:
            left -= len(batches.popleft())
        self._offset = left
        self.acknowledged = count

    def check_sent(self, count: int) -> None:
        """Refuse an acknowledgement of more than was sent.

        Raises:
            SessionError: so many were never sent.
        """
        if count > self.sent:
            raise SessionError(f"{count} frames were acknowledged, and only {self.sent} were sent")

    def check_kept(self, count: int) -> None:
        """Refuse to drop more than is kept.

        Raises:
            SessionError: so many are not kept.
        """
        if not 0 < count <= len(self):
            raise SessionError(f"cannot drop {count} frames: {len(self)} are kept")

    def after(self, count: int) -> list[Batch[Frame]]:
        """Return the frames after the first `count`, batch by batch.

        Raises:
            SessionError: so many were never sent, or more have been acknowledged and are not kept any more.
        """
        if not self.acknowledged <= count <= self.sent:
            raise SessionError(
                f"cannot go on after {count} frames: {self.sent} were sent, {self.acknowledged} acknowledged"
            )
        skipped = self._offset + count - self.acknowledged
        left: list[Batch[Frame]] = []
        for batch in self._batches:
            if skipped >= len(batch):
                skipped -= len(batch)
            else:
                left.append(_rest(batch, skipped))
                skipped = 0
        return left

    def drop_newest(self, count: int) -> None:
        """Drop the newest `count` frames, and leave a `Missing` (law 4).

        Raises:
            SessionError: so many are not kept.
        """
        self.check_kept(count)
        batches, left = self._batches, count
        while left:
            batch = batches.pop()
            kept = len(batch) - left
            left -= min(len(batch) - (0 if batches else self._offset), left)
            if kept > (0 if batches else self._offset):
                batches.append(_beginning(batch, kept))
        if not batches:
            self._offset = 0
        elif isinstance(batches[-1], Missing):
            count += len(batches.pop())
        batches.append(Missing(count))

    @property
    def is_overfull(self) -> bool:
        """Return whether more frames are kept than a live neighbour can have left unacknowledged."""
        return self.sent - self.acknowledged > RETAINED_COUNT_MAX

    def __len__(self) -> int:
        return self.sent - self.acknowledged


def _rest(batch: Batch[Frame], skipped: int) -> Batch[Frame]:
    if isinstance(batch, Missing):
        return Missing(batch.count - skipped)
    return batch[skipped:] if skipped else batch


def _beginning(batch: Batch[Frame], kept: int) -> Batch[Frame]:
    return Missing(kept) if isinstance(batch, Missing) else batch[:kept]
