"""The window of unacknowledged publications between the user and the broker. No I/O.

Laws:

* Publications leave in the order in which they were published, those of different publishers too, so that no
  later publication of a client overtakes an earlier one.
* A publication leaves the window when the broker has answered a `PendingFlush` that was sent after it, or
  states after a reconnection that it has taken it. All others are sent again on the next connection.
* A publication begins only while the broker's credit is positive; the last one may overdraw it, so that one
  larger than the whole credit passes.
* The window holds at most its limit, plus one publication that was accepted when it was nearly full.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from attrs import define, field

from broker.client.life import PHASE_TRANSITIONS, Phase
from broker.client.limits import Limits
from broker.errors import ConcordError
from broker.transitions import follow
from broker.wire import decode_delivery, encode_publication, publication_prefix

SEGMENT_BYTES: Final = 32 * 1024
"""Publications are kept in runs of about this size: what is done once per run costs nothing per publication,
and a run is cut in two when credit ends inside it."""


@define(eq=False)
class Source:
    """One publisher of this client, over all its connections. `number` is its request on the present one."""

    filter: str
    id: str = ""
    prefix: bytes = b""
    sequence: int = 0
    number: int = 0
    phase: Phase = Phase.OPENING
    is_wanted: bool = False
    pending_count: int = 0
    ended: ConcordError | None = None

    def enter(self, phase: Phase) -> None:
        """Go on to another phase."""
        self.phase = follow(PHASE_TRANSITIONS, self.phase, phase)

    def name(self, publisher: str) -> None:
        """Publish under this id from now on."""
        self.id = publisher
        self.prefix = publication_prefix(publisher)


@define(eq=False)
class PendingFlush:
    """A flush in the window; done when every publication before it has been acknowledged."""

    is_done: bool = False


@define(eq=False)
class _Segment:
    """A run of publications of one publisher; `first` is the sequence number of the first frame."""

    source: Source
    first: int
    frames: list[bytes]
    size_bytes: int


@define(eq=False)
class SendWindow:
    """The publications to send, and those that were sent and may have to be sent again.

    `quota_bytes` is how much may be appended before the user's task should call `refill`: it ends at the
    checkpoint interval and at the bound.
    """

    limits: Limits
    size_bytes: int = 0
    quota_bytes: int = 0
    credit_bytes: int = 0
    _unsent: deque[_Segment | PendingFlush] = field(factory=deque)
    _sent: deque[_Segment | PendingFlush] = field(factory=deque)
    _open: _Segment | None = None
    _unflushed_bytes: int = 0

    def append(self, source: Source, frame: bytes) -> int:
        """Take one publication; the frame carries the source's next sequence number, which is returned."""
        size_bytes = len(frame)
        source.sequence = sequence = source.sequence + 1
        source.pending_count += 1
        self.size_bytes += size_bytes
        self.quota_bytes -= size_bytes
        segment = self._open
        if segment is not None and segment.source is source and segment.size_bytes < SEGMENT_BYTES:
            segment.frames.append(frame)
            segment.size_bytes += size_bytes
        else:
            self._open = _Segment(source, sequence, [frame], size_bytes)
            self._unsent.append(self._open)
        return sequence

    @property
    def _flush_bytes(self) -> int:
        """A window smaller than usual has to empty itself sooner."""
        return min(self.limits.flush_bytes, self.limits.window_bytes // 4)

    @property
    def is_full(self) -> bool:
        """Whether the next publication has to wait."""
        return self.size_bytes >= self.limits.window_bytes

    @property
    def is_empty(self) -> bool:
        """Whether every publication is acknowledged and no flush is pending."""
        return not self._unsent and not self._sent

    @property
    def has_unsent(self) -> bool:
        """Whether a publication or flush waits to be sent, with or without credit."""
        return bool(self._unsent)

    def refill(self) -> None:
        """Allow as much as fits before the next checkpoint or the bound, whichever comes first."""
        self.quota_bytes = min(self.limits.checkpoint_bytes, self.limits.window_bytes - self.size_bytes)

    def flush(self) -> PendingFlush:
        """Return the flush of everything appended so far; callers share it until more is appended."""
        last = self._unsent[-1] if self._unsent else self._sent[-1] if self._sent else None
        if isinstance(last, PendingFlush):
            return last
        self._open = None
        flush = PendingFlush(is_done=last is None)
        if last is not None:
            self._unsent.append(flush)
        return flush

    def flush_if_due(self) -> None:
        """Request an acknowledgement of the sent publications, unless one is requested already."""
        if self._unflushed_bytes and not self._unsent:
            self.flush()

    def take(self, size_bytes: int) -> Iterator[list[bytes] | PendingFlush]:
        """What may be sent now, in order: about so many bytes, and nothing that begins without credit.

        The caller that takes a `PendingFlush` sends it, and calls `flushed` when it is answered.
        """
        while self._unsent and size_bytes > 0:
            entry = self._unsent[0]
            if isinstance(entry, PendingFlush):
                self._unflushed_bytes = 0
                self._sent.append(self._unsent.popleft())
                yield entry
                continue
            if entry.size_bytes > self.credit_bytes and not self._split():
                return
            entry = self._sendable()
            size_bytes -= entry.size_bytes
            yield entry.frames
            if self._unflushed_bytes >= self._flush_bytes:
                self._flush_here()

    def _sendable(self) -> _Segment:
        """Move the first run to what was sent; nothing is added to it any more."""
        entry = self._unsent.popleft()
        assert isinstance(entry, _Segment)
        if entry is self._open:
            self._open = None
        self._sent.append(entry)
        self.credit_bytes -= entry.size_bytes
        self._unflushed_bytes += entry.size_bytes
        return entry

    def _flush_here(self) -> None:
        if not (self._unsent and isinstance(self._unsent[0], PendingFlush)):
            self._unsent.appendleft(PendingFlush())

    def _split(self) -> bool:
        """Cut the first run behind the frame in which the credit ends; false if there is no credit."""
        entry = self._unsent[0]
        assert isinstance(entry, _Segment)
        size_bytes = count = 0
        while size_bytes < self.credit_bytes:
            size_bytes += len(entry.frames[count])
            count += 1
        if not count:
            return False
        if count == len(entry.frames):
            return True
        head = _Segment(entry.source, entry.first, entry.frames[:count], size_bytes)
        del entry.frames[:count]
        entry.first += count
        entry.size_bytes -= size_bytes
        self._unsent.appendleft(head)
        return True

    def flushed(self, flush: PendingFlush) -> None:
        """Drop the publications before this flush: the broker has acknowledged them."""
        while not flush.is_done:
            entry = self._sent.popleft()
            if isinstance(entry, PendingFlush):
                entry.is_done = True
            else:
                self._drop(entry)

    def _drop(self, segment: _Segment) -> None:
        self.size_bytes -= segment.size_bytes
        segment.source.pending_count -= len(segment.frames)

    def rewind(self) -> None:
        """Prepare all unacknowledged publications to be sent again, without any credit yet."""
        self._sent.extend(self._unsent)
        self._unsent, self._sent = self._sent, self._unsent
        self._sent.clear()
        self._open = None
        self._unflushed_bytes = 0
        self.credit_bytes = 0

    def taken(self, source: Source, sequence: int) -> None:
        """Drop a publisher's publications up to the number that the broker states after a reconnection."""
        for segment in self._segments_of(source):
            count = min(max(sequence + 1 - segment.first, 0), len(segment.frames))
            size_bytes = sum(map(len, segment.frames[:count]))
            del segment.frames[:count]
            segment.first += count
            segment.size_bytes -= size_bytes
            self.size_bytes -= size_bytes
            source.pending_count -= count
        self._unsent = deque(e for e in self._unsent if isinstance(e, PendingFlush) or e.frames)

    def rename(self, source: Source, publisher: str) -> None:
        """Number the remaining publications from 1 under a new id: the broker has forgotten the publisher."""
        source.name(publisher)
        source.sequence = 0
        for segment in self._segments_of(source):
            segment.first = source.sequence + 1
            before_bytes = segment.size_bytes
            segment.frames = [self._renumbered(source, frame) for frame in segment.frames]
            segment.size_bytes = sum(map(len, segment.frames))
            self.size_bytes += segment.size_bytes - before_bytes

    def _renumbered(self, source: Source, frame: bytes) -> bytes:
        source.sequence += 1
        _, _, published_ns, attributes, payload, ordered = decode_delivery(frame)
        return encode_publication(source.prefix, source.sequence, published_ns, attributes, payload, ordered)

    def forget(self, source: Source) -> None:
        """Drop the unsent publications of a publisher that has been ended."""
        kept: deque[_Segment | PendingFlush] = deque()
        for entry in self._unsent:
            if isinstance(entry, _Segment) and entry.source is source:
                self._drop(entry)
            else:
                kept.append(entry)
        self._unsent = kept
        self._open = None

    def _segments_of(self, source: Source) -> Iterator[_Segment]:
        """The publisher's runs after `rewind`, when none has been sent."""
        assert not self._sent
        return (entry for entry in self._unsent if isinstance(entry, _Segment) and entry.source is source)
