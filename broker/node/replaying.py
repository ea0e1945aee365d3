"""Replays that go on: a subscription gets more of its past when its queue has room.

Laws:

1. A replay is as fast as its reader: no more of it waits here than `room_for` says, and that is below where
   publishers would have to wait for the subscription.
2. Every part is a step of its own: between two parts, others have their turn.
3. What is too old to be kept is forgotten now and then; that is an input like all others.
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

__all__ = ["Replaying", "objection_to", "past_of", "room_for"]

ROOM_BYTES_MAX: Final = 256 * 1024
"""What may wait in a queue while a past is played: a few parts, so that the reader never waits for us."""

ROOM_PART: Final = 8
"""And this part of the queue's bound: half of where publishers begin to wait."""

AGING_PART: Final = 20
"""What is kept may be older than it should be by this part of the age."""

AGING_S_MIN: Final = 1.0

_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
_COUNT_ALONE: Final = 1
_COUNT_AND_AGE: Final = 2


def objection_to(request: Subscribe) -> str:
    """Say what is wrong with the past that is asked for, if anything is."""
    asked = request.replay
    if len(asked) > _COUNT_AND_AGE or asked == (0,):
        return f"replay: expected a count, or a count (0: all) and an age in milliseconds, got {list(asked)}"
    if asked and asked[0] > COUNT_MAX:
        return f"replay: at most {COUNT_MAX} publications can be asked for by their number, not {asked[0]}"
    return ""


def past_of(request: Subscribe, now_ns: int) -> tuple[int, ...]:
    """Return since when and how many are wanted; nothing if none are, or if the client had some before."""
    if not request.replay or request.resume or request.after:
        return ()
    count = request.replay[0]
    if len(request.replay) == _COUNT_ALONE:
        return 0, count
    return max(0, now_ns - request.replay[1] * _NS_PER_MS), count


def room_for(bound_bytes: int, queued_bytes: int) -> int:
    """How much of a past may be put into a queue with this bound now."""
    return min(ROOM_BYTES_MAX, bound_bytes // ROOM_PART) - queued_bytes


@define(eq=False)
class Replaying:
    """The subscriptions that can be given more; `settle` carries out what follows from it."""

    _station: "Station"
    _settle: Callable[[], None]
    _timers: Timers
    wall_ns: Callable[[], int]
    _waiting: dict["LocalSubscription", None] = field(factory=dict, init=False)
    _timer: Timer | None = field(default=None, init=False)

    def add(self, subscription: "LocalSubscription") -> None:
        """There is more for this subscription."""
        self._waiting[subscription] = None
        self._look_soon()

    def discard(self, subscription: "LocalSubscription") -> None:
        """It has ended."""
        self._waiting.pop(subscription, None)

    def look(self, subscription: "LocalSubscription") -> None:
        """Its queue may have room again."""
        if subscription in self._waiting:
            self._look_soon()

    def _look_soon(self) -> None:
        if self._timer is None:
            self._timer = self._timers.after(0, self._look)

    def _look(self) -> None:
        """Give more to the first that has room; the others have their turn in steps of their own."""
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
        """Forget what is older than this, now and then, for ever."""
        self._timers.every(
            lambda: max(AGING_S_MIN, age_s / AGING_PART),
            lambda: self._station.forget_before(self.wall_ns() - round(age_s * _NS_PER_S)),
        )
