"""How long to wait before dialling again: doubling, bounded, and spread by chance.

Without the spread, all clients of a restarted broker would come back in the same instant.
"""

from random import Random

from attrs import define

__all__ = ["Backoff"]


@define(eq=False)
class Backoff:
    """The waits between attempts; `reset` when a connection has held."""

    first_s: float
    max_s: float
    random: Random
    _attempt_count: int = 0

    def next_s(self) -> float:
        """The next wait: between half and all of what doubling gives."""
        whole_s = min(self.first_s * 2.0**self._attempt_count, self.max_s)
        if whole_s < self.max_s:
            self._attempt_count += 1
        return whole_s * (0.5 + self.random.random() / 2)

    def reset(self) -> None:
        """Start again with the first wait."""
        self._attempt_count = 0
