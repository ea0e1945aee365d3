"""Control frames: every message but `Publication`, one CBOR array of its fields each."""

import cbor2
from attrs import AttrsInstance

from broker.messages import Hello, Welcome
from broker.wire.cbor import load_item
from broker.wire.errors import MALFORMED, VERSION, WireError, malformed, oversize
from broker.wire.fields import read_fields, write_fields
from broker.wire.header import HEADER, KIND_AND_FLAGS_BYTES, PUBLICATION
from broker.wire.kinds import BY_KIND, BY_MESSAGE, FIELDS, KindRow
from broker.wire.kinds import VERSION as OUR_VERSION
from broker.wire.limits import DEFAULT_LIMITS, WireLimits


def encode(message: AttrsInstance, limits: WireLimits = DEFAULT_LIMITS) -> bytes:
    """Make the frame of any message but `Publication`.

    Raises:
        WireError: the message is larger than its frame may be.
        TypeError: this is no message, or a publication (which `encode_publication` makes).
    """
    row = BY_MESSAGE.get(type(message))
    if row is None or row.kind == PUBLICATION:
        raise TypeError(f"{type(message).__name__} is not encoded here")
    body = cbor2.dumps(write_fields(FIELDS[row.kind], message))
    length = len(body) + KIND_AND_FLAGS_BYTES
    if length > (limit_bytes := size_limit(row, limits)):
        raise oversize(row.name, limit_bytes, "bytes", length)
    return HEADER.pack(length, row.kind, 0) + body


def decode(kind: int, body: bytes, limits: WireLimits) -> object:
    """Read the body of a control frame of a known kind."""
    row = BY_KIND[kind]
    items = load_item(body, row.name)
    if type(items) is not list:
        raise malformed(row.name, "an array of fields", items)
    if row.message in (Hello, Welcome):
        _check_version(row, items)
    fields = FIELDS[kind]
    if len(items) != len(fields):
        raise WireError(MALFORMED, f"{row.name}: expected {len(fields)} fields, got {len(items)}")
    return row.message(*read_fields(fields, items, row.name, limits))


def size_limit(row: KindRow, limits: WireLimits) -> int:
    """How large a frame of this kind may be."""
    limit: int = getattr(limits, row.size.value)
    return limit


def _check_version(row: KindRow, items: list[object]) -> None:
    """The version comes before everything else: another version may have other fields."""
    if items and type(items[0]) is int and items[0] != OUR_VERSION:
        raise WireError(
            VERSION, f"{row.name}.version: this end speaks version {OUR_VERSION}, the other {items[0]}"
        )
