"""Lookup of conjunctions that demand a number between two bounds: grids of several widths.

Theory of operation: a range of width w goes into the grid whose cells are the power of two in (w/2, w], and
there into the two or three cells it touches. A value lies in one cell of each grid in use, so a lookup costs
one hash per width class and finds the ranges that hold the value, and about as many again that end nearby.
Nothing needs balancing, so ranges come and go at the price of a few hash operations, whatever their number.

Laws:

* The cell of a value never decreases as the value grows; so a value between the bounds lies in a cell between
  theirs. (Dividing by a power of two is exact; turning a large whole number into a float keeps order.)
* The lookup is not exact: what it finds must still be tested. Where a range is all that is left to test, its
  bounds lie in the cell's strip and are tested at once.
"""

from array import array
from math import frexp, ldexp
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, NumberRange, Value
from broker.matching.bucket import Bucket, Buckets, Event, Filing
from broker.matching.compile import EXACT_LIMIT, closed_bounds
from broker.matching.entry import Entry, Key, Payload

# Narrower ranges use the grid for this width: cells must have exact numbers where the bounds lie.
_NARROWEST_PART = 2.0**-52


def fits_grid(constraint: NumberRange) -> bool:
    """Whether the range is bounded on both sides and not by numbers too large for exact cells."""
    low, high = constraint.low, constraint.high
    return low is not None and high is not None and -EXACT_LIMIT <= low <= high <= EXACT_LIMIT


@define(eq=False)
class _Strip(Generic[Key]):
    """The ranges that touch one cell and are all that is left to test: three columns.

    Bounds lie beside each other in memory, so trying them is quick even when nothing is in a cache.
    """

    lows: "array[float]" = field(factory=lambda: array("d"))
    highs: "array[float]" = field(factory=lambda: array("d"))
    payloads: list[Payload[Key]] = field(factory=list)

    def add(self, low: float, high: float, payload: Payload[Key]) -> None:
        self.lows.append(low)
        self.highs.append(high)
        self.payloads.append(payload)

    def remove(self, low: float, high: float, payload: Payload[Key]) -> None:
        # A key may have several ranges here, so the payload alone does not say which one.
        place = self.payloads.index(payload)
        while self.lows[place] != low or self.highs[place] != high:
            place = self.payloads.index(payload, place + 1)
        del self.lows[place]
        del self.highs[place]
        del self.payloads[place]


@define(eq=False)
class Grids(Generic[Key]):
    """Strips and buckets by cell, for each cell width in use."""

    _filing: Filing[Key]
    _strips: dict[float, dict[float, _Strip[Key]]] = field(factory=dict)
    _grids: dict[float, Buckets[Key]] = field(factory=dict)

    def add(self, entry: Entry[Key], constraint: Constraint) -> None:
        """Put the entry into the cells its range touches."""
        assert isinstance(constraint, NumberRange)
        width, cells = _cells(constraint)
        if self._is_plain(entry, constraint):
            low, high = _bounds(constraint)
            strips = self._strips.setdefault(width, {})
            for cell in cells:
                strip = strips.get(cell)
                if strip is None:
                    strip = strips[cell] = _Strip()
                strip.add(low, high, entry.payload)
        else:
            grid = self._grids.setdefault(width, {})
            for cell in cells:
                self._filing.insert(grid, cell, entry)

    def remove(self, entry: Entry[Key], constraint: Constraint) -> None:
        """Take the entry out of the cells its range touches."""
        assert isinstance(constraint, NumberRange)
        width, cells = _cells(constraint)
        if self._is_plain(entry, constraint):
            low, high = _bounds(constraint)
            strips = self._strips[width]
            for cell in cells:
                strips[cell].remove(low, high, entry.payload)
                if not strips[cell].payloads:
                    del strips[cell]
            if not strips:
                del self._strips[width]
        else:
            grid = self._grids[width]
            for cell in cells:
                self._filing.discard(grid, cell, entry)
            if not grid:
                del self._grids[width]

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], found: list[Payload[Key]]
    ) -> None:
        """Append what the value's cell in each grid holds."""
        if value.__class__ is not float:
            if value.__class__ is not int:
                return
            value = _as_float(value)
        for width, strips in self._strips.items():
            strip = strips.get(value // width)
            if strip is not None:
                for low, high, payload in zip(strip.lows, strip.highs, strip.payloads, strict=True):
                    if low <= value <= high:
                        found.append(payload)
        for width, grid in self._grids.items():
            bucket = grid.get(value // width)
            if bucket is not None:
                pending.append(bucket)

    def __bool__(self) -> bool:
        return bool(self._strips or self._grids)

    def _is_plain(self, entry: Entry[Key], constraint: NumberRange) -> bool:
        return entry.unproven_count(self._filing.path) == 1 and not constraint.excluded


def _bounds(constraint: NumberRange) -> tuple[float, float]:
    bounds = closed_bounds(constraint)
    assert bounds is not None
    return bounds


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("nan")  # It lies outside every range with a grid, and this lies in no cell.


def _cells(constraint: NumberRange) -> tuple[float, list[float]]:
    """The width of the cells for a range, and the cells it touches."""
    assert constraint.low is not None
    assert constraint.high is not None
    low, high = float(constraint.low), float(constraint.high)
    narrowest = max(abs(low), abs(high)) * _NARROWEST_PART
    width = ldexp(1.0, frexp(max(high - low, narrowest))[1] - 1)
    first = low // width
    return width, [first + step for step in range(int(high // width - first) + 1)]
