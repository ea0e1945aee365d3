"""Runs of publications: what is asked of many of them, in one pass.

The compiled form reads their fields without asking the interpreter for each; that is all that it gains.
"""

from collections.abc import Callable, Mapping, Sequence

from broker.filters.constraints import Value
from broker.publication import Publication
from broker.wire.publications import marked


def weigh(messages: Sequence[object]) -> tuple[int, int]:
    """Return how many of these messages are publications, and how many bytes these have."""
    count = size_bytes = 0
    for message in messages:
        if type(message) is Publication:
            publication = message
            count += 1
            size_bytes += len(publication.frame)
    return count, size_bytes


def going_on(
    messages: Sequence[object],
    start: int,
    publisher: str,
    sequence: int,
    matches: Callable[[Mapping[str, Value]], bool],
) -> tuple[int, int]:
    """Return how many publications from `start` on are the next ones of this publisher, and their bytes.

    Each has the number behind `sequence` and the one before it, and its attributes match.
    """
    index = start
    size_bytes = 0
    while index < len(messages):
        message = messages[index]
        if type(message) is not Publication:
            break
        publication = message
        number = publication.sequence
        sequence += 1
        if publication.publisher != publisher or number != sequence or not matches(publication.attributes):
            break
        index += 1
        size_bytes += len(publication.frame)
    return index - start, size_bytes


def joined(messages: Sequence[object]) -> bytes | None:
    """Return the frames of publications with their marks, one behind the other; None if others are there."""
    frames: list[bytes] = []
    for message in messages:
        if type(message) is not Publication:
            return None
        publication = message
        mark = publication.mark
        frames.append(marked(publication.frame, mark) if mark else publication.frame)
    return b"".join(frames) if len(frames) > 1 else frames[0]


def plainly_joined(publications: Sequence[Publication]) -> tuple[bytes, int]:
    """Return their frames without marks, one behind the other, and the latest time of publishing."""
    frames: list[bytes] = []
    latest_ns = 0
    for publication in publications:
        frames.append(publication.frame)
        published_ns = publication.published_ns
        latest_ns = max(latest_ns, published_ns)
    return b"".join(frames), latest_ns
