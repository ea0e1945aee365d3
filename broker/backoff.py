"""How long to wait before the next attempt to reach a broker.

Law: a peer whose session is kept for a time tries many times within that time, to the
end. So it finds also a broker that is up for moments only, and resumes its session there.
"""

from typing import Final, Protocol

from attrs import define, field

FIRST_S: Final = 0.1
"""A broker that is being started beside us is there within a few attempts."""

LONGEST_S: Final = 5.0
"""A restarted broker is found within this time; an attempt costs it almost nothing."""

TRIES_WHILE_KEPT: Final = 40
"""So many attempts are made at least while a session is kept: with the default link timeout one every quarter
of a second, and a broker that crashes every second is up for longer than that. An attempt at a closed port
costs next to nothing."""


def longest_while_kept_s(kept_s: float) -> float:
    """Return the longest wait between two attempts to resume a session that is kept for so long."""
    return min(LONGEST_S, max(FIRST_S, kept_s / TRIES_WHILE_KEPT))


class Drawing(Protocol):
    """A source of random numbers, such as `random.Random`."""

    def uniform(self, a: float, b: float, /) -> float:
        """Return a number between these two."""
        ...


@define
class Backoff:
    """Waits double from attempt to attempt, and half of each is drawn.

    So children of a broker that restarts do not reconnect all at once.
    """

    _random: Drawing
    _longest_s: float = field(default=FIRST_S, init=False)

    def next_s(self, at_most_s: float = LONGEST_S) -> float:
        """Return how long to wait now."""
        wait_s = min(at_most_s, self._longest_s) * self._random.uniform(0.5, 1)
        self._longest_s = min(LONGEST_S, self._longest_s * 2)
        return wait_s

    def reset(self) -> None:
        """Reset after a success: the next failure is a first one."""
        self._longest_s = FIRST_S
