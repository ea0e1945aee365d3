"""How long a producer goes on when nobody wants it any more."""

from collections.abc import Callable
from math import inf

from attrs import define, field


@define(eq=False)
class Linger:
    """Until when a producer goes on: while it is wanted, then for `linger_s`; never behind its end."""

    _is_wanted: Callable[[], bool]
    _has_ended: Callable[[], bool]
    _now_s: Callable[[], float]
    _linger_s: float
    _until_s: float = field(default=inf, init=False)

    def deadline_s(self) -> float:
        """Return when to cancel the producer."""
        if self._has_ended():
            return -inf
        if self._is_wanted():
            self._until_s = inf
        elif self._until_s == inf:
            self._until_s = self._now_s() + self._linger_s
        return self._until_s
