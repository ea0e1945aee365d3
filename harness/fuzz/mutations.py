"""Ways to damage what is valid so that it stays interesting: a frame, or typed text.

Random bytes alone rarely get past the first check. So most damage is done where the structure is: a field is
exchanged for one of another type, an item is wrapped or doubled, a head claims another size; then the length
of the frame is made right again, or not. In what was typed pieces are exchanged, repeated or cut, with
oddities between them.
"""

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import cbor2

from broker.wire.cbor import SEPARATOR
from broker.wire.header import HEADER, LENGTH_BYTES
from broker.wire.kinds import BY_KIND

Mutation = Callable[[Random, bytes], bytes]

_ODD_ITEMS: Final[tuple[object, ...]] = (
    *(None, True, 0, 1, -1, 23, 24, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -(2**64), 2**64, 0.0, math.nan),
    *(math.inf, "", "x" * 300, "client", "True", "x == 1 or", "not (" * 70, b"", b"x" * 300, SEPARATOR),
    *([], [[[[[]]]]], {}, {"a": 1}, {1: 2}, {b"a": 1}, cbor2.undefined, cbor2.CBORSimpleValue(99)),
    *(cbor2.CBORTag(28, []), cbor2.CBORTag(4, [2**31, 1]), cbor2.CBORTag(35, "(a+)+$")),
    *(cbor2.CBORTag(55799, 1), ["a", "True"], [["a", "x == 1"], ["a", "x == 1"]]),
)

_ODD_BYTES: Final = (
    *(SEPARATOR, SEPARATOR[:-1], b"\xc2\x49", b"\xd8\x1c", b"\xd8\x1d\x00", b"\xd9\xd9\xf7", b"\x9f"),
    *(b"\xbf", b"\x7f", b"\x5f", b"\xff", b"\x9a\x7f\xff\xff\xff", b"\xba\x7f\xff\xff\xff"),
    *(b"\x5b\x7f\xff\xff\xff\xff\xff\xff\xff", b"\x7a\x00\x0f\xff\xff", b"\xa2\x61a\x01\x61a\x02"),
    *(b"\xf8\x00", b"\xfc", b"\xed\xa0\x80", bytes(9)),
)


_ODD_TEXTS: Final = (
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


LARGEST_BYTES: Final = 64 * 1024
"""Damage may multiply what it is done to; without a bound the peak of memory would show the largest case, and
not a leak."""


def mutated(random: Random, frame: bytes) -> bytes:
    """A damaged copy of the frame; with luck the damage is harmless, and that must be right too."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        frame = random.choice(_MUTATIONS)(random, frame)[:LARGEST_BYTES] or frame
    return frame


def _framed(random: Random, frame: bytes, body: bytes) -> bytes:
    """The frame around another body; once in a while the length stays what it was."""
    if random.random() < 0.1:  # noqa: PLR2004 - rare, but not too rare
        return frame[: HEADER.size] + body
    return (len(body) + 2).to_bytes(LENGTH_BYTES) + frame[LENGTH_BYTES : HEADER.size] + body


def _exchange_item(random: Random, frame: bytes) -> bytes:
    """Another item in the place of a field, or of what is inside it."""
    try:
        items = cbor2.loads(frame[HEADER.size :])
        _exchange(random, items)
        return _framed(random, frame, cbor2.dumps(items))
    except (cbor2.CBORError, ValueError, TypeError, OverflowError):
        # It has been damaged before.
        return frame


def _exchange(random: Random, items: object) -> None:
    if isinstance(items, dict):
        _exchange_in_map(random, items)
    elif isinstance(items, list) and items:
        place = random.randrange(len(items))
        inner = items[place]
        if isinstance(inner, list | dict) and random.getrandbits(1):
            _exchange(random, inner)
        else:
            _exchange_in_list(random, items, place)


def _exchange_in_list(random: Random, items: list[object], place: int) -> None:
    match random.randrange(4):
        case 0:
            del items[place]
        case 1:
            items.insert(place, items[place])
        case _:
            items[place] = random.choice(_ODD_ITEMS)


def _exchange_in_map(random: Random, items: dict[object, object]) -> None:
    key = random.choice(("kind", "a b", "", "x" * 256, "a..b", "new", "é", 1, b"a"))
    items[key] = random.choice(_ODD_ITEMS)


def _insert_odd_bytes(random: Random, frame: bytes) -> bytes:
    place = random.randint(HEADER.size, max(HEADER.size, len(frame)))
    return _framed(random, frame, frame[HEADER.size : place] + random.choice(_ODD_BYTES) + frame[place:])


def _write_over(random: Random, frame: bytes) -> bytes:
    place = random.randint(HEADER.size, max(HEADER.size, len(frame)))
    odd = random.choice(_ODD_BYTES)
    return _framed(random, frame, frame[HEADER.size : place] + odd + frame[place + len(odd) :])


def _flipped(random: Random, content: bytes, times: int = 1) -> bytes:
    damaged = bytearray(content)
    for _ in range(times):
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
    return bytes(damaged)


def _flip_bits(random: Random, frame: bytes) -> bytes:
    return _flipped(random, frame, random.choice((1, 1, 2, 5)))


def _cut_end(random: Random, frame: bytes) -> bytes:
    return _framed(
        random, frame, frame[HEADER.size : random.randint(HEADER.size, max(HEADER.size, len(frame)))]
    )


def _repeat_part(random: Random, frame: bytes) -> bytes:
    first, last = sorted(random.randint(HEADER.size, max(HEADER.size, len(frame))) for _ in range(2))
    times = random.choice((2, 3, 50))
    return _framed(random, frame, frame[HEADER.size : first] + frame[first:last] * times + frame[last:])


def _change_kind(random: Random, frame: bytes) -> bytes:
    kind = random.choice((*BY_KIND, 0, 0x7F, 0xFF))
    return frame[:LENGTH_BYTES] + bytes([kind]) + frame[LENGTH_BYTES + 1 :]


def _change_flags(random: Random, frame: bytes) -> bytes:
    return frame[: HEADER.size - 1] + bytes([random.randrange(256)]) + frame[HEADER.size :]


def _change_length(random: Random, frame: bytes) -> bytes:
    length = random.choice((0, 1, 2, len(frame) - 5, len(frame) - 3, 2**14 + 1, 2**26, 2**26 + 1, 2**32 - 1))
    return max(0, length).to_bytes(LENGTH_BYTES) + frame[LENGTH_BYTES:]


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _exchange_item,
    _exchange_item,
    _exchange_item,
    _insert_odd_bytes,
    _write_over,
    _flip_bits,
    _cut_end,
    _repeat_part,
    _change_kind,
    _change_flags,
    _change_length,
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
    odd = random.choice(_ODD_TEXTS)
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
    return _flipped(random, piece or b"\0")
