"""Rows as events of one publisher, which publishes each batch once.

Laws:

1. Tasks make events of rows and check them; the driver publishes, in the order of partitions and rows. So a
   task that fails or runs twice has published nothing.
2. The driver records a batch before it publishes (`broker.spark.record`). If it is killed, the next one asks
   the broker which of the publisher's numbers it took, and publishes the rest.
3. If the broker has forgotten the publisher meanwhile, nobody knows how much of the batch was published: the
   option `in_doubt` says whether the query fails, or publishes all of it (again).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

from pyspark.sql import Row
from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from broker.client.blocking import Client, Publisher
from broker.errors import ConcordError, NotAdvertisedError
from broker.filters import parse
from broker.spark.columns import EventShape, OutgoingEvent
from broker.spark.options import BrokerAccess, needed
from broker.spark.record import BatchRecord, RecordFile

FAIL: Final = "fail"
REPEAT: Final = "repeat"

_FOLDER: Final = "concord-published"
"""The directory in Spark's checkpoint, unless the option `state` names another place."""


class PublisherForgottenError(ConcordError):
    """The broker does not know the publisher of a batch any more, which may have been published in part."""


class EventsMessage(WriterCommitMessage):
    """The events of one partition."""

    def __init__(self, events: Sequence[OutgoingEvent]) -> None:
        self.events = tuple(events)


class ConcordStreamWriter(DataSourceStreamWriter):
    """Publishes batches of rows. Spark makes one for all tasks, and one in the driver for each batch."""

    def __init__(self, schema: StructType, options: Mapping[str, str], *, overwrite: bool) -> None:
        """Check the options; nothing is connected yet.

        Raises:
            ValueError: an option or a column cannot be; the message says which.
        """
        if overwrite:
            raise ValueError("outputMode: events cannot be taken back, so append is what there is")
        self._access = BrokerAccess.of(options)
        self._filter = needed(options, "filter")
        parse(self._filter)
        EventShape(schema)
        self._schema = schema
        self._doubt = options.get("in_doubt", FAIL)
        if self._doubt not in {FAIL, REPEAT}:
            raise ValueError(f"in_doubt: expected {FAIL} or {REPEAT}, got {self._doubt!r}")
        checkpoint = options.get("checkpointLocation", "")
        self._state = options.get("state") or (checkpoint and f"{checkpoint.rstrip('/')}/{_FOLDER}")
        if not self._state:
            raise ValueError("give the option checkpointLocation, or state: where to record the last batch")
        RecordFile(self._state)

    # --- in a task ---

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        """Make events of rows.

        Raises:
            NotAdvertisedError: the filter does not match one; the message shows what fails.
        """
        advertised = parse(self._filter)
        matches = advertised.compiled()
        events = list(EventShape(self._schema).events(iterator))
        for attributes, _, _ in events:
            if not matches(attributes):
                why = advertised.failing(attributes)
                raise NotAdvertisedError(
                    f"{attributes!r} is not covered by the filter {self._filter!r}: {why}"
                )
        return EventsMessage(events)

    # --- in the driver ---

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Publish a batch, or what an earlier run has left of it.

        Raises:
            PublisherForgottenError: the batch may have been published in part, and nobody knows.
        """
        file = RecordFile(self._state)
        last = file.read()
        if last is not None and batchId < last.batch:
            text = f"batch {batchId} was published before batch {last.batch}: was the checkpoint changed?"
            raise ValueError(text)
        if last is not None and batchId == last.batch:
            if not last.is_done:
                self._go_on(file, last)
            return
        events = tuple(event for each in messages if isinstance(each, EventsMessage) for event in each.events)
        if events:
            self._begin(file, last, batchId, events)

    def _begin(
        self, file: RecordFile, last: BatchRecord | None, batch: int, events: tuple[OutgoingEvent, ...]
    ) -> None:
        """Publish a batch for the first time."""
        with self._access.open() as client, self._advertise(client, last) as publisher:
            self._publish(file, BatchRecord(batch, publisher.id, publisher.sequence + 1, events), publisher)

    def _go_on(self, file: RecordFile, record: BatchRecord) -> None:
        """Publish what the broker has not taken of a batch."""
        with self._access.open() as client, self._advertise(client, record) as publisher:
            if publisher.id != record.publisher:
                self._forgotten(record)
                record = BatchRecord(record.batch, publisher.id, publisher.sequence + 1, record.events)
            self._publish(file, record, publisher)

    def _publish(self, file: RecordFile, record: BatchRecord, publisher: Publisher) -> None:
        file.write(record)
        for attributes, payload, is_ordered in record.events[publisher.sequence + 1 - record.first :]:
            publisher.publish(attributes, payload, ordered=is_ordered)
        publisher.flush()
        if publisher.id != record.publisher:
            self._forgotten(record)
        file.write(BatchRecord(record.batch, publisher.id, 0, (), is_done=True))

    def _forgotten(self, record: BatchRecord) -> None:
        if self._doubt == FAIL:
            raise PublisherForgottenError(
                f"the broker has forgotten {record.publisher}, the publisher of batch {record.batch}: some "
                f"of its {len(record.events)} events may be published. in_doubt='{REPEAT}' publishes them all"
            )

    def _advertise(self, client: Client, last: BatchRecord | None) -> AbstractContextManager[Publisher]:
        return client.advertise(self._filter, resume="" if last is None else last.publisher)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        """Do nothing: nothing of the batch is published."""
