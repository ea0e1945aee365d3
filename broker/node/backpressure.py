"""Backpressure: how long publishers wait for a subscription that reads slower than they publish.

Laws:

1. While a queue is over its soft mark, the publishers whose events are in it get no new credit: a healthy
   subscriber's queue never overflows only because a publisher is fast.
2. No publisher waits for a subscriber that makes no progress. If less than `PROGRESS_BYTES` leave the queue
   within `SLOW_AFTER_S`, the subscription is a slow consumer: publishers get credit again, and its policy
   applies when its queue overflows.
3. A slow consumer is healthy again once its queue is down to the soft mark.

Time is passed in, so that all of it is tested without waiting.
"""

from attrs import define, field

SLOW_AFTER_S = 0.5
"""Longer than a busy machine leaves a process without the processor; short enough that a dead subscriber
delays the others only once, and unnoticed by a human."""

PROGRESS_BYTES = 256 * 1024
"""Half a megabyte a second, some thousands of small events: no publisher waits for a slower reader."""

SOFT_PART = 4
"""The soft mark is this part of the limit; the rest is room for credit that was granted before."""


@define(eq=False)
class Backpressure:
    """Whether publishers wait for one subscription, and whether it is a slow consumer."""

    bound_bytes: int
    waiting: bool = field(default=False, init=False)
    slow: bool = field(default=False, init=False)
    _since_s: float = field(default=0.0, init=False)
    _freed_bytes: int = field(default=0, init=False)

    def queued(self, queued_bytes: int, now_s: float) -> bool:
        """Return whether publishers wait, now that something was added to the queue."""
        if not self.waiting and not self.slow and queued_bytes * SOFT_PART > self.bound_bytes:
            self.waiting = True
            self._since_s = now_s
            self._freed_bytes = 0
        return self.waiting

    def freed(self, size_bytes: int, queued_bytes: int) -> bool:
        """Count bytes that have left the queue; return whether publishers that waited may go on."""
        self._freed_bytes += size_bytes
        if queued_bytes * SOFT_PART > self.bound_bytes:
            return False
        was_waiting, self.waiting, self.slow = self.waiting, False, False
        return was_waiting

    def judge(self, now_s: float) -> bool:
        """Return whether the subscription has just become a slow consumer."""
        if not self.waiting or now_s - self._since_s < SLOW_AFTER_S:
            return False
        if self._freed_bytes < PROGRESS_BYTES:
            self.waiting, self.slow = False, True
            return True
        self._since_s = now_s
        self._freed_bytes = 0
        return False
