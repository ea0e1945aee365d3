"""Timers of a node. Time is passed in; nothing here reads a clock.

Laws.

1. A timer fires once, at the first `fire` that is not before its time, in the order of times and then of
   settings.
2. A timer that is set while timers fire waits for the next `fire`, also if its time has come: every `fire`
   ends.
3. A cancelled timer never fires. It is forgotten at once if it was due first, else when its time comes.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from attrs import define, field


@define(eq=False)
class Timer:
    """A call to make at a time. Setting it anew is making another timer."""

    at_s: float
    call: Callable[[], None]
    is_set: bool = True

    def cancel(self) -> None:
        """Prevent the call."""
        self.is_set = False


@define(eq=False)
class Timers:
    """The timers of one node; `now_s` is the time of the present step."""

    now_s: float = 0.0
    _heap: list[tuple[float, int, Timer]] = field(factory=list)
    _count: int = 0

    def at(self, at_s: float, call: Callable[[], None]) -> Timer:
        """Call this at that time."""
        timer = Timer(at_s, call)
        self._count += 1
        heappush(self._heap, (at_s, self._count, timer))
        return timer

    def after(self, wait_s: float, call: Callable[[], None]) -> Timer:
        """Call this after so long."""
        return self.at(self.now_s + wait_s, call)

    def every(self, wait_s: Callable[[], float], call: Callable[[], None]) -> None:
        """Call this after so long, again and again, for ever."""

        def fire() -> None:
            call()
            self.after(wait_s(), fire)

        self.after(wait_s(), fire)

    def next_s(self) -> float:
        """Return when the next timer fires; infinity if none does."""
        heap = self._heap
        while heap and not heap[0][2].is_set:
            heappop(heap)
        return heap[0][0] if heap else inf

    def fire(self) -> None:
        """Fire the timers that are due (law 2)."""
        last = self._count
        held: list[tuple[float, int, Timer]] = []
        while self._heap and self._heap[0][0] <= self.now_s:
            entry = heappop(self._heap)
            if entry[1] > last:
                held.append(entry)
            elif entry[2].is_set:
                entry[2].is_set = False
                entry[2].call()
        for entry in held:
            heappush(self._heap, entry)
