"""Sessions: links and streams that survive their connections. Who dials and who writes is elsewhere.

What was sent is kept, at its sender, until the other end has acknowledged it (`Retained`, one direction).
Both ends of a session count what they received. Only the newest connection counts: before an end says how
much it received, it takes nothing more from an older connection, for what that still delivered would come
twice.

Laws.

1. Frames are numbered from 1 by counting. No number travels with a frame: both ends count.
2. An acknowledgement is a count and cumulative; an old one changes nothing. One of more than was sent is an
   error: the two ends are not of the same session.
3. `after(n)` is exactly what was sent from number n + 1 on, in its order, for every n from what has been
   acknowledged to what was sent. So whatever connections are cut, and however often the other end comes
   back, it gets the sequence once, if it says how much it has.
4. What had to be dropped leaves a `Missing` in its place, which counts as many numbers as it stands for.

What leaves together is kept together: adding a batch costs the same whatever its size. The lists belong to
their sender; nobody changes them.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from attrs import define, field, frozen

Frame = TypeVar("Frame")

RETAINED_COUNT_MAX: Final = 1_000_000
"""Frames kept for a neighbour that does not acknowledge. Publications are bounded by credit long before; this
many messages about routes are some hundred megabytes, and the neighbour is better declared lost."""


class SessionError(Exception):
    """The other end counts what there never was; nothing has been changed by it."""


@frozen
class Missing:
    """So many frames were dropped at this place."""

    count: int

    def __len__(self) -> int:
        return self.count


Batch = Sequence[Frame] | Missing
"""What was sent together, or was to be sent and is not kept any more."""


@define(eq=False)
class Retained(Generic[Frame]):
    """What was sent and not acknowledged, in the batches in which it was sent.

    `_offset` frames of the first batch have been acknowledged.
    """

    sent: int = 0
    acknowledged: int = 0
    _batches: deque[Batch[Frame]] = field(factory=deque, repr=False)
    _offset: int = 0

    def add(self, batch: Sequence[Frame]) -> None:
        """These leave now; from here on nobody may change the batch."""
        self._batches.append(batch)
        self.sent += len(batch)

    def acknowledge(self, count: int) -> None:
        """The other end has the first `count` frames of the session.

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
        """Return what was sent after the first `count` frames, batch by batch.

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
        """Keep the newest `count` frames no longer; a `Missing` stands in their place (law 4).

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
        """Whether more is kept than a live neighbour can have left unacknowledged."""
        return self.sent - self.acknowledged > RETAINED_COUNT_MAX

    def __len__(self) -> int:
        return self.sent - self.acknowledged


def _rest(batch: Batch[Frame], skipped: int) -> Batch[Frame]:
    if isinstance(batch, Missing):
        return Missing(batch.count - skipped)
    return batch[skipped:] if skipped else batch


def _beginning(batch: Batch[Frame], kept: int) -> Batch[Frame]:
    return Missing(kept) if isinstance(batch, Missing) else batch[:kept]
