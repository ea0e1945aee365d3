"""A limit on the rate of requests: so many at once, and so many a second.

Law: a caller that rests for the seconds that `take` returns takes at most `burst + per_s * s` in any s
seconds.
"""

from attrs import define, field


@define(eq=False)
class Rate:
    """A leaky bucket: what was taken and time has not given back yet."""

    per_s: int
    burst: int
    _taken: float = field(default=0.0, init=False)
    _at_s: float = field(default=0.0, init=False)

    @classmethod
    def of(cls, per_s: int, most: int) -> "Rate":
        """Return a rate whose burst is all that one peer may have."""
        return cls(per_s, max(per_s, most))

    def take(self, now_s: float) -> float:
        """Take one; return for how many seconds the caller has to rest."""
        self._taken = max(0.0, self._taken - (now_s - self._at_s) * self.per_s) + 1
        self._at_s = now_s
        return max(0.0, (self._taken - self.burst) / self.per_s)
