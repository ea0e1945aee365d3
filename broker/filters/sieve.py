"""Which conjunctions of many may cover or overlap another, found together instead of one by one.

Theory of operation: each conjunction is a bit. On every attribute, what a constraint accepts lies between a
start and an end; those of all conjunctions are sorted, and for each position in that order the bits up to it
are stored. So two searches and a few operations on bits find the conjunctions that reach around another
constraint, or touch it. Names are compared likewise, by their sets.

Law: no conjunction that covers or overlaps is left out; one that is found must still be looked at.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from math import inf
from operator import or_
from typing import Final, Generic, TypeVar

from attrs import Factory, define, frozen

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Containing,
    NotNull,
    Null,
    NumberRange,
    NumberSet,
    OwnPattern,
    TextPattern,
    TextSet,
)
from broker.filters.intervals import ZERO, Cut
from broker.filters.limits import Steps

Bits = int
TextPosition = tuple[bool, str]
Position = TypeVar("Position", float, TextPosition)
Extents = list[tuple[Position, Position, Bits]]
Named = Sequence[tuple[str, Constraint]]

PROBE_STEPS: Final = 8
"""Two searches in an order and what is done with the bits; sorting costs as much for each constraint."""


@frozen
class _Line(Generic[Position]):
    """The extents of one type on one attribute, in order of their starts and of their ends."""

    starts: list[Position]
    started: list[Bits]
    ends: list[Position]
    unended: list[Bits]

    def around(self, start: Position, end: Position) -> Bits:
        """Return the extents that contain this one."""
        return self.started[bisect_right(self.starts, start)] & self.unended[bisect_left(self.ends, end)]

    def touching(self, start: Position, end: Position) -> Bits:
        """Return the extents that share something with this one."""
        return self.started[bisect_right(self.starts, end)] & self.unended[bisect_left(self.ends, start)]


def _line(extents: Extents[Position]) -> _Line[Position]:
    by_start = sorted([(start, bit) for start, _, bit in extents])
    by_end = sorted([(end, bit) for _, end, bit in extents], reverse=True)
    unended = list(accumulate((bit for _, bit in by_end), or_, initial=0))
    return _Line(
        [start for start, _ in by_start],
        list(accumulate((bit for _, bit in by_start), or_, initial=0)),
        [end for end, _ in reversed(by_end)],
        unended[::-1],
    )


Kinds = dict[type[Constraint], Bits]


@define
class _Gathered:
    """What conjunctions demand of one attribute, as it is gathered."""

    kinds: Kinds = Factory(dict)
    numbers: Extents[float] = Factory(list)
    texts: Extents[TextPosition] = Factory(list)

    def add(self, constraint: Constraint, bit: Bits) -> None:
        kind = type(constraint)
        self.kinds[kind] = self.kinds.get(kind, 0) | bit
        if isinstance(constraint, NumberSet | NumberRange):
            self.numbers.append((*_number_extent(constraint), bit))
        elif isinstance(constraint, TextSet | TextPattern):
            self.texts.append((*_text_extent(constraint), bit))


@frozen
class _SieveSide:
    """What conjunctions demand of one attribute."""

    named: Bits
    kinds: Kinds
    wide: Bits
    numbers: _Line[float]
    texts: _Line[TextPosition]

    def covering(self, constraint: Constraint) -> Bits:
        """Return which may cover it."""
        match constraint:
            case NumberSet() | NumberRange():
                return self.wide | self.numbers.around(*_number_extent(constraint))
            case TextSet() | TextPattern():
                return self.wide | self.texts.around(*_text_extent(constraint))
            case OwnPattern():
                return self.named
            case _:
                return self.wide | self.kinds.get(type(constraint), 0)

    def touching(self, constraint: Constraint) -> Bits:
        """Return which may overlap it."""
        match constraint:
            case NumberSet() | NumberRange():
                return self.wide | self.numbers.touching(*_number_extent(constraint))
            case TextSet() | TextPattern():
                return self.wide | self.texts.touching(*_text_extent(constraint))
            case Null():
                return self.kinds.get(Null, 0) | self.kinds.get(AnyValue, 0)
            case AnyValue() | NotNull() | Containing() | OwnPattern():
                return self.named
            case _:
                return self.wide | self.kinds.get(type(constraint), 0)


def _number_extent(constraint: NumberSet | NumberRange) -> tuple[float, float]:
    if isinstance(constraint, NumberSet):
        return min(constraint.values), max(constraint.values)
    low, high = constraint.low, constraint.high
    return -inf if low is None else low, inf if high is None else high


def _text_extent(constraint: TextSet | TextPattern) -> tuple[TextPosition, TextPosition]:
    start: str
    end: Cut
    if isinstance(constraint, TextSet):
        start, end = min(constraint.values), max(constraint.values) + ZERO
    else:
        start, end = constraint.interval
    return (False, start), (True, "") if end is None else (False, end)


@frozen
class Sieve:
    """The conjunctions of a list, by their positions."""

    every: Bits
    signatures: list[tuple[frozenset[str], Bits]]
    sides: dict[str, _SieveSide]

    def covering(self, box: Mapping[str, Constraint], steps: Steps) -> Bits:
        """Return which may cover the box."""
        bits = self._within(box, steps)
        for name, constraint in box.items():
            side = self.sides.get(name)
            if side is not None and bits & side.named:
                steps.take(PROBE_STEPS + constraint.weight)
                bits &= ~side.named | side.covering(constraint)
        return bits

    def helping(self, box: Mapping[str, Constraint], steps: Steps) -> Bits:
        """Return which may overlap the box and name nothing that it does not."""
        return self._within(box, steps) & self.touching(box, steps)

    def touching(self, box: Mapping[str, Constraint], steps: Steps) -> Bits:
        """Return which may overlap the box."""
        bits = self.every
        steps.take(len(box))
        for name, constraint in box.items():
            side = self.sides.get(name)
            if side is not None and bits & side.named:
                steps.take(PROBE_STEPS + constraint.weight)
                bits &= ~side.named | side.touching(constraint)
        return bits

    def _within(self, box: Mapping[str, Constraint], steps: Steps) -> Bits:
        """Return which name nothing that the box does not."""
        steps.take(PROBE_STEPS + len(self.signatures) + len(box))
        names = box.keys()
        return reduce(or_, [bits for signature, bits in self.signatures if signature <= names], 0)


def sieve(conjunctions: Sequence[Named], steps: Steps) -> Sieve:
    """Make a sieve of these conjunctions."""
    signatures: dict[frozenset[str], Bits] = {}
    gathered: dict[str, _Gathered] = {}
    for position, one in enumerate(conjunctions):
        bit = 1 << position
        steps.take(PROBE_STEPS * (1 + 2 * len(one)))
        names = frozenset([name for name, _ in one])
        signatures[names] = signatures.get(names, 0) | bit
        for name, constraint in one:
            steps.take(constraint.weight)
            gathered.setdefault(name, _Gathered()).add(constraint, bit)
    sides = {name: _side(each) for name, each in gathered.items()}
    return Sieve((1 << len(conjunctions)) - 1, list(signatures.items()), sides)


def _side(gathered: _Gathered) -> _SieveSide:
    kinds = gathered.kinds
    wide = reduce(or_, [bits for kind, bits in kinds.items() if kind.width], 0)
    return _SieveSide(
        reduce(or_, kinds.values()), kinds, wide, _line(gathered.numbers), _line(gathered.texts)
    )


def bit_positions(bits: Bits) -> Iterator[int]:
    """Return the positions of the bits, the first one first."""
    while bits:
        bit = bits & -bits
        yield bit.bit_length() - 1
        bits ^= bit
