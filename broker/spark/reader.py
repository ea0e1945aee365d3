"""The source: durable subscriptions whose deliveries are acknowledged when Spark has committed them.

Laws:

1. The driver alone talks to the broker. The deliveries of a batch travel to the tasks as they came, one task
   for each subscription; tasks decode them. So a task that is run twice, or elsewhere, sees the same.
2. A delivery is acknowledged when a batch begins behind it, or Spark commits it: Spark asks for it no more.
3. Until then the broker keeps it, and a driver that has forgotten everything reads the same batch again.
4. An offset has a mark for each durable subscription: `broker.spark.held` says what that is.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from time import monotonic
from typing import Any, Final

from attrs import define, field
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from broker.client.blocking import Client, Deliveries
from broker.client.delivery import Delivery, Gap
from broker.client.limits import CREDIT_FIRST, CREDIT_MIN, Limits
from broker.errors import GapError
from broker.spark.columns import GAP, RowShape
from broker.spark.held import HeldEvents, HeldItem, StreamMark
from broker.spark.options import SourceOptions

REDELIVERY_TIMEOUT_S: Final = 60.0
"""How long the driver waits for deliveries that the broker has: far longer than it takes to send them, and
than the client needs to find a broker that was started again."""

Offset = dict[str, dict[str, str | int]]

_log = logging.getLogger("concord.spark")


class EventsPartition(InputPartition):
    """The deliveries and gaps of one subscription in one batch."""

    def __init__(self, filter_text: str, items: Sequence[HeldItem]) -> None:
        self.filter = filter_text
        self.items = [(each.mark.position, each.frame, each.gap) for each in items]


@define(eq=False)
class SourceSubscription:
    """One durable subscription, as the driver reads it."""

    durable: str
    filter: str
    _options: SourceOptions
    held: HeldEvents
    _deliveries: Deliveries
    _until: StreamMark | None = field(default=None, init=False)

    def receive(self, timeout_s: float = 0) -> bool:
        """Take the next delivery or gap, and return whether there was one in time."""
        deliveries = self._deliveries
        try:
            delivery = deliveries.next(timeout_s)
        except TimeoutError:
            return False
        except GapError as error:
            behind = StreamMark(deliveries.id, deliveries.position)
            self.held.miss(Gap(error.count, error.reason), behind, self._until)
        else:
            self.held.deliver(delivery.position, delivery.frame, self._until)
        return True

    def receive_until(self, end: StreamMark) -> None:
        """Read a batch again, of which Spark knows the end.

        Raises:
            TimeoutError: the broker did not deliver all of it.
        """
        deadline_s = monotonic() + REDELIVERY_TIMEOUT_S
        self._until = end
        while not self.held.knows(end):
            if not self.receive(max(0.0, deadline_s - monotonic())):
                text = f"the broker did not deliver {self.filter!r} again up to position {end.position}"
                raise TimeoutError(f"{text} within {REDELIVERY_TIMEOUT_S:.0f} s")
        self._until = None

    def batch_end(self, last: StreamMark | None) -> StreamMark:
        """Return the mark at which the next batch ends: at `last`, or before it where there is much."""
        options = self._options
        while len(self.held) <= options.max_events and self.held.end != last and self.receive():
            pass
        return self.held.batch_end(options.max_events, options.max_bytes, last, stops=options.gaps == "fail")

    def await_some(self) -> None:
        """Wait until something has arrived that the broker has."""
        if not len(self.held):
            self.receive(REDELIVERY_TIMEOUT_S)

    def acknowledge(self, mark: StreamMark) -> None:
        """Acknowledge all deliveries up to a mark, unless the broker has forgotten them."""
        if mark.id == self._deliveries.id and mark.position <= self._deliveries.position:
            self._deliveries.ack(mark.position)

    def release(self, mark: StreamMark) -> None:
        """Acknowledge all up to a mark, and drop it."""
        self.acknowledge(mark)
        self.held.release(mark)

    def check(self, start: StreamMark, end: StreamMark) -> None:
        """Do with gaps between two marks as the options say.

        Raises:
            GapError: the query is to fail.
        """
        gap = self.held.first_gap(start, end)
        if gap is None or self._options.gaps == "rows":
            return
        text = f"subscription {self.filter!r}: {gap}"
        if self._options.gaps == "fail":
            raise GapError(f"{text}. To go on behind it, set the option gaps", gap.count, gap.reason)
        _log.warning(text)


@define(eq=False)
class SourceConnection:
    """The driver's connection, and the subscriptions that it has opened."""

    _options: SourceOptions
    _stack: ExitStack = field(factory=ExitStack, init=False)
    _client: Client | None = field(default=None, init=False)
    _open: dict[str, tuple[ExitStack, SourceSubscription]] = field(factory=dict, init=False)

    def close(self) -> None:
        """Leave the broker, which keeps what is not acknowledged."""
        self._stack.close()

    def emitted(self) -> dict[str, int]:
        """Return the position of the newest delivery of each durable subscription."""
        found = self._connected(0).durable_subscriptions()
        return {str(each["durable"]): int(str(each["emitted"])) for each in found}

    def at(self, durable: str, start: StreamMark | None, end: StreamMark | None = None) -> SourceSubscription:
        """Return a subscription that knows what follows on `start`; None is where the broker goes on."""
        if durable not in self._options.filters:
            raise ValueError(
                f"the checkpoint has events of {durable!r}, which durable and filters do not name"
            )
        known = self._open.get(durable)
        if known is not None and (start is None or known[1].held.knows(start)):
            return known[1]
        if known is not None:
            known[0].close()
        is_same = start is not None and end is not None and start.id == end.id
        count = end.position - start.position if is_same and start and end else 0
        stack, options = ExitStack(), self._options
        deliveries = stack.enter_context(
            self._connected(count).subscribe(
                options.filters[durable],
                ordered=options.ordered,
                bound_bytes=options.bound_bytes,
                durable=durable,
                age_s=options.age_s,
                after=None if start is None else start.position,
                resume="" if start is None else start.id,
                ack="manual",
                max_open=self._most(count),
            )
        )
        held = HeldEvents(start or StreamMark(deliveries.id, deliveries.position))
        opened = SourceSubscription(durable, options.filters[durable], options, held, deliveries)
        self._stack.push(stack)
        self._open[durable] = stack, opened
        return opened

    def _most(self, count: int) -> int:
        """Return how many deliveries may be open: a batch and the next, or one that is read again."""
        return max(2 * self._options.max_events, count)

    def _connected(self, count: int) -> Client:
        """Connect, with room for so many deliveries that are read again."""
        if self._client is None:
            limits = Limits(
                inbox_bytes=2 * self._options.max_bytes,
                credit_first=max(CREDIT_FIRST, count),
                credit_min=max(CREDIT_MIN, count),
                credit_max=self._most(count),
            )
            self._client = self._stack.enter_context(self._options.access.open(limits))
        return self._client


class ConcordStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads durable subscriptions in batches. Spark makes one in the driver, and one for all tasks."""

    def __init__(self, schema: StructType, options: Mapping[str, str]) -> None:
        """Check the options; nothing is connected yet.

        Raises:
            ValueError: an option or a column cannot be; the message says which.
        """
        self._options = SourceOptions.of(options)
        self._schema = schema
        if self._options.gaps == "rows" and not RowShape(schema).has_gaps:
            raise ValueError(f"gaps='rows' needs a column {GAP} STRING, which says why there is a gap")
        self._connection: SourceConnection | None = None
        self._initial: Offset | None = None
        self._is_now = False
        self._last: dict[str, StreamMark] = {}

    @property
    def _broker(self) -> SourceConnection:
        if self._connection is None:
            self._connection = SourceConnection(self._options)
        return self._connection

    # --- in the driver ---

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where the broker goes on: nothing that follows was acknowledged."""
        if self._initial is None:
            opened = {durable: self._broker.at(durable, None) for durable in self._options.filters}
            self._initial = {durable: each.held.start.content() for durable, each in opened.items()}
        return self._initial

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End with what the broker has when the first batch is planned."""
        self._is_now = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802 - Spark's
        """Return the end of what has arrived, within the limits; all before `start` is acknowledged."""
        opened = {durable: self._at(durable, start) for durable in self._options.filters}
        for durable, (subscription, mark) in opened.items():
            subscription.release(mark)
            self._find_last(durable, subscription)
        ends = {durable: self._end_of(each) for durable, (each, _) in opened.items()}
        if self._is_now and all(ends[durable] == mark for durable, (_, mark) in opened.items()):
            # Spark ends this process without a word: the broker gets the last acknowledgements now.
            self.stop()
        return {durable: each.content() for durable, each in ends.items()}

    def _find_last(self, durable: str, subscription: SourceSubscription) -> None:
        """Find once where a query ends that reads what is there now."""
        if self._is_now and durable not in self._last:
            position = self._broker.emitted()[durable]
            self._last[durable] = StreamMark(subscription.held.end.id, position)

    def _end_of(self, subscription: SourceSubscription) -> StreamMark:
        start, last = subscription.held.start, self._last.get(subscription.durable)
        if last is not None:
            if start.id != last.id or start.position >= last.position:
                return start
            subscription.await_some()
        end = subscription.batch_end(last)
        if end == start and len(subscription.held):
            end = subscription.held.batch_end(1, 1, None, stops=False)
            subscription.check(start, end)
        return end

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return a partition for each subscription that has something between the offsets."""
        found = []
        for durable, content in end.items():
            last = StreamMark.of(content)
            subscription, first = self._at(durable, start, last)
            if first == last:
                continue
            subscription.receive_until(last)
            subscription.check(first, last)
            found.append(EventsPartition(subscription.filter, [*subscription.held.between(first, last)]))
        return found

    def _at(
        self, durable: str, start: Mapping[str, Any], end: StreamMark | None = None
    ) -> tuple[SourceSubscription, StreamMark]:
        """Return a subscription and its mark in an offset; a new one begins where the broker goes on."""
        content = start.get(durable)
        mark = None if content is None else StreamMark.of(content)
        subscription = self._broker.at(durable, mark, end)
        return subscription, mark or subscription.held.start

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledge a batch: Spark will not ask for it again."""
        for durable, content in end.items():
            self._broker.at(durable, None).acknowledge(StreamMark.of(content))

    def stop(self) -> None:
        """Leave the broker."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- in a task ---

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a partition."""
        assert isinstance(partition, EventsPartition)
        shape, has_gaps = RowShape(self._schema), self._options.gaps == "rows"
        for position, frame, gap in partition.items:
            if frame:
                yield shape.row(Delivery(frame, position), partition.filter)
            elif gap is not None and has_gaps:
                yield shape.gap_row(gap, position, partition.filter)
