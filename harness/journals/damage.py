"""Ways in which a file of a journal can be spoilt, each as chance will have it."""

from collections.abc import Callable
from random import Random
from typing import Final

PAGE_BYTES: Final = 4096
_RANGE_BYTES_MAX: Final = 20_000
_WRITTEN: Final = 0.9

Spoil = Callable[[bytes, Random], bytes | None]
"""Returns what becomes of a file's content; None if the file is gone."""


def _range(content: bytes, random: Random) -> tuple[int, int]:
    """A range of the file; mostly where something is written, since most of a segment is not yet."""
    written = len(content.rstrip(b"\0")) if random.random() < _WRITTEN else len(content)
    start = random.randrange(max(1, written))
    return start, min(len(content), start + random.randrange(1, _RANGE_BYTES_MAX))


def _flip(content: bytes, random: Random) -> bytes:
    start, _ = _range(content, random)
    spoilt = bytearray(content)
    spoilt[start] ^= 1 << random.randrange(8)
    return bytes(spoilt)


def _overwrite(content: bytes, random: Random) -> bytes:
    start, stop = _range(content, random)
    return content[:start] + random.randbytes(stop - start) + content[stop:]


def _zero(content: bytes, random: Random) -> bytes:
    start, stop = _range(content, random)
    return content[:start] + bytes(stop - start) + content[stop:]


def _zero_pages(content: bytes, random: Random) -> bytes:
    start = _range(content, random)[0] // PAGE_BYTES * PAGE_BYTES
    stop = min(len(content), start + PAGE_BYTES * random.randrange(1, 5))
    return content[:start] + bytes(stop - start) + content[stop:]


def _cut(content: bytes, random: Random) -> bytes:
    return content[: _range(content, random)[0]]


def _lengthen(content: bytes, random: Random) -> bytes:
    return content + random.randbytes(random.randrange(1, _RANGE_BYTES_MAX))


def _leave_out(content: bytes, random: Random) -> bytes:
    start, stop = _range(content, random)
    return content[:start] + content[stop:]


def _repeat(content: bytes, random: Random) -> bytes:
    """Pages from one place are at another too."""
    start = _range(content, random)[0] // PAGE_BYTES * PAGE_BYTES
    target = _range(content, random)[0] // PAGE_BYTES * PAGE_BYTES
    part = content[start : start + PAGE_BYTES * random.randrange(1, 4)]
    return content[:target] + part + content[target + len(part) :]


def _exchange(content: bytes, random: Random) -> bytes:
    """Two pages are in each other's place."""
    first, second = sorted(_range(content, random)[0] // PAGE_BYTES * PAGE_BYTES for _ in range(2))
    if first == second:
        return _flip(content, random)
    one, other = content[first : first + PAGE_BYTES], content[second : second + PAGE_BYTES]
    between, rest = content[first + PAGE_BYTES : second], content[second + PAGE_BYTES :]
    return content[:first] + other + between + one + rest


def _empty(content: bytes, random: Random) -> bytes:
    del content, random
    return b""


def _remove(content: bytes, random: Random) -> None:
    del content, random


KINDS: Final[dict[str, Spoil]] = {
    "a bit flipped": _flip,
    "a range overwritten": _overwrite,
    "a range zeroed": _zero,
    "pages zeroed": _zero_pages,
    "cut off": _cut,
    "lengthened": _lengthen,
    "a range left out": _leave_out,
    "pages repeated": _repeat,
    "pages exchanged": _exchange,
    "emptied": _empty,
    "removed": _remove,
}


def spoil(content: bytes, random: Random) -> tuple[str, bytes | None]:
    """Spoil a file's content; return how, and what has become of it."""
    kind = random.choice(list(KINDS))
    return kind, KINDS[kind](content, random)
