"""Events as rows of a history, and rows as frames.

Law: what comes out is what went in: publisher, sequence, time, order, attributes and payload. Attributes are
JSON, which others read as well; those that JSON cannot say (NaN, infinities) stand in `exact`, too.
"""

import json
from collections.abc import Mapping
from typing import Final

import cbor2
import pyarrow as pa
from attrs import frozen

from broker.client.delivery import Delivery, Gap
from broker.filters.constraints import Value
from broker.wire import encode_publication, publication_prefix
from broker.wire.publications import replayed

SCHEMA: Final = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("publisher", pa.string()),
        pa.field("sequence", pa.int64()),
        pa.field("published_at", pa.timestamp("us", "UTC")),
        pa.field("published_ns", pa.int64(), nullable=False),
        pa.field("ordered", pa.bool_()),
        pa.field("attributes", pa.string()),
        pa.field("payload", pa.binary()),
        pa.field("exact", pa.binary()),
        pa.field("gap", pa.string()),
        pa.field("gap_count", pa.int64()),
    ]
)
"""The columns of a file. A row is an event, or a gap: then `gap` is its reason, and nearly all else null."""

Row = dict[str, object]

_NS_PER_US: Final = 1000


@frozen
class StoredEvent:
    """A row that was read: an event's frame, or a gap."""

    number: int
    published_ns: int
    content: bytes | Gap
    attributes: dict[str, object]


def row_of(delivery: Delivery) -> Row:
    """Return the row of a delivery, without its number."""
    attributes = dict(delivery.attributes)
    return {
        "publisher": delivery.publisher,
        "sequence": delivery.sequence,
        "published_at": delivery.published_ns // _NS_PER_US,
        "published_ns": delivery.published_ns,
        "ordered": delivery.ordered,
        **_written(attributes),
        "payload": delivery.payload,
    }


def gap_row(gap: Gap, at_ns: int) -> Row:
    """Return the row of a gap, without its number."""
    return {
        "published_ns": at_ns,
        "published_at": at_ns // _NS_PER_US,
        "gap": gap.reason,
        "gap_count": gap.count,
    }


def _written(attributes: Mapping[str, Value]) -> Row:
    try:
        return {"attributes": json.dumps(attributes, ensure_ascii=False, allow_nan=False)}
    except ValueError:
        lenient = json.loads(json.dumps(attributes), parse_constant=lambda _: None)
        return {
            "attributes": json.dumps(lenient, ensure_ascii=False),
            "exact": cbor2.dumps(attributes),
        }


def read_row(row: Row) -> StoredEvent:
    """Return what a row says."""
    number, published_ns = row["number"], row["published_ns"]
    assert isinstance(number, int)
    assert isinstance(published_ns, int)
    if row["gap"] is not None:
        count = row["gap_count"]
        assert count is None or isinstance(count, int)
        return StoredEvent(number, published_ns, Gap(count, str(row["gap"])), {})
    exact = row["exact"]
    attributes = cbor2.loads(exact) if isinstance(exact, bytes) else json.loads(str(row["attributes"]))
    sequence, payload = row["sequence"], row["payload"]
    assert isinstance(sequence, int)
    assert isinstance(payload, bytes)
    publisher = str(row["publisher"])
    frame = encode_publication(
        publication_prefix(publisher), sequence, published_ns, attributes, payload, bool(row["ordered"])
    )
    return StoredEvent(number, published_ns, replayed(publisher, sequence, frame).frame, attributes)
