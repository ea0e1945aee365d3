"""Attributes of publications: which names and values there may be, and their CBOR.

A name is made of Python identifiers joined by dots, because filters are written with it. A value is text, a
truth value, a whole number of 64 bits with sign, or a floating number. Infinities and NaN are floating
numbers like others: NaN satisfies no comparison, yet the attribute exists.

Attributes are so few types that putting their CBOR together here takes half the time of the library, checks
included; reading them is the library's.
"""

from collections.abc import Mapping
from struct import Struct
from typing import Final

import cbor2

from broker.filters.constraints import Value
from broker.wire.errors import MALFORMED, OVERSIZE, WireError, malformed, oversize
from broker.wire.events import add_name
from broker.wire.fields import read_text
from broker.wire.limits import DEFAULT_LIMITS, KIB, MAX_NUMBER, MIN_NUMBER, NAME_BYTES, WireLimits

PLAIN_TYPES: Final = frozenset({str, bool, float})
"""Types of values that need no further look, as long as the publication is small."""

_KNOWN_NAMES_COUNT: Final = 4 * KIB
"""How many names to remember: 1 MiB of text at most, and more than any sane set of programs uses."""

known_names: Final[set[str]] = set()
"""Names that were found right, so that each is checked once. It changes no answer, only its cost."""

encoded_names: Final[dict[str, bytes]] = {}
"""The CBOR of names that publishers here use; bounded likewise."""

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
            _check_value(value, f"Publication.attributes[{name}]", DEFAULT_LIMITS)
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
    for name, value in attributes.items():
        if type(name) is not str or name not in known_names:
            _check_name(name)
        _check_value(value, f"Publication.attributes[{name}]", limits)


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


def _check_value(value: object, where: str, limits: WireLimits) -> None:
    if type(value) is str:
        read_text(value, where, limits.text_bytes)
    elif type(value) is int:
        if not MIN_NUMBER <= value <= MAX_NUMBER:
            raise WireError(OVERSIZE, f"{where}: expected a whole number of 64 bits with sign")
    elif type(value) not in PLAIN_TYPES:
        raise malformed(where, "text, a truth value or a number", value)
