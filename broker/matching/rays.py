"""Lookup of conjunctions that bound a number on one side only: sorted bounds, searched by halving.

Everything on the near side of the value is found, so a lookup costs what it finds. An upper bound is kept as
a lower bound of the negated value.

Laws:

* Bounds are closed and exact (see `closed_bounds`); other ranges do not belong here.
* The lookup is exact; ranges with exclusions do not belong here either.
"""

from bisect import bisect_left, bisect_right, insort
from math import inf
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, NumberRange, Value
from broker.matching.bucket import Bucket, Buckets, Event, Filing
from broker.matching.compile import closed_bounds
from broker.matching.entry import Entry, Key, Payload


def is_ray(constraint: NumberRange) -> bool:
    """Whether the range is bounded on exactly one side, by a number that closes exactly, without holes."""
    if constraint.excluded or closed_bounds(constraint) is None:
        return False
    return (constraint.low is None) != (constraint.high is None)


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

    def add(self, bound: float, entry: Entry[Key]) -> None:
        if entry.unproven_count(self.filing.path) == 0:
            place = bisect_right(self.certain_bounds, bound)
            self.certain_bounds.insert(place, bound)
            self.certain.insert(place, entry.payload)
        else:
            if bound not in self.tested:
                insort(self.tested_bounds, bound)
            self.filing.insert(self.tested, bound, entry)

    def remove(self, bound: float, entry: Entry[Key]) -> None:
        if entry.unproven_count(self.filing.path) == 0:
            place = self.certain.index(entry.payload, bisect_left(self.certain_bounds, bound))
            del self.certain_bounds[place]
            del self.certain[place]
        else:
            self.filing.discard(self.tested, bound, entry)
            if bound not in self.tested:
                del self.tested_bounds[bisect_left(self.tested_bounds, bound)]

    def __bool__(self) -> bool:
        return bool(self.certain or self.tested)


@define(eq=False)
class Rays(Generic[Key]):
    """Two sides: numbers from a bound upwards, and numbers from a bound downwards."""

    _filing: Filing[Key]
    _up: _Side[Key] = field()
    _down: _Side[Key] = field()

    @_up.default
    def _make_up(self) -> _Side[Key]:
        return _Side(self._filing)

    @_down.default
    def _make_down(self) -> _Side[Key]:
        return _Side(self._filing)

    def add(self, entry: Entry[Key], constraint: Constraint) -> None:
        """Put the entry at its bound."""
        side, bound = self._place(constraint)
        side.add(bound, entry)

    def remove(self, entry: Entry[Key], constraint: Constraint) -> None:
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
        assert isinstance(constraint, NumberRange)
        bounds = closed_bounds(constraint)
        assert bounds is not None
        low, high = bounds
        return (self._up, low) if high == inf else (self._down, -high)
