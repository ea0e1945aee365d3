r"""Intervals of texts in code point order, as pairs of cuts.

Theory of operation: an interval is `start <= text < end`, where an end of None is open. Every bound becomes
such a cut, because the next text after "a" is "a\0": `x > 'a'` starts at "a\0", `x <= 'a'` ends there. What
starts with "ab" is the interval from "ab" to "ac". So joining, trimming and comparing need no cases for
open and closed.

Law: between two cuts there is a text, always (the start itself); there are finitely many only if the end is
the start followed by zero characters.
"""

from collections.abc import Iterable

Cut = str | None
Interval = tuple[str, Cut]

ZERO = "\0"
LAST = "\U0010ffff"

FINITE_LIMIT = 16
"""Intervals of up to so many texts are written as a set; they end in as many zero characters, which no user
writes."""


def after_prefix(prefix: str) -> Cut:
    """Return the first text after all that start with the prefix."""
    stem = prefix.rstrip(LAST)
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else None


def point(text: str) -> Interval:
    """Return the interval that holds that text alone."""
    return text, text + ZERO


def earlier(one: Cut, other: Cut) -> Cut:
    """Return the end that comes first."""
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)


def ends_by(one: Cut, other: Cut) -> bool:
    """Return whether an interval with the first end ends no later than one with the second."""
    return other is None or (one is not None and one <= other)


def interval_of(
    prefix: str,
    low: str | None,
    low_closed: bool,  # noqa: FBT001 - a field of the pattern
    high: str | None,
    high_closed: bool,  # noqa: FBT001 - likewise
) -> Interval:
    """Return the cuts that bounds and a prefix mean; the interval may be empty."""
    start = "" if low is None else low if low_closed else low + ZERO
    end = None if high is None else high + ZERO if high_closed else high
    return max(start, prefix), earlier(end, after_prefix(prefix))


def bounds_of(interval: Interval) -> tuple[str, str | None, bool, str | None, bool]:
    """Return the longest prefix all texts of the interval have, and the bounds that it does not imply."""
    start, end = interval
    prefix = _shared_prefix(start, end)
    low, low_closed = (None, False) if start == prefix else (start, True)
    if low is not None and low.endswith(ZERO):
        low, low_closed = low[:-1], False
    high, high_closed = (None, False) if end == after_prefix(prefix) else (end, False)
    if high is not None and high.endswith(ZERO):
        high, high_closed = high[:-1], True
    return prefix, low, low_closed, high, high_closed


def _shared_prefix(start: str, end: Cut) -> str:
    length = 0
    if end is not None:
        limit = min(len(start), len(end))
        while length < limit and start[length] == end[length]:
            length += 1
        neighbours = (
            len(end) == length + 1 and len(start) > length and ord(start[length]) + 1 == ord(end[length])
        )
        if not neighbours:
            return start[:length]
        length += 1
    while start[length : length + 1] == LAST:
        length += 1
    return start[:length]


def members(interval: Interval) -> list[str] | None:
    """Return the texts of the interval if they are few."""
    start, end = interval
    count = 0 if end is None else len(end) - len(start)
    if end != start + ZERO * count or not 0 < count <= FINITE_LIMIT:
        return None
    return [start + ZERO * index for index in range(count)]


def trimmed(interval: Interval, holes: Iterable[Interval]) -> Interval | None:
    """Move the ends of the interval inwards past the holes that touch them; None if nothing is left."""
    start, end = interval
    ordered = sorted(holes, key=_by_start)
    for hole_start, hole_end in ordered:
        if hole_start <= start and not ends_by(hole_end, start):
            if hole_end is None:
                return None
            start = hole_end
    for hole_start, hole_end in sorted(ordered, key=_by_end, reverse=True):
        if ends_by(end, hole_end) and (end is None or hole_start < end):
            end = hole_start
    return (start, end) if end is None or start < end else None


def _by_start(hole: Interval) -> str:
    return hole[0]


def _by_end(hole: Interval) -> tuple[bool, str, str]:
    return (hole[1] is None, hole[1] or "", hole[0])


def contains(outer: Interval, inner: Interval) -> bool:
    """Return whether the first interval contains the second."""
    return outer[0] <= inner[0] and ends_by(inner[1], outer[1])


def disjoint(one: Interval, other: Interval) -> bool:
    """Return whether no text lies in both intervals."""
    return ends_by(one[1], other[0]) or ends_by(other[1], one[0])
