"""Attributes of publications: which names and values there may be, and their CBOR.

A name is made of Python identifiers joined by dots, because filters are written with it. A value is text, a
truth value, a whole number of 64 bits with sign, a floating number, null, or a list or map of values.
Infinities and NaN are floating numbers like others: NaN satisfies no comparison, yet the attribute exists. A
key of a map is any text but the empty one; filters reach those that are written as names are.

Law: no check of a value goes deeper than `DEPTH_LIMIT`, nor on when there are too many values.

Attributes are so few types that putting their CBOR together here takes half the time of the library, checks
included; reading them is the library's.
"""

from collections.abc import Mapping
from struct import Struct
from typing import Final, cast

import cbor2

from broker.filters.constraints import Value
from broker.filters.limits import DEPTH_LIMIT
from broker.wire.errors import MALFORMED, OVERSIZE, WireError, malformed, oversize
from broker.wire.events import add_name
from broker.wire.fields import read_text
from broker.wire.limits import (
    DEFAULT_LIMITS,
    KIB,
    MAX_NUMBER,
    MIN_NUMBER,
    NAME_BYTES,
    SMALL_BYTES,
    WireLimits,
)

PLAIN_TYPES: Final = frozenset({str, bool, float, type(None)})
"""Types of values that need no further look, as long as the publication is small."""

_KNOWN_NAMES_COUNT: Final = 4 * KIB
"""How many names to remember: 1 MiB of text at most, and more than any sane set of programs uses."""

known_names: Final[set[str]] = set()
"""Names that were found right, so that each is checked once. It changes no answer, only its cost."""

encoded_names: Final[dict[str, bytes]] = {}
"""The CBOR of names that publishers here use; bounded likewise."""

_SHORT_KEY: Final = NAME_BYTES // 4
"""A key of so many characters is within its limit of bytes in any script."""

_pack_double: Final = Struct(">Bd").pack
_DOUBLE: Final = 0xFB
_TRUTHS: Final = (b"\xf4", b"\xf5")
_SMALL_NUMBERS: Final = tuple(map(cbor2.dumps, range(KIB)))
_SIZES_OF_1_BYTE: Final = 256
_SHORT_TEXT: Final = 256
_TEXT_HEADS: Final = tuple(cbor2.dumps("x" * size)[: -size or None] for size in range(_SHORT_TEXT))
_SHORT_MAP_HEADS: Final = tuple(bytes([0xA0 + count]) for count in range(24))


def encode_attributes(attributes: Mapping[str, Value]) -> bytes:
    """Make the map of a publication's attributes, within the default limits.

    Raises:
        WireError: a name or a value is refused, or there are too many.
    """
    count = len(attributes)
    encoded = _SHORT_MAP_HEADS[count] if count < len(_SHORT_MAP_HEADS) else _long_map_head(count)
    nested = 0
    for name, value in attributes.items():
        head = encoded_names.get(name) or _encode_name(name)
        if type(value) is float:
            encoded += head + _pack_double(_DOUBLE, value)
        elif type(value) is str and len(value) < _SHORT_TEXT and value.isascii():
            encoded += head + _TEXT_HEADS[len(value)] + value.encode()
        elif type(value) is int and MIN_NUMBER <= value <= MAX_NUMBER:
            encoded += head + (_SMALL_NUMBERS[value] if 0 <= value < KIB else cbor2.dumps(value))
        elif type(value) is bool:
            encoded += head + _TRUTHS[value]
        else:
            nested += check_value(value, f"Publication.attributes[{name}]", DEFAULT_LIMITS)
            _check_nested_count(nested, DEFAULT_LIMITS)
            encoded += head + cbor2.dumps(value)
        if len(encoded) > DEFAULT_LIMITS.attributes_bytes:
            raise oversize("Publication.attributes", DEFAULT_LIMITS.attributes_bytes, "bytes", len(encoded))
    return encoded


def _encode_name(name: str) -> bytes:
    """Make the CBOR of a name that is published for the first time."""
    _check_name(name)
    if len(encoded_names) >= _KNOWN_NAMES_COUNT:
        encoded_names.clear()
    return encoded_names.setdefault(name, cbor2.dumps(name))


def _long_map_head(count: int) -> bytes:
    """The head of a map whose count does not fit beside its type."""
    _check_count(count, DEFAULT_LIMITS)
    return cbor2.dumps(dict.fromkeys(range(count)))[: 2 if count < _SIZES_OF_1_BYTE else 3]


def check_attributes(attributes: Mapping[str, object], limits: WireLimits) -> None:
    """Refuse attributes that no frame may carry; the error names the attribute and the reason.

    Raises:
        WireError: a name or a value is refused, or there are too many.
    """
    _check_count(len(attributes), limits)
    nested = 0
    for name, value in attributes.items():
        if type(name) is not str or name not in known_names:
            _check_name(name)
        nested += check_value(value, f"Publication.attributes[{name}]", limits)
        _check_nested_count(nested, limits)


def _check_nested_count(count: int, limits: WireLimits) -> None:
    if count > limits.value_count:
        raise oversize("Publication.attributes", limits.value_count, "values in lists and maps", count)


def _check_count(count: int, limits: WireLimits) -> None:
    if count > limits.attribute_count:
        raise oversize("Publication.attributes", limits.attribute_count, "attributes", count)


def _check_name(name: object) -> None:
    """Take a name that is seen for the first time."""
    text = read_text(name, "Publication.attributes: name", NAME_BYTES)
    if not all(part.isidentifier() for part in text.split(".")):
        expected = "expected names of identifiers joined by dots"
        raise WireError(MALFORMED, f"Publication.attributes: {expected}, got {text!r}")
    if len(known_names) >= _KNOWN_NAMES_COUNT:
        known_names.clear()
    known_names.add(text)
    add_name(text)


def check_value(value: object, where: str, limits: WireLimits, level: int = 0) -> int:
    """Refuse what no attribute may be; return how many values there are inside it.

    Raises:
        WireError: the value is refused; the error names the place and the reason.
    """
    kind = type(value)
    if kind is list or kind is dict:
        return _check_nested(cast("list[object] | dict[object, object]", value), where, limits, level + 1)
    if kind is str:
        read_text(value, where, limits.text_bytes)
    elif kind is int:
        if not MIN_NUMBER <= cast("int", value) <= MAX_NUMBER:
            raise WireError(OVERSIZE, f"{where}: expected a whole number of 64 bits with sign")
    elif kind not in PLAIN_TYPES:
        raise malformed(where, "text, a truth value, a number, null, a list or a map", value)
    return 0


def _check_nested(
    values: list[object] | dict[object, object], where: str, limits: WireLimits, level: int
) -> int:
    """Check a list or map and what is in it; `level` is its own, counted from 1."""
    if level > DEPTH_LIMIT:
        raise oversize(where, DEPTH_LIMIT, "levels of lists and maps", level)
    count = len(values)
    _check_nested_count(count, limits)
    if isinstance(values, dict):
        for key in values:
            if type(key) is not str or not 0 < len(key) <= _SHORT_KEY or not key.isascii():
                _check_key(key, where)
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        if not _is_plain(value):
            count += check_value(value, f"{where}[{key}]", limits, level)
            _check_nested_count(count, limits)
    return count


def _is_plain(value: object) -> bool:
    """Return whether a value certainly needs no further look."""
    if isinstance(value, str):
        return type(value) is str and len(value) <= SMALL_BYTES and value.isascii()
    if isinstance(value, int):
        return type(value) is bool or (type(value) is int and MIN_NUMBER <= value <= MAX_NUMBER)
    return type(value) in PLAIN_TYPES


def _check_key(key: object, where: str) -> None:
    """Refuse what no key of a map may be."""
    if read_text(key, f"{where}: key", NAME_BYTES) == "":
        raise WireError(MALFORMED, f"{where}: expected keys of 1 to {NAME_BYTES} bytes, got an empty one")
