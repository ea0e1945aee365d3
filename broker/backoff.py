"""How long to wait before the next attempt to reach an uplink."""

from random import Random
from typing import Final

from attrs import define, field

__all__ = ["FIRST_S", "LONGEST_S", "Backoff"]

FIRST_S: Final = 0.1
"""A broker that is being started beside us is there within a few attempts."""

LONGEST_S: Final = 5.0
"""A broker that comes back is found within this time; an attempt costs it nothing to speak of."""


@define
class Backoff:
    """Waits double from attempt to attempt, and half of each is drawn.

    So children of a broker that restarts do not come back all at once.
    """

    _random: Random
    _longest_s: float = field(default=FIRST_S, init=False)

    def next_s(self) -> float:
        """Return how long to wait now."""
        wait_s = self._longest_s * self._random.uniform(0.5, 1)
        self._longest_s = min(LONGEST_S, self._longest_s * 2)
        return wait_s

    def reset(self) -> None:
        """It worked: the next failure is a first one."""
        self._longest_s = FIRST_S
