"""Sets on a line, as spans from a cut up to another one: what networks and versions are made of.

Laws:

* A set is spans in order; no two touch. So equal sets are equal, and comparing takes a time in proportion.
* A span holds its first cut and not its last, and is never empty.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeVar

VersionCut = tuple[tuple[float, int, int, int, tuple[tuple[int, int, str], ...]], int]
Cut = TypeVar("Cut", int, VersionCut)
Spans = tuple[tuple[Cut, Cut], ...]


def united(spans: Iterable[tuple[Cut, Cut]]) -> Spans[Cut]:
    """Return the set of all that is in one of the spans, of which some may be empty."""
    joined: list[tuple[Cut, Cut]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        elif start < end:
            joined.append((start, end))
    return tuple(joined)


def common(one: Spans[Cut], other: Spans[Cut]) -> Spans[Cut]:
    """Return what is in both sets."""
    return tuple(_common(one, other))


def _common(one: Spans[Cut], other: Spans[Cut]) -> Iterator[tuple[Cut, Cut]]:
    mine = theirs = 0
    while mine < len(one) and theirs < len(other):
        start = max(one[mine][0], other[theirs][0])
        end = min(one[mine][1], other[theirs][1])
        if start < end:
            yield start, end
        if one[mine][1] < other[theirs][1]:
            mine += 1
        else:
            theirs += 1


def without(one: Spans[Cut], other: Spans[Cut]) -> Spans[Cut]:
    """Return what is in the first set and not in the other."""
    return tuple(_without(one, other))


def _without(one: Spans[Cut], other: Spans[Cut]) -> Iterator[tuple[Cut, Cut]]:
    at = 0
    for start, end in one:
        while at < len(other) and other[at][1] <= start:
            at += 1
        left, further = start, at
        while further < len(other) and other[further][0] < end:
            if left < other[further][0]:
                yield left, other[further][0]
            left = other[further][1]
            further += 1
        if left < end:
            yield left, end


def includes(one: Spans[Cut], other: Spans[Cut]) -> bool:
    """Return whether all that is in the other set is in the first."""
    return not without(other, one)


def meets(one: Spans[Cut], other: Spans[Cut]) -> bool:
    """Return whether something is in both sets."""
    return next(_common(one, other), None) is not None


def holds(spans: Spans[Cut], cut: Cut) -> bool:
    """Return whether what begins at the cut is in the set."""
    at = bisect_right(spans, cut, key=_start) - 1
    return at >= 0 and cut < spans[at][1]


def _start(span: tuple[Cut, Cut]) -> Cut:
    return span[0]
