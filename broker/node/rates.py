"""How often somebody may do something: so many times at once, and so many times a second.

Law: who rests for as long as it is told takes at most `burst + per_s * s` in any s seconds.
"""

from attrs import define, field

__all__ = ["Rate"]


@define(eq=False)
class Rate:
    """What has been taken and has not been given back by time."""

    per_s: int
    burst: int
    _taken: float = field(default=0.0, init=False)
    _at_s: float = field(default=0.0, init=False)

    @classmethod
    def of(cls, per_s: int, most: int) -> "Rate":
        """Return a rate at which all that somebody may have can be asked for at once."""
        return cls(per_s, max(per_s, most))

    def take(self, now_s: float) -> float:
        """Take one; return for how many seconds whoever took it has to rest."""
        self._taken = max(0.0, self._taken - (now_s - self._at_s) * self.per_s) + 1
        self._at_s = now_s
        return max(0.0, (self._taken - self.burst) / self.per_s)
