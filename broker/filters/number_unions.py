"""Unions of spans of numbers: sorted, joined, and punctured where a single number is missing.

A span is its low bound, whether that is closed, its high bound, and whether that is closed; a bound of None
is open to that side. They are plain tuples, because a union makes one for each number it has or excludes.
"""

from collections.abc import Iterable

from broker.filters.values import Number

Span = tuple[Number | None, bool, Number | None, bool]
PuncturedSpan = tuple[Span, list[Number]]


def disjoint_spans(spans: Iterable[Span]) -> list[Span]:
    """Join spans where they overlap or touch; return them in order."""
    joined: list[Span] = []
    for span in sorted(spans, key=_start):
        if not joined or _has_gap(joined[-1], span):
            joined.append(span)
        elif _ends_later(span, joined[-1]):
            joined[-1] = (*joined[-1][:2], *span[2:])
    return joined


def punctured(spans: Iterable[Span]) -> list[PuncturedSpan]:
    """Turn disjoint spans that only a single number parts into one, with the numbers that it lacks."""
    found: list[PuncturedSpan] = []
    for span in spans:
        if found and found[-1][0][2] is not None and found[-1][0][2] == span[0]:
            last, lacking = found[-1]
            lacking.append(last[2])  # type: ignore[arg-type]  # it is not None
            found[-1] = ((*last[:2], *span[2:]), lacking)
        else:
            found.append((span, []))
    return found


def _start(span: Span) -> tuple[bool, Number, bool]:
    low = span[0]
    return (False, 0, not span[1]) if low is None else (True, low, not span[1])


def _ends_later(one: Span, other: Span) -> bool:
    if one[2] is None or other[2] is None:
        return other[2] is not None
    return one[2] > other[2] or (one[2] == other[2] and one[3] and not other[3])


def _has_gap(left: Span, right: Span) -> bool:
    """Tell whether some number lies between the end of one and the start of the next."""
    if left[2] is None or right[0] is None:
        return False
    return left[2] < right[0] or (left[2] == right[0] and not (left[3] or right[1]))
