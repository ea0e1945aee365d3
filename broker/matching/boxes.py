"""Lookup of conjunctions that bound numbers on two or more attributes, each too wide to single them out.

Theory of operation: a slab holds up to `SLAB` boxes (one range per attribute) and cuts each attribute at
bounds drawn from its boxes. For every slice there is a row of bits: which boxes touch the slice. An event
picks one row per attribute; the conjunction of the rows leaves the boxes that hold the event and a few that
end nearby, which are distinguished by their bounds. So the cost of a lookup grows by a machine word for 30
boxes, and the boxes that one attribute alone would let through cost nothing each.

Laws:

* The slice of a value never decreases as the value grows, so a box that holds the event has its bit set in
  every row picked.
* A slab's cuts are drawn anew when it has grown fourfold, up to `LAST_CUT` boxes, never later: what a single
  addition can cost is bounded, and a workload that drifts away fills other slabs with cuts of their own.
* An entry keeps its slot in the slab until it is removed; a free slot has no bits set.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import reduce
from math import inf
from operator import and_
from typing import Generic

from attrs import define, field

from broker.filters.constraints import Constraint, Value
from broker.filters.values import Matcher
from broker.matching.bucket import Bucket, Event, IndexEntry, Key, Payload
from broker.matching.ranges import closed_bounds

# Bits of one row that Python handles as one number: longer numbers make single changes dearer, shorter ones
# make lookups dearer.
CHUNK = 4096

# Boxes that share their cuts. More spare the search for the slice, fewer adapt sooner to a drifting workload.
SLAB = 16 * CHUNK

# Slices per attribute. More slices separate boxes better, and make changes and memory dearer.
SLICES = 256

# A range so many times narrower than its slice is better looked up in a grid.
NARROW = 4

# Cuts are drawn when there are so many boxes, and again at four times as many, for the last time here.
FIRST_CUT = 16
LAST_CUT = 1024

Box = tuple[tuple[float, float], ...]


@define(eq=False)
class Slab(Generic[Key]):
    """Boxes on the same attributes."""

    names: tuple[str, ...]
    _cuts: list[list[float]] = field(init=False)
    _rows: list[list[list[int]]] = field(init=False)
    _bounds: "list[array[float]]" = field(init=False)
    _tests: list[tuple[Matcher, ...]] = field(factory=list, init=False)
    _payloads: list[Payload[Key] | None] = field(factory=list, init=False)
    _slots: dict[IndexEntry[Key], int] = field(factory=dict, init=False)
    _free: list[int] = field(factory=list, init=False)
    _next_cut: int = field(default=FIRST_CUT, init=False)

    def __attrs_post_init__(self) -> None:
        self._cuts = [[] for _ in self.names]
        self._rows = [[[]] for _ in self.names]
        self._bounds = [array("d") for _ in self.names]

    @property
    def count(self) -> int:
        """Return how many boxes it holds."""
        return len(self._slots)

    def __contains__(self, entry: IndexEntry[Key]) -> bool:
        return entry in self._slots

    def is_narrow(self, box: Box) -> bool:
        """Return whether a range of the box, bounded on both sides, is much narrower than its slice."""
        return any(
            len(cuts) > SLICES // 2 and low != -inf and high != inf and _is_narrow(low, high, cuts)
            for cuts, (low, high) in zip(self._cuts, box, strict=True)
        )

    def add(self, entry: IndexEntry[Key], box: Box, tests: tuple[Matcher, ...]) -> None:
        """Add the entry; the tests are for what the box does not decide."""
        slot = self._free_slot()
        self._slots[entry] = slot
        self._tests[slot] = tests
        self._payloads[slot] = entry.payload
        for bounds, (low, high) in zip(self._bounds, box, strict=True):
            bounds[2 * slot] = low
            bounds[2 * slot + 1] = high
        self._mark(slot)
        if len(self._slots) == self._next_cut:
            self._cut()

    def remove(self, entry: IndexEntry[Key]) -> None:
        """Take the entry out."""
        slot = self._slots.pop(entry)
        self._mark(slot)
        self._tests[slot] = ()
        self._payloads[slot] = None
        self._free.append(slot)

    def probe(self, values: Sequence[float], event: Event, found: list[Payload[Key]]) -> None:
        """Append the payloads of the boxes that hold the values and whose tests the event satisfies."""
        rows: list[Iterable[int]] = [
            slices[bisect_right(cuts, value)]
            for slices, cuts, value in zip(self._rows, self._cuts, values, strict=True)
        ]
        tests, payloads = self._tests, self._payloads
        (value, bounds), *others = zip(values, self._bounds, strict=True)
        start = 0
        for hits in reduce(_conjunction, rows):
            while hits:
                bit = hits.bit_length() - 1
                hits ^= 1 << bit  # noqa: PLW2901 - the bit is done
                slot = start + bit
                low = 2 * slot
                if bounds[low] <= value <= bounds[low + 1]:
                    for other, other_bounds in others:
                        if not other_bounds[low] <= other <= other_bounds[low + 1]:
                            break
                    else:
                        for test in tests[slot]:
                            if not test(event):
                                break
                        else:
                            found.append(payloads[slot])  # type: ignore[arg-type]  # marked
            start += CHUNK

    def _free_slot(self) -> int:
        """Return a free slot, with room in every column and every row."""
        if self._free:
            return self._free.pop()
        slot = len(self._payloads)
        self._payloads.append(None)
        self._tests.append(())
        for bounds in self._bounds:
            bounds.extend((0.0, 0.0))
        if slot % CHUNK == 0:
            for slices in self._rows:
                for row in slices:
                    row.append(0)
        return slot

    def _mark(self, slot: int) -> None:
        """Flip the bits of a box in the rows it touches: set them when it comes, clear them when it goes."""
        chunk, bit = slot // CHUNK, 1 << slot % CHUNK
        for slices, cuts, bounds in zip(self._rows, self._cuts, self._bounds, strict=True):
            first = bisect_right(cuts, bounds[2 * slot])
            last = bisect_right(cuts, bounds[2 * slot + 1])
            for row in slices[first : last + 1]:
                row[chunk] ^= bit

    def _cut(self) -> None:
        """Draw the cuts from the bounds of the boxes, evenly by their number, and mark every box anew."""
        self._next_cut = 4 * self._next_cut if self._next_cut < LAST_CUT else 0
        chunks = len(range(0, len(self._payloads), CHUNK))
        for axis, bounds in enumerate(self._bounds):
            cuts = _quantiles(
                sorted({bounds[2 * slot + end] for slot in self._slots.values() for end in (0, 1)})
            )
            self._cuts[axis] = cuts
            self._rows[axis] = [[0] * chunks for _ in range(len(cuts) + 1)]
        for slot in self._slots.values():
            self._mark(slot)


def _conjunction(some: Iterable[int], more: Iterable[int]) -> Iterable[int]:
    return map(and_, some, more)


def _is_narrow(low: float, high: float, cuts: list[float]) -> bool:
    """Return whether a range is within one slice with two ends, and much narrower."""
    slot = bisect_right(cuts, low)
    if bisect_right(cuts, high) != slot:
        return False
    return not 0 < slot < len(cuts) or (high - low) * NARROW < cuts[slot] - cuts[slot - 1]


def _quantiles(bounds: list[float]) -> list[float]:
    """At most `SLICES` - 1 of the sorted bounds, evenly spread."""
    step = max(1.0, len(bounds) / SLICES)
    return [bounds[int(number * step)] for number in range(1, int(len(bounds) / step))]


@define(eq=False)
class Boxes(Generic[Key]):
    """Slabs for one set of attributes; `proven` are the attributes that need no test."""

    _names: tuple[str, ...]
    _proven: frozenset[str]
    _slabs: list[Slab[Key]] = field(factory=list, init=False)

    def __bool__(self) -> bool:
        return bool(self._slabs)

    def __contains__(self, entry: IndexEntry[Key]) -> bool:
        return any(entry in slab for slab in self._slabs)

    def suits(self, entry: IndexEntry[Key]) -> bool:
        """Return whether no bounded range of the entry is so narrow that a grid singles it out better."""
        return not self._slabs or not self._slabs[-1].is_narrow(_box(entry, self._names))

    def add(self, entry: IndexEntry[Key], _constraint: Constraint) -> None:
        """Put the entry into the first slab with room."""
        slab = next((slab for slab in self._slabs if slab.count < SLAB), None)
        if slab is None:
            slab = Slab(self._names)
            self._slabs.append(slab)
        slab.add(entry, _box(entry, self._names), entry.tests(self._proven))

    def remove(self, entry: IndexEntry[Key], _constraint: Constraint) -> None:
        """Take the entry out of its slab."""
        slab = next(slab for slab in self._slabs if entry in slab)
        slab.remove(entry)
        if not slab.count:
            self._slabs.remove(slab)

    def probe(
        self, _value: Value, event: Event, _pending: list[Bucket[Key]], found: list[Payload[Key]]
    ) -> None:
        """Append the payloads of the boxes that hold the event and whose other constraints it satisfies."""
        values: list[float] = []
        for name in self._names:
            value = event.get(name)
            if (value.__class__ is not float and value.__class__ is not int) or value != value:  # noqa: PLR0124 - NaN
                return
            values.append(value)
        for slab in self._slabs:
            slab.probe(values, event, found)


def _box(entry: IndexEntry[Key], names: tuple[str, ...]) -> Box:
    return tuple(closed_bounds(constraint) for name, constraint in entry.conjunction if name in names)
