"""Ways to damage bytes that somebody typed: pieces exchanged, repeated or cut, and oddities between them."""

from collections.abc import Sequence
from random import Random
from typing import Final

LARGEST_BYTES: Final = 64 * 1024
"""Damage may multiply a text."""

_ODD_BYTES: Final = (
    *(b"\0", b"\n", b"\r", b"\t", b" ", b"\x1b[2J", b"\x7f", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf"),
    *(b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\xf4\x90\x80\x80", b"\xc2\x85"),
    *(b'"', b"'", b'"""', b"'''", b"\\", b"\\u", b"\\ud800", b"\\U00110000", b"\\x", b"#", b",", b"=", b":"),
    *(b"[", b"]", b"{", b"}", b"[[", b"]]", b".", b"..", b"-", b"+", b"%", b"%00", b"%ff", b"/", b"/../"),
    *(b"0", b"-0", b"1e999", b"-1e999", b"1e-999", b"0x10", b"0xffffffffffffffffffffffff", b"9" * 20),
    *(b"9" * 5000, b"0x" + b"f" * 5000, b"0." + b"1" * 5000, b"9" * 400 + b".0"),
    *(b"nan", b"inf", b"NaN", b"Infinity", b"-Infinity", b"null", b"true", b"false", b"True"),
    *(b"1979-05-27T07:32:00Z", b"9999-99-99", b"07:32:00", b"x" * 3000, b"\xc3\xa9" * 2000),
    *(b"[" * 2000, b"{" * 2000, b'{"a":' * 2000, b"[" * 30_000, b"{a=" * 3000, b"a." * 2000, b"(" * 500),
)


def spoilt(random: Random, samples: Sequence[bytes]) -> bytes:
    """Return a damaged copy of one of the samples; with luck the damage is harmless."""
    text = random.choice(samples)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        text = _damaged(random, text, samples)[:LARGEST_BYTES]
    return text


def _damaged(random: Random, text: bytes, samples: Sequence[bytes]) -> bytes:
    first, last = sorted(random.randint(0, len(text)) for _ in range(2))
    return text[:first] + _exchanged(random, text[first:last], samples) + text[last:]


def _exchanged(random: Random, piece: bytes, samples: Sequence[bytes]) -> bytes:
    """Return what stands in the place of a piece."""
    odd = random.choice(_ODD_BYTES)
    match random.randrange(7):
        case 0 | 1:
            return odd + piece
        case 2:
            return odd
        case 3:
            return piece * random.choice((0, 0, 2, 3, 50))
        case 4:
            other = random.choice(samples)
            return other[random.randint(0, len(other)) :]
        case 5:
            return random.randbytes(random.choice((1, 3, 20))) + piece
    return _flipped(random, piece)


def _flipped(random: Random, text: bytes) -> bytes:
    damaged = bytearray(text or b"\0")
    damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)
