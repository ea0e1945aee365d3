"""Makes one stream of scattered pieces of deliveries, and judges a stream by itself.

A delivery's *mark* identifies the publication: the number of an ordered publication, -1 for one that nobody
published, and -2 - number for an unordered one. So the marks that concern order are those that are not
negative.
"""

from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from harness.analysis.kernels.permutations import Int32s, Int64s

UNPUBLISHED: Final = -1


@attrs.frozen(eq=False)
class DeliveryStream:
    """The deliveries of one subscription. `firsts` are the numbers of first deliveries, ordered or not."""

    deliveries: int
    duplicates: int
    unpublished: int
    repeated_positions: int
    firsts: Int32s
    ordered: Int32s
    delivered_ns: Int64s


def marks_of(numbers: NDArray[np.int64], published: NDArray[np.bool_], ordered: NDArray[np.bool_]) -> Int32s:
    """Return the mark of each delivery."""
    marks = np.where(ordered, numbers, -2 - numbers)
    return np.where(published, marks, UNPUBLISHED).astype(np.int32)


def numbers_of(marks: Int32s) -> Int32s:
    """The publications' numbers of marks, none of them unpublished."""
    return np.where(marks >= 0, marks, -2 - marks).astype(np.int32)


def assemble(marks: Int32s, positions: Int64s, delivered_ns: Int64s) -> DeliveryStream:
    """Put one subscription's deliveries into the order of their positions."""
    steps = np.diff(positions)
    if (steps <= 0).any():
        order = np.argsort(positions, kind="stable")
        marks, delivered_ns = marks[order], delivered_ns[order]
        steps = np.diff(positions[order])
    known = marks != UNPUBLISHED
    published = marks[known]
    numbers = numbers_of(published)
    first = first_times(numbers)
    return DeliveryStream(
        deliveries=len(marks),
        duplicates=len(numbers) - int(first.sum()),
        unpublished=len(marks) - len(numbers),
        repeated_positions=int((steps == 0).sum()),
        firsts=numbers[first],
        ordered=published[first & (published >= 0)],
        delivered_ns=delivered_ns,
    )


def first_times(numbers: Int32s) -> NDArray[np.bool_]:
    """Return which elements occur for the first time."""
    if len(numbers) == 0:
        return np.zeros(0, np.bool_)
    places = np.arange(len(numbers))
    first = np.zeros(int(numbers.max()) + 1, np.int64)
    # Of several that are written to one place the last one stays: written backwards, that is the first.
    first[numbers[::-1]] = places[::-1]
    is_first: NDArray[np.bool_] = first[numbers] == places
    return is_first


def overtaken(numbers: Int32s, bases: Int64s) -> tuple[int, int, int]:
    """Return how many come after a later one of their publisher, and the nearest such two.

    A publisher's numbers rise with its sequence numbers and start at its base, so by publisher and place the
    highest number so far never comes from another publisher.
    """
    publishers = np.searchsorted(bases, numbers, side="right")
    by_publisher = numbers[np.argsort(publishers, kind="stable")]
    highest = np.maximum.accumulate(by_publisher)
    late = np.flatnonzero(by_publisher < highest)
    if len(late) == 0:
        return 0, -1, -1
    nearest = late[np.argmin(highest[late] - by_publisher[late])]
    return len(late), int(by_publisher[nearest]), int(highest[nearest])


def longest_pauses(delivered_ns: Int64s, windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest pause that reaches into each window, and when it began; (0, 0) for none."""
    if len(delivered_ns) < 2:  # noqa: PLR2004 - a pause has two ends
        return [(0, 0)] * len(windows)
    pauses = np.diff(delivered_ns)
    found = []
    for start, end in windows:
        low, high = np.searchsorted(delivered_ns[1:], start), np.searchsorted(delivered_ns[:-1], end)
        if low >= high:
            found.append((0, 0))
        else:
            longest = low + int(np.argmax(pauses[low:high]))
            found.append((int(pauses[longest]), int(delivered_ns[longest])))
    return found
