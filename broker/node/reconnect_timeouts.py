"""The timeouts of links, publishers and subscriptions that have lost their connections.

Laws.

1. A session expires by a call from here, between two steps of the node. Time decides nothing else: the
   connections report that a session has lost its connection, and when.
2. With a journal the station records which sessions are disconnected and how much time passes, so that the
   timeouts of a broker that is killed again and again end, too. Time is recorded when a session is
   disconnected, and after every `PART` of the shortest timeout: a kill forgets no more than that.
3. A start counts as such a part: the timeouts of a broker that is killed more often than that end, too.
4. Time is measured by a clock that never steps. The wall clock gives only how long the broker was down: if it
   was set back, the broker was down for no time at all. Whatever the wall clock shows, a durable subscription
   may be resumed for a link timeout, counted in time in which the broker is up.
"""

from collections.abc import Callable
from math import inf
from typing import Final, Protocol

from attrs import define, field

from broker.node.timers import Timer, Timers
from broker.station import DisconnectedSince, ElapsedTime

PART: Final = 0.05
"""The part of a timeout that a crash may forget, and after which time is recorded."""

SHORTEST_S: Final = 0.05
"""Time is not recorded more often, however short a timeout is."""

MS: Final = 1000

_NS_PER_MS: Final = 1_000_000


class Reconnectable(Protocol):
    """A session that may be resumed over another connection."""

    @property
    def station_key(self) -> tuple[str, str]:
        """The kind of its state at the station ("link", "publisher", "subscription"), and its name there."""
        ...

    def give_up(self) -> None:
        """End the session: it was not resumed in time."""
        ...


class TimeoutRecorder(Protocol):
    """The part of a station that records disconnected sessions and passing time."""

    elapsed: ElapsedTime

    def time_passed(self, awake_ms: int, asleep_ms: int, at_ms: int) -> None:
        """Record how much time has passed, with the broker up and down."""
        ...

    def left(self, kind: str, name: str) -> DisconnectedSince:
        """Record that a session is disconnected; return since when, which may be before a restart."""
        ...

    def came(self, kind: str, name: str) -> None:
        """Record that a session is connected again."""
        ...


@define(eq=False)
class ReconnectTimeouts:
    """The timeouts of all disconnected sessions; `settle` carries out the effects of ending one."""

    _settle: Callable[[], None]
    _timers: Timers
    _wall_ns: Callable[[], int]
    _station: TimeoutRecorder | None = None
    _deadlines_s: dict[Reconnectable, float] = field(factory=dict, init=False)
    _timeouts_s: dict[Reconnectable, float] = field(factory=dict, init=False)
    _reported_at_s: float = field(default=inf, init=False)
    _timer: Timer | None = field(default=None, init=False)

    def broker_started(self, timeout_s: float) -> None:
        """Record how long the broker was down; `timeout_s` is the link timeout (laws 3 and 4)."""
        if self._station is not None:
            at_ms = self._wall_ns() // _NS_PER_MS
            reported_at_ms = self._station.elapsed.reported_at_ms
            asleep_ms = max(0, at_ms - reported_at_ms) if reported_at_ms else 0
            self._station.time_passed(int(timeout_s * PART * MS), asleep_ms, at_ms)
        self._reported_at_s = self._timers.now_s

    def start(self, session: Reconnectable, timeout_s: float, *, chance_s: float | None = None) -> None:
        """Start the timeout of a session; with a `chance_s`, time in which the broker is down counts, too."""
        now_s = self._timers.now_s
        left_s = timeout_s
        if self._station is not None:
            self._report_time(now_s)
            since = self._station.left(*session.station_key)
            awake_s = self._station.elapsed.awake_s(since)
            left_s -= awake_s
            if chance_s is not None:
                left_s = max(
                    left_s - self._station.elapsed.asleep_s(since), min(chance_s, timeout_s) - awake_s
                )
        self._deadlines_s[session] = now_s + left_s
        self._timeouts_s[session] = timeout_s
        self._wake_at(min(now_s + left_s, self._report_due_s()))

    def cancel(self, session: Reconnectable) -> None:
        """Cancel the timeout of a session that was resumed or withdrawn."""
        self._timeouts_s.pop(session, None)
        if self._deadlines_s.pop(session, None) is not None and self._station is not None:
            self._station.came(*session.station_key)

    def __len__(self) -> int:
        return len(self._deadlines_s)

    def _wake_at(self, at_s: float) -> None:
        """Set the timer to this time, if it is not set to an earlier one."""
        if at_s == inf or (self._timer is not None and self._timer.is_set and self._timer.at_s <= at_s):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timers.at(at_s, self._look)

    def _look(self) -> None:
        """End the sessions whose timeouts have passed, and record the time if that is due."""
        now_s = self._timers.now_s
        self._give_up_overdue(now_s)
        if self._report_due_s() <= now_s:
            self._report_time(now_s)
        self._wake_at(min(self._report_due_s(), *self._deadlines_s.values(), inf))

    def _report_due_s(self) -> float:
        """When time is to be recorded next; infinity if no session is disconnected."""
        if self._station is None or not self._timeouts_s:
            return inf
        return self._reported_at_s + max(PART * min(self._timeouts_s.values()), SHORTEST_S)

    def _report_time(self, now_s: float) -> None:
        """Record how much time has passed, in whole milliseconds; the rest is recorded later."""
        assert self._station is not None
        passed_ms = int((now_s - min(self._reported_at_s, now_s)) * MS)
        if passed_ms:
            self._station.time_passed(passed_ms, 0, self._wall_ns() // _NS_PER_MS)
        self._reported_at_s = now_s if self._reported_at_s == inf else self._reported_at_s + passed_ms / MS

    def _give_up_overdue(self, now_s: float) -> None:
        overdue = [session for session, until_s in self._deadlines_s.items() if until_s <= now_s]
        for session in overdue:
            # A session that was ended before may have ended this one.
            self._timeouts_s.pop(session, None)
            if self._deadlines_s.pop(session, None) is not None:
                session.give_up()
        if overdue:
            self._settle()
