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
from broker.wire.fields import read_text
from broker.wire.limits import DEFAULT_LIMITS, KIB, MAX_NUMBER, MIN_NUMBER, NAME_BYTES, Limits

PLAIN_TYPES: Final = frozenset({str, bool, float})
"""Types of values that need no further look, as long as the publication is small."""

_KNOWN_NAMES_COUNT: Final = 4 * KIB
"""How many names to remember: 1 MiB of text at most, and more than any sane set of programs uses."""

known_names: Final[set[str]] = set()
"""Names that were found right, so that each is checked once. It changes no answer, only its cost."""

_encoded_names: Final[dict[str, bytes]] = {}
"""The CBOR of names that publishers here use; bounded likewise."""

_pack_double: Final = Struct(">Bd").pack
_pack_32_bits: Final = Struct(">BI").pack
_DOUBLE: Final = 0xFB
_NUMBER_OF_4_BYTES: Final = 0x1A
_NUMBERS_OF_4_BYTES: Final = 2**32
_SIZES_OF_1_BYTE: Final = 256
_TRUTHS: Final = (b"\xf4", b"\xf5")
_TEXT_HEADS: Final = tuple(cbor2.dumps("x" * size)[: -size or None] for size in range(_SIZES_OF_1_BYTE))
_SHORT_MAP_HEADS: Final = tuple(bytes([0xA0 + count]) for count in range(24))


def encode_attributes(attributes: Mapping[str, Value]) -> bytes:
    """Make the map of a publication's attributes, within the default limits.

    Raises:
        WireError: a name or a value is refused, or there are too many.
    """
    if len(attributes) >= len(_SHORT_MAP_HEADS):
        return _encode_checked(attributes)
    encoded = _SHORT_MAP_HEADS[len(attributes)]
    for name, value in attributes.items():
        head = _encoded_names.get(name)
        if head is None:
            return _encode_checked(attributes)
        if type(value) is str:
            try:
                text = value.encode()
            except UnicodeEncodeError:
                return _encode_checked(attributes)
            if len(text) >= _SIZES_OF_1_BYTE:
                return _encode_checked(attributes)
            encoded += head + _TEXT_HEADS[len(text)] + text
        elif type(value) is float:
            encoded += head + _pack_double(_DOUBLE, value)
        elif type(value) is int and 0 <= value < _NUMBERS_OF_4_BYTES:
            encoded += head + _pack_32_bits(_NUMBER_OF_4_BYTES, value)
        elif type(value) is bool:
            encoded += head + _TRUTHS[value]
        else:
            return _encode_checked(attributes)
    return encoded


def _encode_checked(attributes: Mapping[str, Value]) -> bytes:
    """The same for everything unusual: new names, many attributes, long texts, large numbers, mistakes."""
    check_attributes(attributes, DEFAULT_LIMITS)
    encoded = cbor2.dumps(dict(attributes))
    if len(encoded) > DEFAULT_LIMITS.attributes_bytes:
        raise oversize("Publication.attributes", DEFAULT_LIMITS.attributes_bytes, "bytes", len(encoded))
    if len(_encoded_names) + len(attributes) > _KNOWN_NAMES_COUNT:
        _encoded_names.clear()
    _encoded_names.update((name, cbor2.dumps(name)) for name in attributes)
    return encoded


def check_attributes(attributes: Mapping[str, object], limits: Limits) -> None:
    """Refuse attributes that no frame may carry, and say which one and why.

    Raises:
        WireError: a name or a value is refused, or there are too many.
    """
    if len(attributes) > limits.attribute_count:
        raise oversize("Publication.attributes", limits.attribute_count, "attributes", len(attributes))
    for name, value in attributes.items():
        if type(name) is not str or name not in known_names:
            _check_name(name)
        _check_value(value, f"Publication.attributes[{name}]", limits)


def _check_name(name: object) -> None:
    """Take a name that is seen for the first time."""
    text = read_text(name, "Publication.attributes: name", NAME_BYTES)
    if not all(part.isidentifier() for part in text.split(".")):
        expected = "expected names of identifiers joined by dots"
        raise WireError(MALFORMED, f"Publication.attributes: {expected}, got {text!r}")
    if len(known_names) >= _KNOWN_NAMES_COUNT:
        known_names.clear()
    known_names.add(text)


def _check_value(value: object, where: str, limits: Limits) -> None:
    if type(value) is str:
        read_text(value, where, limits.text_bytes)
    elif type(value) is int:
        if not MIN_NUMBER <= value <= MAX_NUMBER:
            raise WireError(OVERSIZE, f"{where}: expected a whole number of 64 bits with sign")
    elif type(value) not in PLAIN_TYPES:
        raise malformed(where, "text, a truth value or a number", value)
