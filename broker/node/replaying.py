"""Replays in progress: a subscription gets more past events when its queue has room.

Laws:

1. A replay is as fast as its reader: it queues no more than `room_for` allows, which is below the mark at
   which publishers would have to wait for the subscription.
2. Every part is a step of its own: between two parts, other sessions have their turn.
3. Events beyond the maximal age are dropped from time to time; that is an input like all others. So are the
   marks of how far the cache goes.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from attrs import define, field

from broker.messages import Subscribe
from broker.node.timers import Timer, Timers
from broker.replay.bounds import COUNT_MAX

if TYPE_CHECKING:
    from broker.node.subscriptions import LocalSubscription
    from broker.station import Station


ROOM_BYTES_MAX: Final = 256 * 1024
"""The queue's limit during a replay: a few parts, so that the reader never waits for the broker."""

ROOM_PART: Final = 8
"""And at most this part of the queue's limit: half of where publishers begin to wait."""

AGING_PART: Final = 20
"""Cached events may be older than the maximal age by this part of it."""

AGING_S_MIN: Final = 1.0

MARK_S: Final = 1.0
"""The interval of marks while events are cached: a replay from now on has about so much too much per hop."""

_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
_COUNT_ALONE: Final = 1
_COUNT_AND_AGE: Final = 2


def objection_to(request: Subscribe) -> str:
    """Return what is wrong with a request for a replay; nothing if it is valid."""
    asked = request.replay
    if len(asked) > _COUNT_AND_AGE or asked == (0,):
        return f"replay: expected a count, or a count (0: all) and an age in milliseconds, got {list(asked)}"
    if asked and asked[0] > COUNT_MAX:
        return f"replay: at most {COUNT_MAX} publications can be asked for by their number, not {asked[0]}"
    return ""


def past_of(request: Subscribe, now_ns: int) -> tuple[int, ...]:
    """Return the start and number of the events to replay; nothing if none, or if the client resumes."""
    if not request.replay or request.resume or request.after:
        return ()
    count = request.replay[0]
    if len(request.replay) == _COUNT_ALONE:
        return 0, count
    return max(0, now_ns - request.replay[1] * _NS_PER_MS), count


def room_for(bound_bytes: int, queued_bytes: int) -> int:
    """Return how many bytes of a replay may be queued now, in a queue with this limit."""
    return min(ROOM_BYTES_MAX, bound_bytes // ROOM_PART) - queued_bytes


@define(eq=False)
class Replaying:
    """The replays in progress; `settle` carries out the effects of each part."""

    _station: "Station"
    _settle: Callable[[], None]
    _timers: Timers
    wall_ns: Callable[[], int]
    _waiting: dict["LocalSubscription", None] = field(factory=dict, init=False)
    _timer: Timer | None = field(default=None, init=False)

    def add(self, subscription: "LocalSubscription") -> None:
        """Add a subscription whose replay has more to send."""
        self._waiting[subscription] = None
        self._look_soon()

    def discard(self, subscription: "LocalSubscription") -> None:
        """Remove a subscription that has ended."""
        self._waiting.pop(subscription, None)

    def look(self, subscription: "LocalSubscription") -> None:
        """Continue the replay of a subscription whose queue may have room again."""
        if subscription in self._waiting:
            self._look_soon()

    def _look_soon(self) -> None:
        if self._timer is None:
            self._timer = self._timers.after(0, self._look)

    def _look(self) -> None:
        """Replay a part to the first subscription that has room; others have their turn in other steps."""
        self._timer = None
        for subscription in list(self._waiting):
            room_bytes = subscription.replay_room_bytes
            if room_bytes > 0:
                del self._waiting[subscription]
                self._station.replay_more(subscription.id, room_bytes)
                self._settle()
                self._look_soon()
                return

    def age(self, age_s: float) -> None:
        """Drop events beyond this age, and mark how far the cache goes, from time to time and for ever."""
        self._timers.every(lambda: MARK_S, self._mark)
        self._timers.every(
            lambda: max(AGING_S_MIN, age_s / AGING_PART),
            lambda: self._station.forget_before(self.wall_ns() - round(age_s * _NS_PER_S)),
        )

    def _mark(self) -> None:
        """Let neighbours have a mark, if one is due."""
        if self._station.core.replays.is_mark_due:
            self._station.mark_position()
            self._settle()
