"""Queues of messages to send: one per subscription and one per link.

Laws:

1. A queue keeps the order in which the core emitted. A control message in a link's queue waits for the
   publications before it, although it needs no credit itself (R5).
2. A subscription's queue never keeps more than its limit. When it overflows, its policy applies: the
   subscription ends ("disconnect"), or the newest deliveries are dropped and counted as a gap ("drop").
3. Publications wait as the bytes that will be sent, one `FrameRun` for all that were emitted together. Queues
   of the same publications share one run; only a queue that must stop within a run reads its frames.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeGuard

from attrs import define, field, frozen

from broker.messages import Deliver, Gap, LinkMessage, Publication
from broker.node.credit import CreditBatch
from broker.replay_messages import ReplayCut
from broker.wire import encode, joined, marked

DROP = "drop"
"""The policy that drops deliveries and leaves a gap; the other one, "disconnect", ends the subscription."""

LOST = "lost"
"""The reason of a gap where a link was lost for good."""

REPLAY = "replay"
"""The reason of a gap where events are missing from a replay."""

BOUND = "bound"
"""The reason of a gap that an overflow has left."""

RESUME_PART = 2
"""After a gap, publications are kept again once the queue is down to this part of its limit: one long gap
is as good as a thousand short ones, and leaves room for events to be read between two gaps."""

HEADS_KEPT = 4096
"""Frames that announce deliveries and are kept encoded: some hundred kilobytes."""

_LENGTH_BYTES = 4


@lru_cache(maxsize=HEADS_KEPT)
def _head(number: int, count: int) -> bytes:
    """Return the frame before so many deliveries; subscribers to the same events need the same."""
    return encode(Deliver(number, count))


@define(eq=False)
class FrameRun:
    """Publication frames one after another, as they are sent; `takers` is how many hops have got them."""

    frames: bytes = field(repr=False)
    count: int
    takers: int = 1


def _stop_at_count(frames: bytes, start: int, count: int) -> int:
    """Return where the frame that comes `count` frames after `start` begins."""
    for _ in range(count):
        start += _LENGTH_BYTES + int.from_bytes(frames[start : start + _LENGTH_BYTES], "big")
    return start


def _stop_at_size(frames: bytes, start: int, size_bytes: int, count_max: int) -> tuple[int, int]:
    """Return where the first frame begins that is so many bytes or frames after `start`, and its index."""
    stop = start + size_bytes
    count = 0
    while start < stop and count < count_max:
        start += _LENGTH_BYTES + int.from_bytes(frames[start : start + _LENGTH_BYTES], "big")
        count += 1
    return start, count


def _stop_before_size(frames: bytes, start: int, size_bytes: int) -> tuple[int, int]:
    """Return where the last frame ends that is within `size_bytes` of `start`, and how many end there."""
    limit = start + size_bytes
    count = 0
    while start < limit:
        stop = _stop_at_count(frames, start, 1)
        if stop > limit:
            break
        start = stop
        count += 1
    return start, count


@define(eq=False)
class RunCache:
    """Joins the frames of publications once, for all hops that get the same ones in one step."""

    _known: dict[tuple[int, int, int], tuple[Sequence[LinkMessage], FrameRun]] = field(factory=dict)

    def run(self, messages: Sequence[LinkMessage]) -> FrameRun | None:
        """Return the run of these messages, or None if they are not publications alone."""
        first = messages[0]
        if len(messages) == 1 and isinstance(first, Publication) and not first.mark and not self._known:
            run = FrameRun(first.frame, 1)
            self._known[1, id(first), id(first)] = (messages, run)
            return run
        key = (len(messages), id(first), id(messages[-1]))
        known = self._known.get(key)
        # Equality of lists asks for identity first, and publications have no other equality.
        if known is not None and known[0] == messages:
            known[1].takers += 1
            return known[1]
        frames = joined(messages)
        if frames is None:
            return None
        run = FrameRun(frames, len(messages))
        self._known[key] = (messages, run)
        return run


@frozen
class Hole:
    """Deliveries are missing here: so many, or 0 if nobody knows."""

    count: int
    reason: str


def _is_bound_hole(entry: FrameRun | Hole) -> TypeGuard[Hole]:
    return isinstance(entry, Hole) and entry.reason == BOUND


def pieces_of(messages: Sequence[LinkMessage]) -> Iterator[FrameRun | Hole]:
    """Yield the messages emitted to a subscription together, as runs and the gaps between them."""
    frames: list[bytes] = []
    for message in messages:
        if isinstance(message, Publication):
            frames.append(message.frame)
            continue
        if frames:
            yield FrameRun(b"".join(frames), len(frames))
            frames = []
        yield Hole(0, REPLAY if isinstance(message, ReplayCut) else LOST)
    if frames:
        yield FrameRun(b"".join(frames), len(frames))


@define(eq=False)
class SubscriptionQueue:
    """Deliveries of one subscription that were not sent. `credit` is how many more the client will take."""

    number: int
    bound_bytes: int
    policy: str
    credit: int
    position: int = field(default=0, init=False)
    """The position of the last delivery, or gap, that was taken out to be sent."""
    queued_bytes: int = field(default=0, init=False)
    queued_count: int = field(default=0, init=False)
    excess_bytes: int = field(default=0, init=False)
    _entries: deque[FrameRun | Hole] = field(factory=deque, init=False)
    _start: int = field(default=0, init=False)
    _taken: int = field(default=0, init=False)

    @property
    def ready(self) -> bool:
        """Whether a delivery or a gap can be sent."""
        return bool(self._entries) and (self.credit > 0 or not isinstance(self._entries[0], FrameRun))

    @property
    def is_over_bound(self) -> bool:
        """Whether the queue has overflowed."""
        return self.queued_bytes > self.bound_bytes + self.excess_bytes

    def pass_by(self, run: FrameRun) -> bytes:
        """Send a run past the empty queue; return its `Deliver` frame, or nothing if the run must wait."""
        if self._entries or self.credit < run.count:
            return b""
        self.credit -= run.count
        self.position += run.count
        return _head(self.number, run.count)

    def allow_excess(self) -> None:
        """Take the present size as within the limit: some of it was on its way when a connection broke."""
        self.excess_bytes = max(0, self.queued_bytes - self.bound_bytes)

    def add_gap(self, count: int, reason: str) -> None:
        """Put a gap at the end."""
        self._entries.append(Hole(count, reason))

    def add(self, run: FrameRun) -> bool:
        """Put publications at the end; or into the gap that is there, and return false."""
        if self._entries:
            last = self._entries[-1]
            if _is_bound_hole(last) and self.queued_bytes * RESUME_PART > self.bound_bytes:
                self._entries[-1] = Hole(last.count + run.count, BOUND)
                return False
        self.append(run)
        return True

    def append(self, run: FrameRun) -> None:
        """Put publications at the end, whatever is there."""
        self._entries.append(run)
        self.queued_bytes += len(run.frames)
        self.queued_count += run.count

    def take(self, room_bytes: int) -> list[bytes]:
        """Return the frames to send now: at most as many as credit allows, and none once the room is used."""
        chunks: list[bytes] = []
        while self._entries and room_bytes > 0:
            entry = self._entries[0]
            if isinstance(entry, FrameRun):
                if self.credit <= 0:
                    break
                frames, count = self._take_publications(room_bytes)
                chunks.append(_head(self.number, count))
                chunks.extend(frames)
                room_bytes -= sum(map(len, frames))
            else:
                self._entries.popleft()
                self.position += max(entry.count, 1)
                chunks.append(encode(Gap(self.number, entry.count, entry.reason)))
        return chunks

    def _take_publications(self, room_bytes: int) -> tuple[list[bytes], int]:
        """Take whole runs, then part of one if credit or room ends within it."""
        frames: list[bytes] = []
        count = 0
        while self._entries and room_bytes > 0 and self.credit > 0:
            run = self._entries[0]
            if not isinstance(run, FrameRun):
                break
            left, left_bytes = run.count - self._taken, len(run.frames) - self._start
            stop = len(run.frames)
            if left > self.credit or left_bytes > room_bytes:
                stop, left = _stop_at_size(
                    run.frames, self._start, min(room_bytes, left_bytes), min(self.credit, left)
                )
            if stop == len(run.frames):
                self._entries.popleft()
                part = run.frames[self._start :] if self._start else run.frames
                self._start = self._taken = 0
            else:
                part = run.frames[self._start : stop]
                self._start = stop
                self._taken += left
            frames.append(part)
            count += left
            self.credit -= left
            room_bytes -= len(part)
            self.queued_bytes -= len(part)
        self.queued_count -= count
        self.position += count
        if self.queued_bytes <= self.bound_bytes:
            self.excess_bytes = 0
        return frames, count

    def trim(self) -> int:
        """Drop the newest until the rest is within the limit; return how many became a gap."""
        # The queue before the last run was within the limit.
        run = self._entries.pop()
        assert isinstance(run, FrameRun)
        start, taken = (0, 0) if self._entries else (self._start, self._taken)
        if not self._entries:
            self._start = self._taken = 0
        excess_bytes = self.queued_bytes - self.bound_bytes - self.excess_bytes
        stop, kept = _stop_before_size(run.frames, start, len(run.frames) - start - excess_bytes)
        if kept:
            self._entries.append(FrameRun(run.frames[start:stop], kept))
        dropped = run.count - taken - kept
        self.queued_bytes -= len(run.frames) - stop
        self.queued_count -= dropped
        self._miss(dropped)
        return dropped

    def drop_all(self) -> int:
        """Drop all deliveries back to the last gap; return how many became a gap."""
        dropped = 0
        while self._entries and isinstance(self._entries[-1], FrameRun):
            run = self._entries.pop()
            assert isinstance(run, FrameRun)
            start, taken = (0, 0) if self._entries else (self._start, self._taken)
            if not self._entries:
                self._start = self._taken = 0
            self.queued_bytes -= len(run.frames) - start
            self.queued_count -= run.count - taken
            dropped += run.count - taken
        if dropped:
            self._miss(dropped)
        return dropped

    def miss(self, count: int, gap: Hole | None) -> None:
        """Put so many more into the gap at the end; one of them may be a gap of unknown size itself."""
        if gap is not None:
            count -= 1
        if count:
            self._miss(count)
        if gap is not None:
            self._entries.append(gap)

    def _miss(self, dropped: int) -> None:
        before = self._entries[-1] if self._entries else None
        if before is not None and _is_bound_hole(before):
            self._entries[-1] = Hole(before.count + dropped, BOUND)
        else:
            self._entries.append(Hole(dropped, BOUND))

    def clear(self) -> None:
        """Empty the queue of a subscription that has ended."""
        self._entries.clear()
        self.queued_bytes = self.queued_count = 0
        self._start = self._taken = 0


@define(eq=False)
class _LinkEntry:
    """Bytes to send: a run that needs credit, or control (`count` 0). The last of a batch holds it."""

    content: bytes = field(repr=False)
    count: int
    batches: tuple[CreditBatch, ...] = ()


@define(eq=False)
class LinkQueue:
    """The messages to send over one link. `credit_bytes` limits the publications among them."""

    credit_bytes: int = 0
    queued_bytes: int = field(default=0, init=False)
    queued_count: int = field(default=0, init=False)
    _entries: deque[_LinkEntry] = field(factory=deque, init=False)
    _start: int = field(default=0, init=False)

    def add(self, messages: Sequence[LinkMessage], run: FrameRun | None, batch: CreditBatch | None) -> None:
        """Put messages at the end; `run` is given if they are publications alone."""
        if run is not None:
            self._append(run.frames, run.count)
        else:
            self._add_mixed(messages)
        if batch is not None:
            batch.hold()
            self._entries[-1].batches = (batch,)

    def hold(self, batches: Sequence[CreditBatch]) -> Sequence[CreditBatch]:
        """Let held batches wait for the last message; return them if the queue is empty."""
        if not self._entries:
            return batches
        self._entries[-1].batches += tuple(batches)
        return ()

    def _append(self, content: bytes, count: int) -> None:
        self._entries.append(_LinkEntry(content, count))
        self.queued_bytes += len(content)
        self.queued_count += count

    def _add_mixed(self, messages: Sequence[LinkMessage]) -> None:
        frames: list[bytes] = []
        for message in messages:
            if isinstance(message, Publication):
                frames.append(marked(message.frame, message.mark) if message.mark else message.frame)
                continue
            if frames:
                self._append(b"".join(frames), len(frames))
                frames = []
            self._append(encode(message), 0)
        if frames:
            self._append(b"".join(frames), len(frames))

    def take(self, room_bytes: int) -> tuple[list[bytes], list[CreditBatch], int]:
        """Return the bytes to send now, the batches to release when written, and how many publications."""
        chunks: list[bytes] = []
        batches: list[CreditBatch] = []
        taken = 0
        while self._entries and room_bytes > 0:
            entry = self._entries[0]
            size_bytes = len(entry.content) - self._start
            if entry.count and self.credit_bytes <= 0:
                break
            if entry.count and size_bytes > self.credit_bytes:
                stop, count = _stop_at_size(entry.content, self._start, self.credit_bytes, entry.count)
                size_bytes = stop - self._start
            else:
                stop, count = len(entry.content), entry.count
            chunks.append(entry.content[self._start : stop])
            if stop == len(entry.content):
                count = entry.count
                self._entries.popleft()
                self._start = 0
                if entry.batches:
                    batches += entry.batches
            else:
                entry.count -= count
                self._start = stop
            if count:
                self.credit_bytes -= size_bytes
            room_bytes -= size_bytes
            self.queued_bytes -= size_bytes
            self.queued_count -= count
            taken += count
        return chunks, batches, taken

    def clear(self) -> list[CreditBatch]:
        """Empty the queue of a lost link; return the batches that it held."""
        batches = [batch for entry in self._entries for batch in entry.batches]
        self._entries.clear()
        self.queued_bytes = self.queued_count = self._start = 0
        return batches
