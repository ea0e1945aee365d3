"""What has arrived of a durable subscription and is not committed by Spark. No I/O.

Laws:

1. A `StreamMark` names the place behind an item: the id of the subscription, and a position in it. Positions
   are counted anew under another id when the broker has forgotten the subscription; a gap is between.
2. The items between two marks are the same whenever they are asked for, until `release` passes them.
3. A batch that is read again ends at its mark, whatever comes: a gap that reaches beyond is cut there, and
   one behind which the broker counts anew takes the place of all that cannot be had any more.
"""

from collections import deque
from collections.abc import Iterator, Mapping

from attrs import define, field, frozen

from broker.client.delivery import FORGOTTEN, Gap


@frozen
class StreamMark:
    """A place in the stream of one subscription."""

    id: str
    position: int

    @staticmethod
    def of(content: Mapping[str, object]) -> "StreamMark":
        """Read a mark from an offset."""
        position = content["position"]
        assert isinstance(position, int)
        return StreamMark(str(content["id"]), position)

    def content(self) -> dict[str, str | int]:
        """Return it as a part of an offset."""
        return {"id": self.id, "position": self.position}


@frozen
class HeldItem:
    """A delivery, a gap, or nothing but a mark, and the mark behind it."""

    mark: StreamMark
    frame: bytes = b""
    gap: Gap | None = None


@define(eq=False)
class HeldEvents:
    """The items behind `start`, in their order."""

    start: StreamMark
    _items: deque[HeldItem] = field(factory=deque, init=False)

    @property
    def end(self) -> StreamMark:
        """The mark behind the last item."""
        return self._items[-1].mark if self._items else self.start

    def __len__(self) -> int:
        return len(self._items)

    def knows(self, mark: StreamMark) -> bool:
        """Whether there is such a mark here."""
        return mark == self.start or any(each.mark == mark for each in self._items)

    def deliver(self, position: int, frame: bytes, until: StreamMark | None = None) -> None:
        """Add a delivery; `until` is where a batch ends that is read again."""
        self._add(HeldItem(StreamMark(self.end.id, position), frame), until)

    def miss(self, gap: Gap, behind: StreamMark, until: StreamMark | None = None) -> None:
        """Add a gap; `behind` is the mark behind it if the broker counts anew there."""
        if gap.reason != FORGOTTEN:
            mark = StreamMark(self.end.id, self.end.position + (gap.count or 1))
            self._add(HeldItem(mark, gap=gap), until)
        elif until is None or until.id == behind.id:
            self._items.append(HeldItem(behind, gap=gap))
        else:
            self._items += (HeldItem(until, gap=gap), HeldItem(behind))

    def _add(self, item: HeldItem, until: StreamMark | None) -> None:
        """Add an item; one that reaches beyond the end of a batch is cut there (law 3)."""
        start, end = self.end, item.mark
        if until is not None and start.id == until.id and start.position < until.position < end.position:
            gap = item.gap
            is_counted = gap is not None and gap.count is not None
            before = Gap(until.position - start.position, gap.reason) if gap and is_counted else None
            self._items.append(HeldItem(until, gap=before))
            if gap and is_counted:
                item = HeldItem(end, gap=Gap(end.position - until.position, gap.reason))
        self._items.append(item)

    def release(self, mark: StreamMark) -> None:
        """Drop all items up to a mark that is known."""
        while self.start != mark:
            self.start = self._items.popleft().mark

    def between(self, start: StreamMark, end: StreamMark) -> Iterator[HeldItem]:
        """Yield the items between two marks that are known."""
        items = iter(self._items)
        if start != self.start:
            for item in items:
                if item.mark == start:
                    break
        if start == end:
            return
        for item in items:
            yield item
            if item.mark == end:
                return

    def batch_end(
        self, max_count: int, max_bytes: int, last: StreamMark | None, *, stops: bool
    ) -> StreamMark:
        """Return the mark at which the next batch ends: within the limits, and at `last` at the latest.

        With `stops` it ends before the first gap.
        """
        end, size_bytes = self.start, 0
        for count, item in enumerate(self._items):
            size_bytes += len(item.frame)
            is_full = count >= max_count or (count > 0 and size_bytes > max_bytes)
            if is_full or end == last or (stops and item.gap is not None):
                break
            end = item.mark
        return end

    def first_gap(self, start: StreamMark, end: StreamMark) -> Gap | None:
        """Return the first gap between two marks."""
        return next((each.gap for each in self.between(start, end) if each.gap is not None), None)
