"""Ways to spoil the files of a journal: as a disk may, and so that all checksums are right again.

Random bytes alone never get past the first digest. So most forgeries are sealed again afterwards: the files
are such as nobody has written, and every checksum in them is right. Others are about what stands beside them.
"""

from collections.abc import Callable
from random import Random
from typing import Final
from zlib import crc32

from broker.journal.identity import ABOUT, LOCK
from broker.journal.layout import (
    FORMAT,
    PAGE_BYTES,
    SEGMENT,
    SNAPSHOT,
    JournalBatch,
    SegmentHead,
    SnapshotHead,
    batch_head,
    mark,
    name_of,
    numbers,
    padded,
    read_batch_head,
    read_segment_head,
    segment_head,
    snapshot_head,
)
from broker.journal.recovery import MARK

_RANGE_BYTES_MAX: Final = 20_000
_WRITTEN: Final = 0.9

Spoil = Callable[[bytes, Random], bytes | None]
"""Returns what becomes of a file's content; None if the file is gone."""

Directory = dict[str, bytearray]
"""The files of a journal, by their names."""

Forgery = Callable[[Directory, bytes, Random], None]
"""Changes the files of the journal that has this id."""

_ODD_NUMBERS: Final = (0, 1, 2, 3, 2**16, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_ODD_NAMES: Final = (
    *("thesis.tex", "a" * 255, "two\nlines", "\udcff\udcfe", "\x1b[31mred", ".hidden", "lost+found"),
    *("synced.new", "spare.new", f"{'9' * 20}{SEGMENT}", f"{'9' * 20}{SNAPSHOT}", f"{0:020}{SEGMENT}"),
    *(f"{0:020}{SNAPSHOT}", f"{2**64 - 1:020}{SEGMENT}", f"{2**63 - 1:020}{SNAPSHOT}", f"1{SEGMENT}"),
    f"{'٣' * 20}{SEGMENT}",
)
_ODD_ABOUTS: Final = (
    b"",
    b"null",
    b"[]",
    b"{}",
    b"1" * 5000,
    b"[" * 60_000,
    b'{"a":' * 10_000,
    b'{"format": 1}',
    b'{"format": true, "broker": "B1", "id": "00"}',
    b'{"format": 1, "broker": ["B1"], "id": "00"}',
    b'{"format": 1e999, "broker": "B1", "id": "00"}',
    b'{"format": 1, "broker": "B1", "id": 5}',
    b'{"format": 99999999999999999999999, "broker": "B1", "id": "00"}',
    b'{"format": 7' + b"0" * 4000 + b', "broker": "B1", "id": "00"}',
    b'{\n  "format": 1,\n  "broker": "' + b"x" * 5000 + b'",\n  "id": "' + b"00" * 16 + b'"\n}\n',
    b'{\n  "format": 1,\n  "broker": "\\n\\u001b",\n  "id": "' + b"00" * 16 + b'"\n}\n',
    b'{\n  "format": 1,\n  "broker": "\\ud800",\n  "id": "' + b"00" * 16 + b'"\n}\n',
    b"\xff\xfe\x00",
)
_RIGHT: Final = 0.6


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


def _number(random: Random, near: int) -> int:
    """A number that is odd, or nearly right."""
    if random.getrandbits(1):
        return random.choice(_ODD_NUMBERS)
    return (near + random.choice((-2, -1, 1, 2, 100))) % 2**64


def _segments(files: Directory) -> list[str]:
    return [name for name in sorted(files) if name.endswith(SEGMENT)]


def _damage(files: Directory, journal_id: bytes, random: Random) -> None:
    """Spoil a file as a disk may."""
    del journal_id
    name = random.choice([name for name in sorted(files) if files[name]] or [""])
    if not name:
        return
    _, spoilt = spoil(bytes(files[name]), random)
    if spoilt is None:
        del files[name]
    else:
        files[name] = bytearray(spoilt)


def _forge_segment(files: Directory, journal_id: bytes, random: Random) -> None:
    """Let a segment say something else of itself."""
    for name in _segments(files)[-random.choice((1, 1, 2)) :][:1]:
        head = read_segment_head(journal_id, bytes(files[name][:PAGE_BYTES]))
        if head is None:
            return
        forged = random.choice(
            (
                SegmentHead(_number(random, FORMAT) % 2**32, head.first, head.size_bytes, head.salt),
                SegmentHead(head.version, _number(random, head.first), head.size_bytes, head.salt),
                SegmentHead(head.version, head.first, _number(random, head.size_bytes), head.salt),
                SegmentHead(head.version, head.first, head.size_bytes, random.randbytes(16)),
            )
        )
        content = segment_head(journal_id, forged)
        files[name][: len(content)] = content
        if random.getrandbits(1) and forged.first != head.first:
            files[name_of(forged.first, SEGMENT)] = files.pop(name)


def _batches(content: bytes, salt: bytes) -> list[tuple[int, JournalBatch]]:
    found, start = [], PAGE_BYTES
    while batch := read_batch_head(salt, content, start):
        found.append((start, batch))
        start += batch.size_bytes
    return found


def _forge_batch(files: Directory, journal_id: bytes, random: Random) -> None:
    """Let a batch have other contents or another head, sealed as if it had been written so."""
    for name in _segments(files)[-1:]:
        content = files[name]
        head = read_segment_head(journal_id, bytes(content[:PAGE_BYTES]))
        batches = _batches(bytes(content), head.salt) if head is not None else []
        if head is None or not batches:
            return
        start, batch = random.choice(batches[-2:])
        begin = start + len(batch_head(head.salt, start, batch))
        inside = _inside(bytes(content[begin : begin + batch.content_bytes]), random)
        forged = JournalBatch(
            len(inside) if random.random() < _RIGHT else _number(random, len(inside)) % 2**32,
            batch.count if random.random() < _RIGHT else _number(random, batch.count) % 2**32,
            batch.first if random.random() < _RIGHT else _number(random, batch.first),
            crc32(inside),
        )
        whole = batch_head(head.salt, start, forged) + inside
        whole += bytes(padded(len(whole)) - len(whole))
        content[start : start + len(whole)] = whole


def _inside(content: bytes, random: Random) -> bytes:
    """Return the content of a batch, with records of other lengths, or with none."""
    match random.randrange(6):
        case 0:
            return b""
        case 1:
            return random.randbytes(random.randrange(1, 100))
        case 2:
            return content[: random.randrange(len(content) + 1)]
        case 3:
            return random.choice((0, 1, 2**31, 2**32 - 1)).to_bytes(4, "big") + content[4:]
        case 4:
            return content + bytes(random.choice((1, 3, 4, 8)))
        case _:
            return content


def _forge_snapshot(files: Directory, journal_id: bytes, random: Random) -> None:
    """Put a snapshot there that says something odd, or has something odd in it."""
    known = numbers(files, SNAPSHOT)
    content = random.randbytes(random.randrange(50))
    upto = _number(random, known[-1] if known else 3)
    right = SnapshotHead.of(content, upto)
    forged = random.choice(
        (
            right,
            SnapshotHead(_number(random, FORMAT) % 2**32, right.upto, right.content_bytes, right.digest),
            SnapshotHead(FORMAT, right.upto, _number(random, right.content_bytes), right.digest),
            SnapshotHead(FORMAT, _number(random, right.upto), right.content_bytes, right.digest),
        )
    )
    name = name_of(random.choice((right.upto, forged.upto)), SNAPSHOT)
    files[name] = bytearray(snapshot_head(journal_id, forged) + content)


def _forge_mark(files: Directory, journal_id: bytes, random: Random) -> None:
    """Let the mark name another record."""
    files[MARK] = bytearray(mark(journal_id, _number(random, 5)) + bytes(random.choice((0, 0, 9))))


def _forge_about(files: Directory, journal_id: bytes, random: Random) -> None:
    """Say something else of whose journal it is."""
    del journal_id
    files[ABOUT] = bytearray(random.choice(_ODD_ABOUTS))


def _add_stranger(files: Directory, journal_id: bytes, random: Random) -> None:
    """Put a file beside the others, or in the place of one."""
    del journal_id
    if random.getrandbits(1):
        files.pop(ABOUT, None)
    files[random.choice(_ODD_NAMES)] = bytearray(random.randbytes(random.choice((0, 1, 100, 5000))))


def _rename(files: Directory, journal_id: bytes, random: Random) -> None:
    """Give a file the name of another, or one a little beside."""
    del journal_id
    old = random.choice(sorted(files))
    kinds = [kind for kind in (SEGMENT, SNAPSHOT) if old.endswith(kind)]
    near = (
        name_of(_number(random, max(numbers([old], kinds[0]), default=1)), kinds[0])
        if kinds
        else f"{old}.new"
    )
    new = random.choice((near, random.choice(sorted(files)), LOCK))
    content = files[old] if random.getrandbits(1) else files.pop(old)
    files[new] = bytearray(content)


FORGERIES: Final[tuple[Forgery, ...]] = (
    _damage,
    _forge_segment,
    _forge_batch,
    _forge_batch,
    _forge_snapshot,
    _forge_mark,
    _forge_about,
    _add_stranger,
    _rename,
)


def damage(files: Directory, random: Random) -> str:
    """Spoil one file as a disk may, half of the time the one that was written last; return how."""
    last = max(name for name in files if name.endswith(SEGMENT))
    name = last if random.getrandbits(1) else random.choice(sorted(files))
    kind, spoilt = spoil(bytes(files[name]), random)
    if spoilt is None:
        del files[name]
    else:
        files[name] = bytearray(spoilt)
    return kind


def forge(files: Directory, journal_id: bytes, random: Random) -> str:
    """Spoil a journal once, or a few times; return how."""
    done = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if files:
            forgery = random.choice(FORGERIES)
            forgery(files, journal_id, random)
            done.append(forgery.__name__.strip("_").replace("_", " "))
    return ", ".join(done)
