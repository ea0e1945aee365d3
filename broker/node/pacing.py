"""Decides how long publishers wait for a subscription that reads slower than they publish.

Laws:

1. While a queue is over its soft mark, whoever published into it gets no new credit: a healthy subscriber is
   never pushed over its bound only because somebody publishes fast.
2. Nobody waits for a subscriber that does not move. If less than `PROGRESS_BYTES` leave the queue within
   `PATIENCE_S`, the subscription is slow: publishers are let go, and its policy applies at the bound.
3. A slow subscription is healthy again once its queue is down to the soft mark.

Time is passed in, so that all of it is tested without waiting.
"""

from attrs import define, field

__all__ = ["PATIENCE_S", "PROGRESS_BYTES", "Pace"]

PATIENCE_S = 0.5
"""Longer than a busy machine leaves a process without the processor; short enough that a dead subscriber
holds up the others only once, and unnoticed by a human."""

PROGRESS_BYTES = 256 * 1024
"""Half a megabyte a second, some thousands of small events: nobody waits for who reads slower than that."""

SOFT_PART = 4
"""The soft mark is this part of the bound; the rest is room for what was granted before publishers wait."""


@define(eq=False)
class Pace:
    """Whether publishers wait for one subscription (`waiting`), and whether it was given up (`slow`)."""

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
        """So much left the queue; return whether publishers that waited need not wait any more."""
        self._freed_bytes += size_bytes
        if queued_bytes * SOFT_PART > self.bound_bytes:
            return False
        was_waiting, self.waiting, self.slow = self.waiting, False, False
        return was_waiting

    def judge(self, now_s: float) -> bool:
        """Return whether the subscription has just been found slow. Asked now and then while waiting."""
        if not self.waiting or now_s - self._since_s < PATIENCE_S:
            return False
        if self._freed_bytes < PROGRESS_BYTES:
            self.waiting, self.slow = False, True
            return True
        self._since_s = now_s
        self._freed_bytes = 0
        return False
