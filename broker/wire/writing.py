"""Usual events, written byte by byte: the compiled form has this in place of joining pieces.

Law: what is written here is what `broker.wire.publications` joins, byte for byte. In any doubt nothing is
written: who joins pieces decides, and has the words for what no broker would take.

As Python it writes the same, more slowly than pieces are joined: there only tests use it.
"""

from collections.abc import Mapping
from struct import Struct
from typing import Final

from broker.filters.constraints import Value
from broker.wire.header import HEADER, LENGTH_BYTES, PUBLICATION
from broker.wire.limits import DEFAULT_LIMITS, MAX_NUMBER, MIN_NUMBER, SMALL_BYTES

_ROOM, _PAYLOAD = SMALL_BYTES, DEFAULT_LIMITS.payload_bytes
_ITEM = 9
"""The most bytes of a number or a head. What is written beside the payload fits into the room."""

_NUMBER, _NEGATIVE, _BYTES, _TEXT, _MAP = 0x00, 0x20, 0x40, 0x60, 0xA0
_FALSE, _TRUE, _DOUBLE = 0xF4, 0xF5, 0xFB
_ONE_BYTE, _TWO_BYTES, _FOUR_BYTES, _EIGHT_BYTES = 24, 25, 26, 27
_HEADER, _LENGTH, _KIND = HEADER.size, LENGTH_BYTES, PUBLICATION

_pack_double: Final = Struct(">d").pack

_rooms: Final[list[bytearray]] = []
"""Rooms that are not in use; a thread that writes has one for itself."""


def write_usual(  # noqa: PLR0913, PLR0917 - the fields of the frame, and the names that are known
    names: dict[str, bytes],
    prefix: bytes,
    sequence: int,
    published_ns: int,
    attributes: Mapping[str, Value],
    payload: bytes,
    ordered: bool,  # noqa: FBT001 - a field like the others
) -> bytes | None:
    """Make a publication's frame; None if it is not a usual one. `names` have their CBOR."""
    at = _HEADER + len(prefix)
    if type(attributes) is not dict or len(attributes) >= _ONE_BYTE:
        return None
    if at + 4 * _ITEM > _ROOM or len(payload) > _PAYLOAD:
        return None
    room = _rooms.pop() if _rooms else bytearray(_ROOM)
    data = room
    put_bytes(data, _HEADER, prefix, len(prefix))
    data[at] = data[at + _ITEM] = _EIGHT_BYTES
    put_number(data, at + 1, sequence, _ITEM - 1)
    put_number(data, at + 1 + _ITEM, published_ns, _ITEM - 1)
    data[at + 2 * _ITEM] = _MAP + len(attributes)
    at = _put_attributes(room, at + 2 * _ITEM + 1, attributes, names)
    frame = None
    if at:
        at = put_head(data, at, _BYTES, len(payload))
        put_number(data, 0, at + len(payload) - _LENGTH, _LENGTH)
        data[_LENGTH] = _KIND
        data[_LENGTH + 1] = ordered
        frame = bytes(data[:at]) + payload
    _rooms.append(room)
    return frame


def put_bytes(data: bytearray, at: int, octets: bytes, size: int) -> None:
    """Write these bytes."""
    for index in range(size):
        data[at + index] = octets[index]


def put_number(data: bytearray, at: int, number: int, size: int) -> None:
    """Write a whole number in so many bytes."""
    for index in range(size):
        data[at + size - 1 - index] = number >> 8 * index & 0xFF


def put_head(data: bytearray, at: int, kind: int, number: int) -> int:
    """Write the head of an item as short as it can be; return what is behind it."""
    if number < _ONE_BYTE:
        data[at] = kind + number
        return at + 1
    size, detail = 8, _EIGHT_BYTES
    if not number >> 8:
        size, detail = 1, _ONE_BYTE
    elif not number >> 16:
        size, detail = 2, _TWO_BYTES
    elif not number >> 32:
        size, detail = 4, _FOUR_BYTES
    data[at] = kind + detail
    put_number(data, at + 1, number, size)
    return at + 1 + size


def _put_attributes(room: bytearray, at: int, attributes: dict[str, Value], names: dict[str, bytes]) -> int:
    """Write names and values; return what is behind them, or 0."""
    data = room
    for name, value in attributes.items():
        encoded = names.get(name)
        if encoded is None or at + len(encoded) + 2 * _ITEM > _ROOM:
            return 0
        put_bytes(data, at, encoded, len(encoded))
        at = _put_value(room, at + len(encoded), value)
        if not at:
            return 0
    return at


def _put_value(room: bytearray, at: int, value: Value) -> int:
    """Write the value of an attribute; return what is behind it, or 0."""
    data = room
    if type(value) is str:
        return _put_text(room, at, value)
    if type(value) is float:
        data[at] = _DOUBLE
        put_bytes(data, at + 1, _pack_double(value), _ITEM - 1)
        return at + _ITEM
    if type(value) is bool:
        data[at] = _TRUE if value else _FALSE
        return at + 1
    if type(value) is not int or not MIN_NUMBER <= value <= MAX_NUMBER:
        return 0
    signed = value
    return put_head(data, at, _NEGATIVE, -1 - signed) if signed < 0 else put_head(data, at, _NUMBER, signed)


def _put_text(room: bytearray, at: int, text: str) -> int:
    """Write a text; return what is behind it, or 0."""
    try:
        octets = text.encode()
    except UnicodeEncodeError:
        return 0
    size = len(octets)
    if at + size + 2 * _ITEM > _ROOM:
        return 0
    data = room
    at = put_head(data, at, _TEXT, size)
    put_bytes(data, at, octets, size)
    return at + size
