"""Histograms of durations: fine enough for percentiles, small enough to be added up across workers.

A bin is as wide as its durations are long, to one part in 1,024: below 2,048 ns every nanosecond has its own,
and each doubling above has 1,024. So a percentile is right to 0.1 %, whatever its size.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]

_FINE_BITS: Final = 10
_FINE: Final = 1 << _FINE_BITS


def bins_of(durations_ns: Int64s) -> Int64s:
    """The bin of each duration; a negative one counts as none."""
    durations = np.maximum(durations_ns, 0)
    # The exponent of a float is the number's length in bits, exactly so below 2**53, which is 104 days.
    bits: Int64s = np.frexp(durations.astype(np.float64))[1].astype(np.int64)
    shifts: Int64s = np.maximum(bits - _FINE_BITS - 1, 0)
    bins: Int64s = shifts * _FINE + (durations >> shifts)
    return bins


def durations_of(bins: Int64s) -> Int64s:
    """The middle of each bin."""
    shifts: Int64s = np.maximum(bins // _FINE - 1, 0)
    low: Int64s = (bins - shifts * _FINE) << shifts
    middle: Int64s = low + (np.left_shift(1, shifts) >> 1)
    return middle


def counted(durations_ns: Int64s) -> tuple[Int64s, Int64s]:
    """The bins that hold anything, in order, and how many each holds."""
    bins, counts = np.unique(bins_of(durations_ns), return_counts=True)
    return bins, counts.astype(np.int64)


def merged(bins: Int64s, counts: Int64s) -> tuple[Int64s, Int64s]:
    """Add up the counts of bins that occur several times."""
    distinct, places = np.unique(bins, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, places, counts)
    return distinct, total


def quantiles(bins: Int64s, counts: Int64s, fractions: Sequence[float]) -> list[int]:
    """For each fraction, a duration that so much of all does not exceed."""
    reached = np.cumsum(counts)
    ranks = np.ceil(np.array(fractions) * reached[-1]).clip(min=1)
    return [int(each) for each in durations_of(bins[np.searchsorted(reached, ranks)])]
