"""Deliveries between the broker and the user: an inbox per subscription, in order, bounded by credit. No I/O.

Laws:

* What arrives is handed out in the order in which it arrived, gaps in their places.
* Every delivery has a position, counted here and at the broker alike: a delivery takes one, a gap as many as
  are missing in it, one if nobody knows. So a connection that breaks anywhere is resumed exactly behind what
  has arrived.
* The user has *had* a delivery when the next one is asked for. What was had need not be kept by the broker.
* The broker may send as many deliveries as it has credit for; credit is given back when deliveries have been
  handed out, half an allowance at a time.
* The allowance follows the sizes seen, so that what waits here is about `Limits.inbox_bytes`, whether
  deliveries are small or large.
* An inbox that has ended still hands out what had arrived before.
"""

from collections import deque
from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Final

from attrs import define, field

from broker.client.delivery import FORGOTTEN, Gap
from broker.client.life import PHASE_TRANSITIONS, Phase
from broker.client.limits import Limits
from broker.errors import BrokerFaultError, ConcordError
from broker.transitions import follow

__all__ = ["Inbox"]

_WEIGHT: Final = 8
"""The mean size moves by one part in so many towards each batch's mean: quick to follow, slow to panic."""

CONFIRM_BYTES: Final = 64 * 1024
"""So much that was had is confirmed at the latest: a broker sends nothing more beyond its limit of what is
not, which is 256 KiB or more. One small frame for some hundred events."""

_UNCONFIRMED: Final = -1
"""Less than any position: the broker is to be told again, what was said before may have been lost."""


def _nothing_of_the_past(_: float) -> tuple[int, ...]:
    """The part of the past that a subscription asks for unless it says otherwise."""
    return ()


@define(eq=False)
class _Run:
    """Deliveries that arrived together; `first` is the position of the first, `end` that of the last."""

    frames: list[bytes]
    first: int
    end: int
    size_bytes: int


@define(eq=False)
class _Hole:
    """A gap, and the last position that it takes."""

    gap: Gap
    end: int


@define(eq=False)
class Inbox:
    """One subscription of this client, over all its connections.

    `number` is its request on the present one, `outstanding_count` how much more may be delivered there.
    `id` is what the broker calls it, `position` what has arrived, `had` what the user has had. Of what was
    handed out, the last `in_use_count` deliveries are still in use.
    """

    filter: str
    ordered: bool
    bound_bytes: int
    policy: str
    limits: Limits
    durable: str = ""
    age_s: int = 0
    after: int | None = None
    replay: Callable[[float], tuple[int, ...]] = _nothing_of_the_past
    number: int = 0
    id: str = ""
    is_placed: bool = False
    is_resumed: bool = False
    phase: Phase = Phase.OPENING
    ended: ConcordError | None = None
    outstanding_count: int = 0
    position: int = 0
    had: int = 0
    first: int = 0
    in_use_count: int = 1
    _confirmed: int = _UNCONFIRMED
    _entries: deque[_Run | _Hole] = field(factory=deque)
    _reading: Iterator[bytes] | None = None
    _reading_end: int = 0
    _reading_bytes: int = 0
    _unsaid_bytes: int = 0
    """What the user has had since the broker was told: the broker keeps it."""
    _held_count: int = 0
    _mean_bytes: float = 0.0

    @property
    def allowance_count(self) -> int:
        """How many deliveries may be on their way or waiting here."""
        limits = self.limits
        if not self._mean_bytes:
            return min(limits.credit_first, limits.credit_max)
        fitting_count = int(limits.inbox_bytes / self._mean_bytes)
        return max(limits.credit_min, min(fitting_count, limits.credit_max))

    def enter(self, phase: Phase) -> None:
        """Go on to another phase."""
        self.phase = follow(PHASE_TRANSITIONS, self.phase, phase)

    # --- the broker's side ---

    def open(self, number: int) -> int:
        """A new connection: the request's number there; returns the credit to ask with."""
        self.number = number
        self.is_placed = False
        self.outstanding_count = max(self.allowance_count - self._held_count, 1)
        return self.outstanding_count

    @property
    def place(self) -> tuple[int, ...]:
        """Where to go on: behind what has arrived, or where the user said; empty if the broker decides."""
        if self.id:
            return (self.position,)
        return () if self.after is None else (self.after,)

    def placed(self, subscription: str, position: int, *, goes_on: bool) -> None:
        """The broker says from where it counts, and whether everything since `place` is still to come."""
        place = self.place
        if goes_on and place and place[0] != position:
            text = f"the broker goes on behind {position} where {place[0]} was asked for"
            raise BrokerFaultError(text, "unexpected")
        self.is_placed = True
        if not self.id:
            self.is_resumed = goes_on
            self.had = position
        self.id = subscription
        self.position = position
        self._confirmed = _UNCONFIRMED
        if place and not goes_on:
            self._begin_anew(position)

    def _begin_anew(self, position: int) -> None:
        """The broker counts anew: what is still here has no position there any more."""
        for entry in self._entries:
            entry.end = position
        self._reading, self._reading_end = None, position
        self.had = position
        self._miss(Gap(None, FORGOTTEN))

    def put(self, frames: list[bytes], size_bytes: int) -> None:
        """Deliveries arrived, of so many bytes together."""
        count = len(frames)
        self.outstanding_count -= count
        self._held_count += count
        mean_bytes = size_bytes / count
        if self._mean_bytes:
            self._mean_bytes += (mean_bytes - self._mean_bytes) / _WEIGHT
        else:
            self._mean_bytes = mean_bytes
        first = self.position + 1
        self.position += count
        self._entries.append(_Run(frames, first, self.position, size_bytes))

    def gap(self, count: int, reason: str) -> None:
        """So many deliveries are missing at this place; nobody knows how many if it is 0."""
        self.position += max(count, 1)
        self._miss(Gap(count or None, reason))

    def _miss(self, gap: Gap) -> None:
        last = self._entries[-1] if self._entries else None
        if isinstance(last, _Hole):
            last.gap += gap
            last.end = self.position
        else:
            self._entries.append(_Hole(gap, self.position))

    # --- the user's side ---

    def take(self) -> list[bytes] | Gap | None:
        """The next run of deliveries (from position `first` on) or the gap before it; None without any."""
        if not self._entries:
            return None
        entry = self._entries.popleft()
        if isinstance(entry, _Hole):
            self.had = entry.end
            return entry.gap
        self.first, self._reading_end, self._reading_bytes = entry.first, entry.end, entry.size_bytes
        return entry.frames

    def read(self, frames: Iterator[bytes]) -> Iterator[bytes]:
        """Watch how far this iterator over the run that was taken last has come."""
        self._reading = frames
        return frames

    def handed_out(self, count: int) -> int:
        """The user has had a run of so many; returns the credit to give the broker now, often none."""
        self.had = self._reading_end
        self._reading = None
        self._unsaid_bytes += self._reading_bytes
        self._held_count -= count
        assert self._held_count >= 0
        allowance_count = self.allowance_count
        count = allowance_count - self.outstanding_count - self._held_count
        if count * 2 < allowance_count:
            return 0
        self.outstanding_count += count
        return count

    @property
    def owes_confirmation(self) -> bool:
        """Whether so much was had that the broker should be told, with credit or without."""
        return self._unsaid_bytes >= CONFIRM_BYTES

    def notice_progress(self, *, had_last: bool = False) -> None:
        """See how far the run being read was had: all that was handed out, but what is still in use."""
        if self._reading is not None:
            in_use_count = 0 if had_last else self.in_use_count
            reached = self._reading_end - length_hint(self._reading) - in_use_count
            self.had = max(self.had, reached)

    def untold(self) -> int | None:
        """The position to tell the broker as had, if it has not been told."""
        self._unsaid_bytes = 0
        if self.had == self._confirmed:
            return None
        self._confirmed = self.had
        return self.had
