"""What all streams together say of order: audiences that disagree, publications in no one sequence.

Both are of ordered streams, each without a repeat. An *audience* is the set of streams that have a
publication; it is in order if its members have their common publications in one order. The streams are
*acyclic* if some one sequence has every stream as a part of it.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from harness.analysis.kernels.permutations import Int32s, Int64s

EDGES_MAX: Final = 5_000_000
"""Different steps from one publication to the next that are followed: some seconds, and a gigabyte."""

_TOGETHER: Final = 1 << 22
"""Steps that are put together before those that occur twice are taken out."""

_SHIFT: Final = np.int64(32)
_SEED: Final = 7


@attrs.frozen
class WholeOrder:
    """The answers. `circling` counts publications on circles or between them; None if that was too much."""

    audiences: int
    audiences_out_of_order: int
    circling: int | None


def judge(streams: Sequence[Int32s], publications: int) -> WholeOrder:
    """Judge all streams together."""
    audiences, wrong = audiences_of(streams, publications)
    steps = _steps(streams)
    return WholeOrder(audiences, wrong, None if steps is None else _circling(steps, publications))


def audiences_of(streams: Sequence[Int32s], publications: int) -> tuple[int, int]:
    """Count the audiences of two members and two publications or more, and those whose members disagree."""
    groups, count = _groups(streams, publications)
    expected = np.full(publications, -1, np.int32)
    is_wrong = np.zeros(count, np.bool_)
    for stream in streams:
        of_groups = groups[stream]
        shared = of_groups >= 0
        members, numbers = of_groups[shared], stream[shared]
        order = np.argsort(members, kind="stable")
        places = np.empty(len(members), np.int32)
        firsts = np.searchsorted(members[order], members[order])
        places[order] = np.arange(len(members)) - firsts
        known = expected[numbers]
        is_wrong[members[(known >= 0) & (known != places)]] = True
        expected[numbers] = np.where(known < 0, places, known)
    return count, int(is_wrong.sum())


def _groups(streams: Sequence[Int32s], publications: int) -> tuple[Int64s, int]:
    """Number the audiences; a publication that shares its audience with no other, or has one reader, has -1.

    The sum of numbers drawn for the members identifies an audience: two of them have one sum with a chance of
    one in 10^19.
    """
    drawn = np.random.default_rng(_SEED).integers(0, 1 << 63, len(streams), np.uint64)
    sums, readers = np.zeros(publications, np.uint64), np.zeros(publications, np.int32)
    for stream, own in zip(streams, drawn, strict=True):
        sums[stream] += own
        readers[stream] += 1
    several = np.flatnonzero(readers > 1)
    _, found, counts = np.unique(sums[several], return_inverse=True, return_counts=True)
    is_shared = counts > 1
    groups = np.full(publications, -1, np.int64)
    groups[several] = np.where(is_shared, np.cumsum(is_shared) - 1, -1)[found]
    return groups, int(is_shared.sum())


def _steps(streams: Iterable[Int32s]) -> Int64s | None:
    """Return every different step from one publication to the next, sorted; None if there are too many."""
    found, parts, size = np.zeros(0, np.int64), [], 0
    for stream in streams:
        parts.append((stream[:-1].astype(np.int64) << _SHIFT) | stream[1:])
        size += len(parts[-1])
        if size >= _TOGETHER:
            found, parts, size = np.unique(np.concatenate([found, *parts])), [], 0
            if len(found) > EDGES_MAX:
                return None
    found = np.unique(np.concatenate([found, *parts]))
    return found if len(found) <= EDGES_MAX else None


def _circling(steps: Int64s, publications: int) -> int:
    """Take away what nothing is before, then what nothing is behind, and count what stays."""
    sources, targets = steps >> _SHIFT, steps & np.int64(0xFFFFFFFF)
    for _ in range(2):
        kept = _trimmed(sources, targets, publications)
        inside = kept[sources] & kept[targets]
        sources, targets = targets[inside], sources[inside]
    return len(np.unique(np.concatenate([sources, targets])))


def _trimmed(sources: Int64s, targets: Int64s, publications: int) -> NDArray[np.bool_]:
    """Return which publications stay when those that no step leads to are taken away, again and again."""
    order = np.argsort(sources, kind="stable")
    following = targets[order].tolist()
    starts = np.searchsorted(sources[order], np.arange(publications + 1)).tolist()
    before = np.bincount(targets, minlength=publications)
    ready = np.flatnonzero(before == 0).tolist()
    left = before.tolist()
    kept = np.ones(publications, np.bool_)
    ranges = list(pairwise(starts))
    while ready:
        number = ready.pop()
        kept[number] = False
        for place in range(*ranges[number]):
            target = following[place]
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    return kept
