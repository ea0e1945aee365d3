"""Counts inversions, in n log n: the pairs of a sequence that are in the wrong order."""

from bisect import bisect_left, bisect_right

RUN_MAX = 1024
"""Runs this short are sorted by insertion: a move is 8 KiB at most, and most elements are in order."""


def inversions(ranks: list[int]) -> int:
    """Return how many pairs have the greater number first; numbers must be distinct."""
    return _sort(ranks)[1]


def _sort(ranks: list[int]) -> tuple[list[int], int]:
    if len(ranks) <= RUN_MAX:
        return _insert(ranks)
    middle = len(ranks) // 2
    left, left_count = _sort(ranks[:middle])
    right, right_count = _sort(ranks[middle:])
    merged, count = _merge(left, right)
    return merged, left_count + right_count + count


def _insert(ranks: list[int]) -> tuple[list[int], int]:
    """Sort a short list and count the pairs that change places."""
    ordered: list[int] = []
    count = 0
    for number in ranks:
        if not ordered or number > ordered[-1]:
            ordered.append(number)
        else:
            place = bisect_left(ordered, number)
            count += len(ordered) - place
            ordered.insert(place, number)
    return ordered, count


def _merge(left: list[int], right: list[int]) -> tuple[list[int], int]:
    """Merge two sorted lists and count the pairs that change places.

    Only the part where the two overlap is compared: streams that nearly agree have a small overlap.
    """
    start, end = bisect_right(left, right[0]), bisect_left(right, left[-1])
    count, waiting = 0, start
    for number in right[:end]:
        while waiting < len(left) and left[waiting] < number:
            waiting += 1
        count += len(left) - waiting
    # Sorting two sorted runs is one merge for the library's sort, at its speed.
    return left[:start] + sorted(left[start:] + right[:end]) + right[end:], count
