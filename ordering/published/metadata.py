"""Ids of subscriptions as the numbers of notes, since a note holds nothing else.

A note is its kind, the length of a text in bytes, and the text, seven bytes a number. The text is ids with
line ends between them; there are none within.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ordering.interface import ForeignNoteError, Note

METADATA: Final = 3
"""The kind of note that carries ids for the next publication on the link."""

NUMBER_BYTES: Final = 7
"""The whole bytes that fit into a number below 2**63."""

TEXT_BYTES_MAX: Final = 6_000
"""A note holds some thousand numbers; one more id of a kibibyte still fits."""


def notes_of(ids: Iterable[str]) -> Iterator[Note]:
    """Put ids into as few notes as will hold them."""
    batch: list[bytes] = []
    size_bytes = 0
    for each in ids:
        if size_bytes > TEXT_BYTES_MAX:
            yield _note(b"\n".join(batch))
            batch, size_bytes = [], 0
        batch.append(each.encode())
        size_bytes += len(batch[-1]) + 1
    if batch:
        yield _note(b"\n".join(batch))


def _note(text: bytes) -> Note:
    starts = range(0, len(text), NUMBER_BYTES)
    numbers = (int.from_bytes(text[start : start + NUMBER_BYTES]) for start in starts)
    return Note((METADATA, len(text), *numbers))


def ids_of(content: tuple[int, ...]) -> list[str]:
    """Take the ids out of a note of that kind.

    Raises:
        ForeignNoteError: `notes_of` makes no such note.
    """
    try:
        size_bytes, numbers = content[1], content[2:]
        sizes = [NUMBER_BYTES] * (size_bytes // NUMBER_BYTES)
        if size_bytes % NUMBER_BYTES:
            sizes.append(size_bytes % NUMBER_BYTES)
        pairs = zip(numbers, sizes, strict=True)
        return b"".join(number.to_bytes(size) for number, size in pairs).decode().split("\n")
    except (IndexError, ValueError, OverflowError, MemoryError) as error:
        raise ForeignNoteError(f"{content} carries no ids: {error}") from error
