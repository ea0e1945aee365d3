"""Simulated time: the calls that are due. Calls due at the same time run in the order of their scheduling."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

from attrs import define, field

AT_ONCE_MAX: Final = 20_000
"""More than any schedule does at one time."""

Call = Callable[[], None]


class RestlessClockError(RuntimeError):
    """Calls are scheduled for the present time again and again."""


@define(eq=False)
class Clock:
    """The time of one schedule, and the calls that are due in it."""

    now_s: float = 0.0
    _heap: list[tuple[float, int, Call]] = field(factory=list, init=False)
    _count: int = field(default=0, init=False)

    def at(self, at_s: float, call: Call) -> None:
        """Call this at that time, or now if the time has passed."""
        self._count += 1
        heappush(self._heap, (at_s, self._count, call))

    def after(self, wait_s: float, call: Call) -> None:
        """Call this after a wait."""
        self._count += 1
        heappush(self._heap, (self.now_s + wait_s, self._count, call))

    def run(self, until_s: float) -> None:
        """Run all calls up to this time.

        Raises:
            RestlessClockError: time does not pass.
        """
        heap, at_once = self._heap, 0
        while heap and heap[0][0] <= until_s:
            at_s, _, call = heappop(heap)
            at_once = 0 if at_s > self.now_s else at_once + 1
            if at_once > AT_ONCE_MAX:
                raise RestlessClockError(
                    f"time stands still at {self.now_s:.3f} s: calls go on at the same time"
                )
            self.now_s = max(self.now_s, at_s)
            call()
        self.now_s = max(self.now_s, until_s)
