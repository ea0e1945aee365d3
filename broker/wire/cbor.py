"""CBOR as far as frames use it: one item, nothing exotic, nothing after it.

The library decodes more than a frame may hold, and ignores bytes after the item. So:

* Tags are refused one by one: those the library knows are overridden, the others come to its tag hook.
  No date, bignum, pattern or shared value is ever built.
* Indefinite lengths, duplicate keys, keys that are not strings, and depth are the library's to refuse.
* To see bytes after an item, a *separator* is put behind it and both are read as one array. The item is whole
  and alone exactly if the separator comes out as the next element. That proves it because the separator does
  not occur in the bytes read (checked before), and no proper end of it is a beginning of it.
* Several items that follow each other are read by one call in the same way, a separator after each. One call
  per item would cost a quarter more.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final

import cbor2

from broker.wire.errors import MALFORMED, WireError

SEPARATOR: Final = b"\x1b" + b"\xff" * 8
"""The number 2**64 - 1. No float equals it, and only these nine bytes encode it (tags are refused)."""

_SEPARATOR_VALUE: Final = 2**64 - 1
_ARRAY_HEAD: Final = Struct(">BI").pack
_ARRAY_OF_32_BIT_COUNT: Final = 0x9A
_PAIR_HEAD: Final = b"\x82"
_BYTES_OF_32_BIT_COUNT: Final = 0x5A

_LENIENT_DEPTH: Final = 16
"""More than any message has, so that the field that holds a container can be named; still next to nothing."""

KNOWN_TAGS: Final = (
    *range(64),
    *(100, 256, 258, 260, 261, 1004, 43000, 55799),
)
"""Every tag that the library gives a meaning to (with room); a test tries all numbers up to 70,000."""


def _refuse_tag(*_: object) -> object:
    raise ValueError("tags are not used in frames")


_NO_TAGS: Final = dict.fromkeys(KNOWN_TAGS, _refuse_tag)


def load_items(bodies: Sequence[bytes], depth: int) -> list[Any] | None:
    """Decode bodies of one item each; None if any of them is at fault, or holds the separator."""
    count = len(bodies)
    stream = SEPARATOR.join([_ARRAY_HEAD(_ARRAY_OF_32_BIT_COUNT, 2 * count + 1), *bodies, b""])
    if stream.count(SEPARATOR) != count + 1:
        return None
    try:
        items: list[Any] = cbor2.loads(
            stream,
            max_depth=depth + 1,
            allow_duplicate_keys=False,
            allow_indefinite=False,
            strict_hashable_types=True,
            semantic_decoders=_NO_TAGS,
            tag_hook=_refuse_tag,
        )
    except cbor2.CBORError:
        return None
    if items[::2] != [_SEPARATOR_VALUE] * (count + 1):
        return None
    return items[1::2]


def load_item(body: bytes, where: str) -> Any:
    """Decode the only item of a body, or raise an error that names the fault."""
    follower, expected = _follower(body)
    stream = _PAIR_HEAD + body + follower
    try:
        item, after = cbor2.loads(
            stream,
            max_depth=_LENIENT_DEPTH,
            allow_duplicate_keys=False,
            allow_indefinite=False,
            strict_hashable_types=True,
            semantic_decoders=_NO_TAGS,
            tag_hook=_refuse_tag,
        )
    except cbor2.CBORDecodeEOF:
        raise WireError(MALFORMED, f"{where}: the body ends within an item") from None
    except cbor2.CBORError as error:
        raise WireError(MALFORMED, f"{where}: the body is not plain CBOR: {_reason(error)}") from None
    if type(after) is not type(expected) or after != expected:
        raise WireError(MALFORMED, f"{where}: expected one item, got more bytes after it or less than one")
    return item


def _follower(body: bytes) -> tuple[bytes, object]:
    """Return the bytes to put behind a body, and the value they must decode to.

    If the body holds the separator (none does by chance), zeros as many as the body is long replace
    it: a copy of those inside the body would have to reach over the head of the real ones, which is not 0.
    """
    if SEPARATOR not in body:
        return SEPARATOR, _SEPARATOR_VALUE
    zeros = bytes(len(body))
    return _ARRAY_HEAD(_BYTES_OF_32_BIT_COUNT, len(body)) + zeros, zeros


def _reason(error: cbor2.CBORError) -> str:
    """The library's words, with the cause if it names one."""
    cause = error.__cause__
    return f"{error}: {cause}" if isinstance(cause, ValueError) else str(error)
