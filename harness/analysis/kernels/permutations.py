"""How far a permutation is from sorted: inversions, counted in n log n, and the knots they lie in.

`ranks` is a permutation of 0, 1, ..., n - 1, made of several ones side by side (`bounds`): no element of one
has a rank among those of another. Everything is counted for all of them at once.

A *knot* is a shortest stretch that holds exactly the ranks of its own places. Two elements of different knots
are in order, so only knots of two and more are looked at: in streams that nearly agree that is nearly
nothing. Where inverted elements are near each other, all that are k apart are compared, for every k;
elsewhere it is counted as a merge sort would, level by level, only from the top: of those that agree in all
higher bits of their rank, a one before a zero is an inversion.
"""

from itertools import pairwise
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
_Values = TypeVar("_Values", Int32s, Int64s)

REACHES: Final = (0, 8, 32, 512)
"""Knots are counted together that reach up to about as far: comparing elements k apart takes 0.3 ns an
element and k. Where elements further apart than the last are inverted, going by bits is faster: 15 ns an
element and bit."""


def ranks_of(places: Int64s, bounds: Int64s) -> Int32s:
    """The ranks of distinct places, stream by stream, as one permutation."""
    streams = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    span = int(places.max(initial=0)) + 1
    keys = places + streams * span
    size = span * (len(bounds) - 1)
    if size <= 8 * len(places):
        # Dense enough to mark what is there and count the marks: faster than sorting.
        marks = np.zeros(size, np.int8)
        marks[keys] = 1
        counted: Int32s = np.cumsum(marks, dtype=np.int32)
        dense: Int32s = counted[keys] - np.int32(1)
        return dense
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), np.int32)
    ranks[order] = np.arange(len(keys), dtype=np.int32)
    return ranks


def displacements(ranks: Int32s) -> Int32s:
    """Return how far each element is from its place."""
    moved: Int32s = np.abs(ranks - np.arange(len(ranks), dtype=np.int32))
    return moved


def sums(values: NDArray[np.integer | np.bool_], bounds: Int64s) -> Int64s:
    """The sum of each stream's values; streams may be empty."""
    total = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=total[1:])
    return total[bounds[1:]] - total[bounds[:-1]]


def inversions(ranks: Int32s, bounds: Int64s) -> Int64s:
    """Return the number of pairs in the wrong order, for each of the permutations side by side."""
    counts = np.zeros(len(bounds) - 1, np.int64)
    if len(ranks) == 0:
        return counts
    starts, sizes = _knots(ranks)
    reach = _reach(ranks, starts, sizes)
    for least, most in pairwise(REACHES):
        chosen = (reach > least) & (reach <= most)
        if chosen.any():
            some_ranks, some_bounds = _only(chosen, ranks, starts, sizes, bounds)
            counts += _count_near(some_ranks, sizes[chosen], int(reach[chosen].max()), some_bounds)
    chosen = reach > REACHES[-1]
    if chosen.any():
        some_ranks, some_bounds = _only(chosen, ranks, starts, sizes, bounds)
        counts += _count_far(some_ranks, sizes[chosen], some_bounds)
    return counts


def _only(
    chosen: NDArray[np.bool_], ranks: Int32s, starts: Int32s, sizes: Int64s, bounds: Int64s
) -> tuple[Int32s, Int64s]:
    """The chosen knots alone, with ranks from each knot's start, and the bounds of what is left."""
    within = np.repeat(chosen, sizes)
    kept = np.zeros(len(ranks) + 1, np.int64)
    np.cumsum(within, out=kept[1:])
    return ranks[within] - np.repeat(starts[chosen], sizes[chosen]), kept[bounds]


def _reach(ranks: Int32s, starts: Int32s, sizes: Int64s) -> Int64s:
    """Return how far apart two inverted elements of a knot can be at most; 0 in a knot of one.

    Of an inversion one element stands too early and one too late, each by as much as the furthest is from its
    place.
    """
    furthest = np.maximum.reduceat(displacements(ranks), starts).astype(np.int64)
    return np.maximum(np.minimum(sizes - 1, 2 * furthest - 1), 0)


def _knots(ranks: Int32s) -> tuple[Int32s, Int64s]:
    """Where each knot starts, and its size. It ends where nothing before has a rank beyond."""
    ends = np.flatnonzero(np.maximum.accumulate(ranks) == np.arange(len(ranks), dtype=np.int32))
    starts = np.zeros(len(ends), np.int32)
    starts[1:] = ends[:-1] + 1
    return starts, (ends - starts + 1).astype(np.int64)


def _count_near(ranks: Int32s, sizes: Int64s, reach: int, bounds: Int64s) -> Int64s:
    """Compare every two elements that are up to `reach` apart."""
    # Ranks count from each knot's start; made to rise from knot to knot, no two knots are inverted.
    rising = ranks + np.repeat(np.cumsum(sizes) - sizes, sizes).astype(np.int32)
    counts = np.zeros(len(ranks), np.int32)
    for apart in range(1, min(reach + 1, len(ranks))):
        counts[:-apart] += rising[:-apart] > rising[apart:]
    return sums(counts, bounds)


def _count_far(ranks: Int32s, sizes: Int64s, bounds: Int64s) -> Int64s:
    """Go by bits, from the highest bit of the ranks to the lowest.

    At each bit the elements stand in groups that agree in all higher bits, in their first order. Dividing
    every group by the bit, zeros first, makes the groups of the next.
    """
    counts = np.zeros(len(bounds) - 1, np.int64)
    group = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.arange(len(ranks))
    for bit in reversed(range(int(sizes.max() - 1).bit_length())):
        ones = ((ranks >> bit) & 1).astype(np.int64)
        before = np.cumsum(ones) - ones
        before -= before[group]
        counts += sums(np.where(ones == 0, before, 0), bounds)
        middle = group + _zeros(ones, group)
        target = np.where(ones == 0, places - before, middle + before)
        ranks = _moved(ranks, target)
        group = _moved(np.where(ones == 0, group, middle), target)
    return counts


def _zeros(ones: Int64s, group: Int64s) -> Int64s:
    """For each element, how many zeros its group has."""
    firsts = np.flatnonzero(np.diff(group, prepend=-1))
    return np.repeat(np.add.reduceat(1 - ones, firsts), np.diff(firsts, append=len(group)))


def _moved(values: _Values, target: Int64s) -> _Values:
    moved = np.empty_like(values)
    moved[target] = values
    return moved


def inversions_ending_in(ranks: Int32s, start: int, end: int) -> int:
    """Return how many inversions of one permutation have their later element in a range of places.

    So a long permutation is shared out: what lies in the ranges adds up to all. Those before the range are
    only marked, never sorted, so a part costs its own n log n and one pass over what comes before.
    """
    part = ranks[start:end]
    order = np.argsort(part, kind="stable")
    own = np.empty(len(part), np.int32)
    own[order] = np.arange(len(part), dtype=np.int32)
    marks = np.zeros(len(ranks), np.int8)
    marks[ranks[:start]] = 1
    lower = np.cumsum(marks, dtype=np.int64)[part]
    inside = inversions(own, np.array([0, len(part)]))
    return int(inside[0]) + start * len(part) - int(lower.sum())
