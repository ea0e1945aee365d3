"""Deliveries between the broker and the user: an inbox per subscription, in order, limited by credit. No I/O.

Laws:

* Deliveries and gaps are yielded in the order in which they arrived.
* Every delivery has a position, counted here and at the broker alike: a delivery takes one, a gap as many as
   are missing in it, one if nobody knows. So after a lost connection the subscription resumes exactly behind
   the last delivery that has arrived.
* The user has *had* a delivery when it asks for the next one, or, with a `max_open`, when it acknowledges it
  or a later one. The broker need not keep deliveries that were had.
* The broker may send as many deliveries as it has credit for; credit is returned when deliveries were had,
  half an allowance at a time. So no more than `max_open` are yielded and not acknowledged.
* An acknowledgement of a delivery from before positions began anew has no effect.
* The allowance follows the sizes seen, so that about `Limits.inbox_bytes` wait here, whether deliveries are
  small or large.
* With `seen` it leaves out what has come before from another broker. That takes its position all the same.
* An inbox that has ended still yields the deliveries that had arrived before.
"""

from collections import deque
from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Final

from attrs import define, field

from broker.client.delivery import FORGOTTEN, Gap
from broker.client.life import PHASE_TRANSITIONS, Phase
from broker.client.limits import Limits
from broker.client.seen import SeenEvents
from broker.errors import BrokerFaultError, ConcordError
from broker.transitions import follow

_WEIGHT: Final = 8
"""The mean size moves by one part in so many towards each batch's mean: quick to follow, slow to panic."""

CONFIRM_BYTES: Final = 512 * 1024
"""The user's position is confirmed after so many bytes at the latest: a broker stops sending at its limit of
unconfirmed bytes, which is 1 MiB or more. One small frame for some thousand small events: with 50 subscribers
on a broker, confirmations four times as often took a tenth of its time."""

_UNCONFIRMED: Final = -1
"""Less than any position: an earlier confirmation may have been lost, so another one is due."""


def _nothing_of_the_past(_: float) -> tuple[int, ...]:
    """The default replay of a subscription."""
    return ()


@define(eq=False)
class _Run:
    """Deliveries that arrived together; `first` is the position of the first, `end` that of the last."""

    frames: list[bytes]
    first: int
    end: int
    size_bytes: int
    era: int


@define(eq=False)
class _Hole:
    """A gap, the last position that it takes, and the subscription that goes on behind it."""

    gap: Gap
    end: int
    era: int
    id: str


@define(eq=False)
class _Skipped:
    """Deliveries that came before, and the last position that they take."""

    end: int


@define(eq=False)
class Inbox:
    """One subscription of this client, over all its connections.

    `number` is its request on the present one, `outstanding_count` how much more may be delivered there.
    `id` is what the broker calls it, `position` what has arrived, `had` what the user has had; `read_id` and
    `read_era` belong to what was taken last. `after` is a position of the subscription `resume`. Of the
    deliveries that were yielded, the last `in_use_count` are still in use. `max_open` is how many deliveries
    may be unacknowledged; 0 if the program does not acknowledge. `era` counts how often positions have begun
    anew.
    """

    filter: str
    ordered: bool
    bound_bytes: int
    policy: str
    limits: Limits
    durable: str = ""
    age_s: int = 0
    after: int | None = None
    resume: str = ""
    max_open: int = 0
    replay: Callable[[float], tuple[int, ...]] = _nothing_of_the_past
    seen: SeenEvents | None = None
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
    read_era: int = 0
    read_id: str = ""
    in_use_count: int = 1
    era: int = 0
    _confirmed: int = _UNCONFIRMED
    _entries: deque[_Run | _Hole | _Skipped] = field(factory=deque)
    _open: deque[_Run] = field(factory=deque)
    """Runs that were taken and are not acknowledged: whole ones, but the first."""
    _reading: Iterator[bytes] | None = None
    _reading_end: int = 0
    _reading_bytes: int = 0
    _unconfirmed_bytes: int = 0
    """The bytes that the user has had since the last confirmation: the broker still keeps them."""
    _held_count: int = 0
    _mean_bytes: float = 0.0

    @property
    def allowance_count(self) -> int:
        """How many deliveries may be on their way or waiting here."""
        limits = self.limits
        if not self._mean_bytes:
            count = min(limits.credit_first, limits.credit_max)
        else:
            fitting_count = int(limits.inbox_bytes / self._mean_bytes)
            count = max(limits.credit_min, min(fitting_count, limits.credit_max))
        return min(count, self.max_open) if self.max_open else count

    def enter(self, phase: Phase) -> None:
        """Enter another phase."""
        self.phase = follow(PHASE_TRANSITIONS, self.phase, phase)

    # --- the broker's side ---

    def open(self, number: int) -> int:
        """A new connection: the request's number there; returns the credit to ask with."""
        self.number = number
        self.is_placed = False
        least_count = 0 if self.max_open else 1
        self.outstanding_count = max(self.allowance_count - self._held_count, least_count)
        return self.outstanding_count

    @property
    def resume_position(self) -> tuple[int, ...]:
        """The position to resume from: the last arrived one, or the user's; empty if the broker decides."""
        if self.id:
            return (self.position,)
        return () if self.after is None else (self.after,)

    def placed(self, subscription: str, position: int, *, goes_on: bool) -> None:
        """Take the broker's position, and whether all deliveries since `resume_position` will follow."""
        asked = self.resume_position
        if goes_on and asked and asked[0] != position:
            text = f"the broker goes on behind {position} where {asked[0]} was asked for"
            raise BrokerFaultError(text, "unexpected")
        self.is_placed = True
        if not self.id:
            self.is_resumed = goes_on
            self.had = self._reading_end = position
            self.read_id = subscription
        self.id = subscription
        self.position = position
        self._confirmed = _UNCONFIRMED
        if asked and not goes_on:
            self._begin_anew(position)

    def _begin_anew(self, position: int) -> None:
        """Restart the count at the broker's position: deliveries here have no position there any more."""
        for entry in self._entries:
            entry.end = position
        self._reading, self._reading_end = None, position
        self.had = position
        self.era += 1
        self._held_count -= sum(len(run.frames) for run in self._open)
        self._open.clear()
        self._miss(Gap(None, FORGOTTEN))

    def put(self, frames: list[bytes], size_bytes: int) -> None:
        """Add deliveries that arrived, of so many bytes together."""
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
        if self.seen is None:
            self._entries.append(_Run(frames, first, self.position, size_bytes, self.era))
        else:
            self._put_new(frames, first, self.seen)

    def _put_new(self, frames: list[bytes], first: int, seen: SeenEvents) -> None:
        """Add the deliveries that have not come before."""
        end = first - 1
        for place, run in seen.new_runs(frames):
            if first + place > end + 1:
                self._entries.append(_Skipped(first + place - 1))
            end = first + place + len(run) - 1
            self._entries.append(_Run(run, first + place, end, sum(map(len, run)), self.era))
            self._held_count += len(run)
        if end < self.position:
            self._entries.append(_Skipped(self.position))
        self._held_count -= len(frames)

    def gap(self, count: int, reason: str) -> None:
        """Add a gap of `count` missing deliveries; 0 means an unknown number."""
        self.position += max(count, 1)
        self._miss(Gap(count or None, reason))

    def _miss(self, gap: Gap) -> None:
        last = self._entries[-1] if self._entries else None
        if isinstance(last, _Hole):
            gap = last.gap + gap
            self._entries.pop()
        self._entries.append(_Hole(gap, self.position, self.era, self.id))

    # --- the user's side ---

    def take(self) -> list[bytes] | Gap | None:
        """Return the next run of deliveries (from position `first` on), the gap before it, or None."""
        while self._entries:
            entry = self._entries.popleft()
            if isinstance(entry, _Run):
                return self._take_run(entry)
            if not self.max_open:
                self.had = entry.end
            if isinstance(entry, _Hole):
                self._reading_end, self.read_era, self.read_id = entry.end, entry.era, entry.id
                return entry.gap
        return None

    def _take_run(self, run: _Run) -> list[bytes]:
        self.first, self.read_era, self._reading_end = run.first, run.era, run.end
        self._reading_bytes += run.size_bytes
        if self.max_open and run.era == self.era:
            self._open.append(run)
        return run.frames

    @property
    def yielded(self) -> int:
        """The position of the last delivery or gap that was yielded."""
        return self._reading_end - (0 if self._reading is None else length_hint(self._reading))

    @property
    def has_run(self) -> bool:
        """Whether `take` would return deliveries now."""
        return bool(self._entries) and isinstance(self._entries[0], _Run)

    @property
    def may_get_more(self) -> bool:
        """Whether deliveries may arrive although none that are here is had."""
        return not self._entries and self.ended is None and self.outstanding_count > 0

    def read(self, frames: Iterator[bytes]) -> Iterator[bytes]:
        """Track the progress of this iterator over the run that was taken last."""
        self._reading = frames
        return frames

    def consumed(self, count: int) -> int:
        """Count a run that the user has had; return the credit to give the broker now, often none."""
        self.had = self._reading_end
        self._reading = None
        return self._let_go(count, self._reading_bytes)

    def acknowledge(self, position: int) -> int:
        """Take an acknowledgement of all deliveries up to this position; return the credit to give now."""
        count = size_bytes = 0
        while self._open and self._open[0].first <= position:
            run = self._open[0]
            part_count = min(position - run.first + 1, len(run.frames))
            part_bytes = sum(map(len, run.frames[:part_count]))
            count, size_bytes = count + part_count, size_bytes + part_bytes
            if part_count == len(run.frames):
                self._open.popleft()
            else:
                self._open[0] = _Run(run.frames[part_count:], position + 1, run.end, 0, run.era)
        self.had = max(self.had, position)
        return self._let_go(count, size_bytes)

    def _let_go(self, count: int, size_bytes: int) -> int:
        """Count deliveries that were had; return the credit to give the broker now."""
        self._reading_bytes = 0
        self._unconfirmed_bytes += size_bytes
        self._held_count -= count
        assert self._held_count >= 0
        return self.credit_due()

    def credit_due(self) -> int:
        """Return the credit to give the broker now, and count it as given; often none."""
        allowance_count = self.allowance_count
        count = allowance_count - self.outstanding_count - self._held_count
        # Who acknowledges the oldest of many asks for one more in exchange, and not for half of all.
        least_count = 1 if self.max_open and not self.outstanding_count else (allowance_count + 1) // 2
        # A broker takes none before it has said from where it counts.
        if count < max(least_count, 1) or not self.is_placed:
            return 0
        self.outstanding_count += count
        return count

    @property
    def owes_confirmation(self) -> bool:
        """Whether a confirmation is due, with credit or without."""
        return self._unconfirmed_bytes >= CONFIRM_BYTES

    def notice_progress(self, *, had_last: bool = False) -> None:
        """Update the position: all deliveries that were yielded, but those still in use, were had."""
        if self._reading is not None and not self.max_open:
            in_use_count = 0 if had_last else self.in_use_count
            reached = self._reading_end - length_hint(self._reading) - in_use_count
            self.had = max(self.had, reached)

    def unconfirmed_position(self) -> int | None:
        """Return the position to confirm to the broker, or None if it is confirmed."""
        self._unconfirmed_bytes = 0
        if self.had == self._confirmed:
            return None
        self._confirmed = self.had
        return self.had
