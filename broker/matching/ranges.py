"""Lookup of conjunctions that bound a number: grids of several widths, and sorted bounds.

Theory of operation: a range between two bounds, of width w, goes into the grid whose cells are the power of
two in (w/2, w], and there into the two or three cells it touches. A value lies in one cell of each grid in
use, so a lookup costs one hash per width class and finds the ranges that hold the value, and about as many
again that end nearby. Nothing needs balancing, so ranges come and go at the price of a few hash operations,
for any number of them.

A range that bounds a number on one side only is a ray. Bounds of rays are sorted and searched by halving;
everything on the near side of the value is found, so a lookup costs what it finds.

Laws:

* The cell of a value never decreases as the value grows; so a value between the bounds lies in a cell between
  theirs. (Dividing by a power of two is exact; turning a large whole number into a float keeps order.)
* The lookup in a grid is not exact: what it finds must still be tested. Where a range is all that is left to
  test, its bounds lie in the cell's strip and are tested at once.
* That of rays is exact. Their bounds are closed and exact (`NumberRange.closed`), and they have no holes.
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from math import frexp, inf, ldexp
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, NumberRange, Value
from broker.matching.bucket import Bucket, Buckets, Event, Filing, IndexEntry, Key, Payload

# Narrower ranges use the grid for this width: cells must have exact numbers where the bounds lie.
_NARROWEST_PART = 2.0**-52


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
        # A key may have several ranges here, so the payload alone does not identify one.
        index = self.payloads.index(payload)
        while self.lows[index] != low or self.highs[index] != high:
            index = self.payloads.index(payload, index + 1)
        del self.lows[index]
        del self.highs[index]
        del self.payloads[index]


@define(eq=False)
class Grids(Generic[Key]):
    """Strips and buckets by cell, for each cell width in use."""

    _filing: Filing[Key]
    _strips: dict[float, dict[float, _Strip[Key]]] = field(factory=dict)
    _grids: dict[float, Buckets[Key]] = field(factory=dict)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry into the cells its range touches."""
        assert isinstance(constraint, NumberRange)
        width, cells = _cells(constraint)
        if self._is_plain(entry, constraint):
            low, high = closed_bounds(constraint)
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

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry out of the cells its range touches."""
        assert isinstance(constraint, NumberRange)
        width, cells = _cells(constraint)
        if self._is_plain(entry, constraint):
            low, high = closed_bounds(constraint)
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

    def _is_plain(self, entry: IndexEntry[Key], constraint: NumberRange) -> bool:
        return entry.unproven_count(self._filing.path) == 1 and not constraint.excluded


def closed_bounds(constraint: Constraint) -> tuple[float, float]:
    """Return the bounds of a range that closes exactly."""
    assert isinstance(constraint, NumberRange)
    assert constraint.closed is not None
    return constraint.closed


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


@define(eq=False)
class _Side(Generic[Key]):
    """Lower bounds, sorted, and what lies at each: payloads that are certain there, or a bucket to look into.

    `certain` runs beside `certain_bounds`, so that all payloads up to a bound are one slice.
    """

    filing: Filing[Key]
    certain_bounds: list[float] = field(factory=list)
    certain: list[Payload[Key]] = field(factory=list)
    tested_bounds: list[float] = field(factory=list)
    tested: Buckets[Key] = field(factory=dict)

    def add(self, bound: float, entry: IndexEntry[Key]) -> None:
        if entry.unproven_count(self.filing.path) == 0:
            index = bisect_right(self.certain_bounds, bound)
            self.certain_bounds.insert(index, bound)
            self.certain.insert(index, entry.payload)
        else:
            if bound not in self.tested:
                insort(self.tested_bounds, bound)
            self.filing.insert(self.tested, bound, entry)

    def remove(self, bound: float, entry: IndexEntry[Key]) -> None:
        if entry.unproven_count(self.filing.path) == 0:
            index = self.certain.index(entry.payload, bisect_left(self.certain_bounds, bound))
            del self.certain_bounds[index]
            del self.certain[index]
        else:
            self.filing.discard(self.tested, bound, entry)
            if bound not in self.tested:
                del self.tested_bounds[bisect_left(self.tested_bounds, bound)]

    def __bool__(self) -> bool:
        return bool(self.certain or self.tested)


@define(eq=False)
class Rays(Generic[Key]):
    """Two sides: numbers from a bound upwards, and numbers from a bound downwards.

    An upper bound is kept as a lower bound of the negated value.
    """

    _filing: Filing[Key]
    _up: _Side[Key] = field()
    _down: _Side[Key] = field()

    @_up.default
    def _make_up(self) -> _Side[Key]:
        return _Side(self._filing)

    @_down.default
    def _make_down(self) -> _Side[Key]:
        return _Side(self._filing)

    def add(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Put the entry at its bound."""
        side, bound = self._place(constraint)
        side.add(bound, entry)

    def remove(self, entry: IndexEntry[Key], constraint: Constraint) -> None:
        """Take the entry away from its bound."""
        side, bound = self._place(constraint)
        side.remove(bound, entry)

    def probe(
        self, value: Value, _event: Event, pending: list[Bucket[Key]], found: list[Payload[Key]]
    ) -> None:
        """Append what lies at the bounds that the value reaches."""
        if value.__class__ is not float and value.__class__ is not int:
            return
        if value != value:  # noqa: PLR0124 - NaN
            return
        # Both sides are written out, because a call for each would double the cost of a small index.
        side = self._up
        if side.certain:
            found += side.certain[: bisect_right(side.certain_bounds, value)]
        if side.tested:
            reached = side.tested_bounds[: bisect_right(side.tested_bounds, value)]
            pending.extend(map(side.tested.__getitem__, reached))
        side = self._down
        if side.certain:
            found += side.certain[: bisect_right(side.certain_bounds, -value)]
        if side.tested:
            reached = side.tested_bounds[: bisect_right(side.tested_bounds, -value)]
            pending.extend(map(side.tested.__getitem__, reached))

    def __bool__(self) -> bool:
        return bool(self._up or self._down)

    def _place(self, constraint: Constraint) -> tuple[_Side[Key], float]:
        low, high = closed_bounds(constraint)
        return (self._up, low) if high == inf else (self._down, -high)
