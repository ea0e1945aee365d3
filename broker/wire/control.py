"""Control frames: every message but `Publication`, one CBOR array of its fields each."""

import cbor2
from attrs import AttrsInstance

from broker.messages import Hello, Welcome
from broker.wire.cbor import load_item
from broker.wire.errors import MALFORMED, VERSION, WireError, malformed, oversize
from broker.wire.header import HEADER, KIND_AND_FLAGS_BYTES, PUBLICATION
from broker.wire.kinds import BY_KIND, BY_MESSAGE, FIELDS, Row
from broker.wire.kinds import VERSION as OUR_VERSION
from broker.wire.limits import DEFAULT_LIMITS, Limits


def encode(message: AttrsInstance, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Make the frame of any message but `Publication`.

    Raises:
        WireError: the message is larger than its frame may be.
        TypeError: this is no message, or a publication (which `encode_publication` makes).
    """
    row = BY_MESSAGE.get(type(message))
    if row is None or row.kind == PUBLICATION:
        raise TypeError(f"{type(message).__name__} is not encoded here")
    body = cbor2.dumps([each.write(getattr(message, each.name)) for each in FIELDS[row.kind]])
    length = len(body) + KIND_AND_FLAGS_BYTES
    if length > size_limit(row, limits):
        raise oversize(row.name, size_limit(row, limits), "bytes", length)
    return HEADER.pack(length, row.kind, 0) + body


def decode(kind: int, body: bytes, limits: Limits) -> object:
    """Read the body of a control frame of a known kind."""
    row = BY_KIND[kind]
    items = load_item(body, row.name)
    if type(items) is not list:
        raise malformed(row.name, "an array of fields", items)
    _check_version(row, items)
    fields = FIELDS[kind]
    if len(items) != len(fields):
        raise WireError(MALFORMED, f"{row.name}: expected {len(fields)} fields, got {len(items)}")
    return row.message(
        *[
            each.read(item, f"{row.name}.{each.name}", limits)
            for each, item in zip(fields, items, strict=True)
        ]
    )


def size_limit(row: Row, limits: Limits) -> int:
    """How large a frame of this kind may be."""
    limit: int = getattr(limits, row.size.value)
    return limit


def _check_version(row: Row, items: list[object]) -> None:
    """The version comes before everything else: another version may have other fields."""
    if row.message not in (Hello, Welcome) or not items or type(items[0]) is not int:
        return
    if items[0] != OUR_VERSION:
        raise WireError(
            VERSION, f"{row.name}.version: this end speaks version {OUR_VERSION}, the other {items[0]}"
        )
