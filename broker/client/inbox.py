"""Deliveries between the broker and the user: an inbox per subscription, in order, bounded by credit. No I/O.

Laws:

* What arrives is handed out in the order in which it arrived, gaps in their places.
* The broker may send as many deliveries as it has credit for; credit is given back when deliveries have been
  handed out, half an allowance at a time.
* The allowance follows the sizes seen, so that what waits here is about `Limits.inbox_bytes`, whether
  deliveries are small or large.
* An inbox that has ended still hands out what had arrived before.
"""

from collections import deque
from typing import Final

from attrs import define, field

from broker.client.delivery import Gap
from broker.client.limits import Limits
from broker.errors import ConcordError

__all__ = ["Inbox"]

_WEIGHT: Final = 8
"""The mean size moves by one part in so many towards each batch's mean: quick to follow, slow to panic."""


@define(eq=False)
class Inbox:
    """One subscription of this client, over all its connections.

    `number` is its request on the present one, `outstanding_count` how much more may be delivered there.
    """

    filter: str
    ordered: bool
    bound_bytes: int
    policy: str
    limits: Limits
    number: int = 0
    is_ready: bool = False
    ended: ConcordError | None = None
    outstanding_count: int = 0
    _batches: deque[list[bytes] | Gap] = field(factory=deque)
    _held_count: int = 0
    _mean_bytes: float = 0.0

    @property
    def allowance_count(self) -> int:
        """How many deliveries may be on their way or waiting here."""
        limits = self.limits
        if not self._mean_bytes:
            return min(limits.credit_first, limits.credit_max)
        fitting_count = int(limits.inbox_bytes / self._mean_bytes)
        return max(limits.credit_min, min(fitting_count, limits.credit_max))

    def open(self, number: int) -> int:
        """A new connection: the request's number there; returns the credit to ask with.

        Whoever was subscribed before may have missed anything in between.
        """
        if self.is_ready:
            self.gap(Gap(None))
        self.number = number
        self.outstanding_count = max(self.allowance_count - self._held_count, 1)
        return self.outstanding_count

    def put(self, frames: list[bytes], size_bytes: int) -> None:
        """Deliveries arrived, of so many bytes together."""
        count = len(frames)
        self.outstanding_count -= count
        self._held_count += count
        mean_bytes = size_bytes / count
        if self._mean_bytes:
            self._mean_bytes += (mean_bytes - self._mean_bytes) / _WEIGHT
        else:
            self._mean_bytes = mean_bytes
        self._batches.append(frames)

    def gap(self, gap: Gap) -> None:
        """Deliveries are missing at this place."""
        if self._batches and isinstance(last := self._batches[-1], Gap):
            self._batches[-1] = last + gap
        else:
            self._batches.append(gap)

    def take(self) -> list[bytes] | Gap | None:
        """The next run of deliveries or the gap before it; None when there is nothing."""
        return self._batches.popleft() if self._batches else None

    def handed_out(self, count: int) -> int:
        """The user has had so many; returns the credit to give the broker now, often none."""
        self._held_count -= count
        assert self._held_count >= 0
        allowance_count = self.allowance_count
        count = allowance_count - self.outstanding_count - self._held_count
        if count * 2 < allowance_count:
            return 0
        self.outstanding_count += count
        return count
