"""Lookup of conjunctions that demand a number between two bounds: grids of several widths.

Theory of operation: a range of width w goes into the grid whose cells are the power of two in (w/2, w], and
there into the two or three cells it touches. A value lies in one cell of each grid in use, so a lookup costs
one hash per width class and finds the ranges that hold the value, and about as many again that end nearby.
Nothing needs balancing, so ranges come and go at the price of a few hash operations, whatever their number.

Laws:

* The cell of a value never decreases as the value grows; so a value between the bounds lies in a cell between
  theirs. (Dividing by a power of two is exact; turning a large whole number into a float keeps order.)
* The lookup is not exact: what it finds must still be tested.
"""

from collections.abc import Hashable
from math import frexp, ldexp
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, NumberRange, Value
from broker.matching.bucket import Bucket, Buckets, Filing
from broker.matching.compile import EXACT_LIMIT
from broker.matching.entry import Entry, Key

# Narrower ranges use the grid for this width: cells must have exact numbers where the bounds lie.
_NARROWEST_PART = 2.0**-52


def fits_grid(constraint: NumberRange) -> bool:
    """Whether the range is bounded on both sides and not by numbers too large for exact cells."""
    low, high = constraint.low, constraint.high
    return low is not None and high is not None and -EXACT_LIMIT <= low <= high <= EXACT_LIMIT


@define(eq=False)
class Grids(Generic[Key]):
    """Buckets by cell, for each cell width in use."""

    _filing: Filing[Key]
    _grids: dict[float, Buckets[Key]] = field(factory=dict)

    def add(self, entry: Entry[Key], constraint: Constraint) -> None:
        """Put the entry into the cells its range touches."""
        width, cells = _cells(constraint)
        grid = self._grids.setdefault(width, {})
        for cell in cells:
            self._filing.insert(grid, cell, entry)

    def remove(self, entry: Entry[Key], constraint: Constraint) -> None:
        """Take the entry out of the cells its range touches."""
        width, cells = _cells(constraint)
        grid = self._grids[width]
        for cell in cells:
            self._filing.discard(grid, cell, entry)
        if not grid:
            del self._grids[width]

    def probe(self, value: Value, pending: list[Bucket[Key]], found: list[Key]) -> None:  # noqa: ARG002 - Structure
        """Append the bucket of the value's cell in each grid."""
        if value.__class__ is not float:
            if value.__class__ is not int:
                return
            value = _as_float(value)
        for width, grid in self._grids.items():
            bucket = grid.get(value // width)
            if bucket is not None:
                pending.append(bucket)

    def __bool__(self) -> bool:
        return bool(self._grids)


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("nan")  # It lies outside every range with a grid, and this lies in no cell.


def _cells(constraint: Constraint) -> tuple[float, list[Hashable]]:
    """The width of the cells for a range, and the cells it touches."""
    assert isinstance(constraint, NumberRange)
    assert constraint.low is not None
    assert constraint.high is not None
    low, high = float(constraint.low), float(constraint.high)
    narrowest = max(abs(low), abs(high)) * _NARROWEST_PART
    width = ldexp(1.0, frexp(max(high - low, narrowest))[1] - 1)
    first = low // width
    return width, [first + step for step in range(int(high // width - first) + 1)]
