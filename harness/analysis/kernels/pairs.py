"""Compares every stream of one block with every stream of another.

One stream's places are spread over all publications' numbers once; looking up whole runs of other streams in
them gives the places of what both have in common. If those rise, the two agree, and that is the end of it: a
few operations an element. Inversions are counted only where they fall.

Law: what is returned for parts of one pair adds up to what is returned for the pair.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from harness.analysis.kernels.permutations import (
    Int32s,
    Int64s,
    displacements,
    inversions,
    inversions_ending_in,
    ranks_of,
    sums,
)

RUN_ELEMENTS: Final = 1 << 17
"""Other streams are looked up together up to this many elements: their temporaries stay in the second
cache."""

PAIR_LEAST: Final = 2
"""Two subscribers can disagree if they have two publications in common."""


@attrs.frozen(eq=False)
class Block:
    """Streams and the subscriptions' codes. `bounds` as in this package's docstring."""

    codes: Int32s
    values: Int32s
    bounds: Int64s

    @staticmethod
    def of(codes: Sequence[int], streams: Sequence[Int32s]) -> "Block":
        """Put streams side by side."""
        bounds = np.zeros(len(streams) + 1, np.int64)
        np.cumsum([len(each) for each in streams], out=bounds[1:])
        values = np.concatenate(streams) if streams else np.zeros(0, np.int32)
        return Block(np.array(codes, np.int32), values, bounds)

    def stream(self, index: int) -> Int32s:
        """One of them."""
        return self.values[self.bounds[index] : self.bounds[index + 1]]


@attrs.frozen(eq=False)
class Compared:
    """One stream against several: one element per other stream that has two publications or more in common.

    `displaced` is the sum of the distances between the places of the common publications, `furthest` the
    longest of them; `histogram` has at index D how many are displaced by D. The clash is the nearest two
    publications that are inverted, in the first stream's places: `early` is delivered before
    `late` there and after it at the other; `span` is their distance, 0 if nothing is inverted.
    """

    code: int
    others: Int32s
    common: Int64s
    inversions: Int64s
    displaced: Int64s
    furthest: Int64s
    histogram: Int64s
    span: int
    early: int
    late: int
    against: int


def compare_blocks(one: Block, other: Block | None, publications: int) -> Iterator[Compared]:
    """Compare each with each; a block with itself if there is no other."""
    places = np.full(publications, -1, np.int32)
    against = other or one
    for index, code in enumerate(one.codes):
        stream = one.stream(index)
        places[stream] = np.arange(len(stream), dtype=np.int32)
        first = index + 1 if other is None else 0
        for start, end in _runs(against.bounds, first):
            yield _compare(int(code), stream, places, against, start, end)
        places[stream] = -1


def compare_part(one: Int32s, other: Int32s, codes: tuple[int, int], part: int, parts: int) -> Compared:
    """Compare two long streams as far as one of several parts of what they have in common goes."""
    places = np.full(int(max(one.max(), other.max())) + 1, -1, np.int32)
    places[one] = np.arange(len(one), dtype=np.int32)
    common = places[other]
    common = common[common >= 0]
    ranks = ranks_of(common.astype(np.int64), np.array([0, len(common)]))
    start, end = len(common) * part // parts, len(common) * (part + 1) // parts
    moved = displacements(ranks)[start:end]
    # The fall across a part's border belongs to the part it leads into.
    seen = common[max(start - 1, 0) : end]
    span, early, late, _ = _nearest(seen, np.diff(seen, prepend=seen[:1]) < 0)
    return Compared(
        code=codes[0],
        others=np.array([codes[1]], np.int32),
        common=np.array([end - start]),
        inversions=np.array([inversions_ending_in(ranks, start, end)]),
        displaced=np.array([moved.sum(dtype=np.int64)]),
        furthest=np.array([moved.max(initial=0)], np.int64),
        histogram=np.bincount(moved, minlength=1).astype(np.int64) * (len(common) >= PAIR_LEAST),
        span=span,
        early=int(one[early]) if span else -1,
        late=int(one[late]) if span else -1,
        against=codes[1] if span else -1,
    )


def _runs(bounds: Int64s, first: int) -> Iterator[tuple[int, int]]:
    """Streams to be looked up together, from one index to before another."""
    last = len(bounds) - 1
    while first < last:
        end = int(np.searchsorted(bounds, bounds[first] + RUN_ELEMENTS, side="right")) - 1
        end = min(max(end, first + 1), last)
        yield first, end
        first = end


def _compare(  # noqa: PLR0913, PLR0917 - one stream, spread out, against some of a block
    code: int, stream: Int32s, places: Int32s, against: Block, start: int, end: int
) -> Compared:
    found = places[against.values[against.bounds[start] : against.bounds[end]]]
    bounds = against.bounds[start : end + 1] - against.bounds[start]
    if (found < 0).any():
        is_common = found >= 0
        kept = np.zeros(len(found) + 1, np.int64)
        np.cumsum(is_common, out=kept[1:])
        found, bounds = found[is_common], kept[bounds]
    common = np.diff(bounds)
    counted = common >= PAIR_LEAST
    falls = np.zeros(len(found), np.bool_)
    np.less(found[1:], found[:-1], out=falls[1:])
    falls[bounds[:-1][common > 0]] = False
    disagreeing = sums(falls, bounds) > 0
    histogram = np.array([common[counted & ~disagreeing].sum()], np.int64)
    inverted, displaced, furthest = (np.zeros(end - start, np.int64) for _ in range(3))
    span, early, late, other = 0, 0, 0, 0
    if disagreeing.any():
        within = np.repeat(disagreeing, common)
        found = found[within]
        bounds = np.concatenate(([0], np.cumsum(common[disagreeing])))
        ranks = ranks_of(found.astype(np.int64), bounds)
        moved = displacements(ranks)
        inverted[disagreeing] = inversions(ranks, bounds)
        displaced[disagreeing] = sums(moved, bounds)
        furthest[disagreeing] = np.maximum.reduceat(moved, bounds[:-1])
        counts = np.bincount(moved).astype(np.int64)
        counts[0] += histogram[0]
        histogram = counts
        span, early, late, place = _nearest(found, falls[within])
        other = int(np.flatnonzero(disagreeing)[np.searchsorted(bounds, place, side="right") - 1])
    return Compared(
        code=code,
        others=against.codes[start:end][counted],
        common=common[counted],
        inversions=inverted[counted],
        displaced=displaced[counted],
        furthest=furthest[counted],
        histogram=histogram,
        span=span,
        early=int(stream[early]) if span else -1,
        late=int(stream[late]) if span else -1,
        against=int(against.codes[start + other]) if span else -1,
    )


def _nearest(places: Int32s, falls: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Of two that follow each other and fall, those least apart: span, both places, and where they stand."""
    late = np.flatnonzero(falls)
    if len(late) == 0:
        return 0, 0, 0, 0
    spans = places[late - 1] - places[late]
    nearest = int(np.argmin(spans))
    where = int(late[nearest])
    return int(spans[nearest]), int(places[where]), int(places[where - 1]), where
