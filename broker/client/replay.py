"""The replay that a program asks for: an age, a count, or both."""

import math
from collections.abc import Callable
from typing import Final

from attrs import frozen

from broker.quantities import read_span
from broker.replay.bounds import COUNT_MAX

NOW: Final = "now"
CACHED_S: Final = 3600.0
"""What a broker's cache has at most, unless its operator says otherwise: `--replay-age`."""

_MS_PER_S: Final = 1000
_YEAR_S: Final = 366 * 86400


@frozen
class Replay:
    """The newest `count` publications (None: all), of those not older than `age_s` (None: of any age).

    By age, a history is asked first, if there is one that keeps what is subscribed to: where more than an
    hour is asked for, or `history` is true. Then it is a gap if none answers; false asks none.
    """

    count: int | None = None
    age_s: float | None = None
    history: bool | None = None

    def __attrs_post_init__(self) -> None:
        if self.count is None and self.age_s is None:
            raise ValueError("replay: say how many publications, or how old they may be")
        if self.count is not None and not 1 <= self.count <= COUNT_MAX:
            raise ValueError(f"replay: expected 1 to {COUNT_MAX} publications, got {self.count}")
        if self.age_s is not None and not 0 <= self.age_s <= _YEAR_S:
            raise ValueError(f"replay: expected an age of 0 seconds to a year, got {self.age_s:g} s")
        if self.history and (self.age_s is None or self.count is not None):
            raise ValueError("replay: a history is asked for an age, not for a count")

    @property
    def asks_history(self) -> bool:
        """Whether histories are asked before the caches of brokers."""
        if self.age_s is None or self.count is not None:
            return False
        return self.age_s > CACHED_S if self.history is None else self.history

    @classmethod
    def of(cls, wanted: "Replay | str | int") -> "Replay":
        """Read `"5m"` and `"now"` (an age), `1000` and `"1000"` (a count), or take a `Replay` as it is.

        Raises:
            ValueError: it is none of these.
        """
        if isinstance(wanted, Replay):
            return wanted
        if type(wanted) is int:
            return cls(count=wanted)
        if isinstance(wanted, str):
            if wanted == NOW:
                return cls(age_s=0)
            if wanted.isascii() and wanted.isdigit():
                return cls(count=int(wanted))
            try:
                return cls(age_s=read_span(wanted))
            except ValueError as error:
                raise ValueError(f"replay: {error}; or now, or a number of publications") from None
        raise ValueError(f"replay: expected an age such as '5m', a count, or a Replay, got {wanted!r}")

    def asking(self, begun_s: float) -> Callable[[float], tuple[int, ...]]:
        """Return the request to a broker, at whatever time it is sent: the age counts from `begun_s` on."""

        def ask(now_s: float) -> tuple[int, ...]:
            count = self.count or 0
            if self.age_s is None:
                return (count,)
            return count, math.ceil((self.age_s + now_s - begun_s) * _MS_PER_S)

        return ask
