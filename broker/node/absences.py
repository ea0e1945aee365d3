"""Who has lost its connection, and until when it is waited for.

Laws.

1. What is given up is given up by a call from here, between steps of everything else. Time decides nothing
   else: whether somebody is away, and since when, is told by the connections.
2. With a journal the station is told who is away and how much time passes, so that a broker that is killed
   again and again does not wait for ever. It is told when somebody leaves, and after every `PART` of the
   shortest patience: a kill forgets no more than that.
3. A start counts as such a part: a broker that is killed more often than that ends its waiting, too.
4. Time is measured by a clock that never steps. The clock on the wall says only how long the broker was
   down: if it was set back that was no time at all. And whatever it says, who is away gets a link's patience
   to come back, counted in time in which the broker is up.
"""

from collections.abc import Callable
from math import inf
from typing import Final, Protocol

from attrs import define, field

from broker.node.timers import Timer, Timers
from broker.station import Away, Waited

__all__ = ["PART", "Absences", "Absent", "Remembering"]

PART: Final = 0.05
"""Of a patience: what a crash may forget of it, and how rarely time is written down."""

SHORTEST_S: Final = 0.05
"""Time is not told more often, however short a patience is."""

MS: Final = 1000

_NS_PER_MS: Final = 1_000_000


class Absent(Protocol):
    """Something without a connection that may be given one again."""

    @property
    def absence(self) -> tuple[str, str]:
        """What kind of place it has at the station, and the name of that."""
        ...

    def give_up(self) -> None:
        """Nobody came in time."""
        ...


class Remembering(Protocol):
    """What this needs of a station."""

    waited: Waited

    def time_passed(self, awake_ms: int, asleep_ms: int, at_ms: int) -> None:
        """So much time has passed."""
        ...

    def left(self, kind: str, name: str) -> Away:
        """Somebody is away; return since when, which may be longer ago."""
        ...

    def came(self, kind: str, name: str) -> None:
        """It is back."""
        ...


@define(eq=False)
class Absences:
    """Everybody who is waited for; `settle` carries out what follows from giving somebody up."""

    _settle: Callable[[], None]
    _timers: Timers
    _wall_ns: Callable[[], int]
    _station: Remembering | None = None
    _deadlines_s: dict[Absent, float] = field(factory=dict, init=False)
    _patience_s: dict[Absent, float] = field(factory=dict, init=False)
    _told_at_s: float = field(default=inf, init=False)
    _timer: Timer | None = field(default=None, init=False)

    def started(self, patience_s: float) -> None:
        """The broker is up again; a link is waited for so long (laws 3 and 4)."""
        if self._station is not None:
            at_ms = self._wall_ns() // _NS_PER_MS
            told_at_ms = self._station.waited.told_at_ms
            asleep_ms = max(0, at_ms - told_at_ms) if told_at_ms else 0
            self._station.time_passed(int(patience_s * PART * MS), asleep_ms, at_ms)
        self._told_at_s = self._timers.now_s

    def left(self, who: Absent, patience_s: float, *, chance_s: float | None = None) -> None:
        """Wait for somebody for so long; for one with a `chance_s`, the time of being down counts, too."""
        now_s = self._timers.now_s
        left_s = patience_s
        if self._station is not None:
            self._tell(now_s)
            since = self._station.left(*who.absence)
            awake_s = self._station.waited.awake_s(since)
            left_s -= awake_s
            if chance_s is not None:
                left_s = max(
                    left_s - self._station.waited.asleep_s(since), min(chance_s, patience_s) - awake_s
                )
        self._deadlines_s[who] = now_s + left_s
        self._patience_s[who] = patience_s
        self._wake_at(min(now_s + left_s, self._tells_at_s()))

    def came(self, who: Absent) -> None:
        """Wait no longer: it is back, or not wanted any more."""
        self._patience_s.pop(who, None)
        if self._deadlines_s.pop(who, None) is not None and self._station is not None:
            self._station.came(*who.absence)

    def __len__(self) -> int:
        return len(self._deadlines_s)

    def _wake_at(self, at_s: float) -> None:
        """Look again at this time, or before."""
        if at_s == inf or (self._timer is not None and self._timer.is_set and self._timer.at_s <= at_s):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timers.at(at_s, self._look)

    def _look(self) -> None:
        """Give up whoever is overdue, and tell the time if that is due."""
        now_s = self._timers.now_s
        self._give_up_overdue(now_s)
        if self._tells_at_s() <= now_s:
            self._tell(now_s)
        self._wake_at(min(self._tells_at_s(), *self._deadlines_s.values(), inf))

    def _tells_at_s(self) -> float:
        """When the station is to be told the time: never if nobody is away."""
        if self._station is None or not self._patience_s:
            return inf
        return self._told_at_s + max(PART * min(self._patience_s.values()), SHORTEST_S)

    def _tell(self, now_s: float) -> None:
        """Tell the station how much time has passed, in whole milliseconds; what is left is told later."""
        assert self._station is not None
        passed_ms = int((now_s - min(self._told_at_s, now_s)) * MS)
        if passed_ms:
            self._station.time_passed(passed_ms, 0, self._wall_ns() // _NS_PER_MS)
        self._told_at_s = now_s if self._told_at_s == inf else self._told_at_s + passed_ms / MS

    def _give_up_overdue(self, now_s: float) -> None:
        overdue = [who for who, until_s in self._deadlines_s.items() if until_s <= now_s]
        for who in overdue:
            # Whoever was given up before may have taken this one along.
            self._patience_s.pop(who, None)
            if self._deadlines_s.pop(who, None) is not None:
                who.give_up()
        if overdue:
            self._settle()
