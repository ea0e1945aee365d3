"""What an event must satisfy: constraints on one attribute each, and conjunctions of them.

Laws:

* A constraint belongs to one type of value (numbers, texts, truth values) or to all (`AnyValue`). A value
  of another type never satisfies it.
* A conjunction holds one constraint per attribute: several predicates on it are intersected into one.
* Every constraint is satisfiable and in canonical form; what cannot be satisfied never becomes one.

Every type has the operations `accepts`, `intersect`, `covers`, `overlaps`, `complement` (within the
type), `printed`, `rank`, and its costs (`weight`, `trying`, `shaping`); and each type of value has
one `unite`. Numbers and texts have files of their own. The functions here define what holds across types.

A conjunction is a box, with one side for each attribute it names: one box covers another iff each of its
sides covers the other's; two overlap iff all the sides they share do. What disjunctions of them cover, and
their canonical form, is in `disjunctions`.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import ClassVar

from attrs import frozen

from broker.filters import numbers, text_unions
from broker.filters.limits import (
    COMPARING_STEPS,
    CONSTRAINT_STEPS,
    PAIR_STEPS,
    OverBudgetError,
    Steps,
    covering_steps,
    shaping_steps,
)
from broker.filters.numbers import NumberRange, NumberSet
from broker.filters.texts import TextPattern, TextSet
from broker.filters.values import Number, Value, listed

__all__ = [
    "EVERYTHING",
    "AnyValue",
    "Box",
    "Conjunction",
    "Constraint",
    "Number",
    "NumberRange",
    "NumberSet",
    "TextPattern",
    "TextSet",
    "Truths",
    "Value",
    "conjunction",
    "conjunction_covers",
    "covers",
    "covers_within",
    "intersect",
    "intersection",
    "overlap",
    "overlap_within",
    "overlaps",
    "position",
    "positions",
    "unite",
]


@frozen
class AnyValue:
    """The attribute exists, with any value: `exists(x)`.

    It is the only one that reaches over all types of value, and that not-a-number satisfies.
    """

    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint; None is a missing attribute."""
        return value is not None

    def intersect(self, other: object) -> "AnyValue | None":
        """Return what satisfies both, or None: other types are narrower and answer for themselves."""
        return self if isinstance(other, AnyValue) else None

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this."""
        return other is not None

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both."""
        return other is not None

    def complement(self) -> tuple[()]:
        """Return the values of the same type that do not satisfy it: there are none."""
        return ()

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        return f"exists({name})"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (0, 0.0)


BOTH = frozenset((False, True))


@frozen
class Truths:
    """The attribute is one of these truth values, which are no numbers, although `True == 1` in Python."""

    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0

    values: frozenset[bool]

    def accepts(self, value: object) -> bool:
        """Return whether the value satisfies the constraint."""
        return isinstance(value, bool) and value in self.values

    def intersect(self, other: object) -> "Truths | None":
        """Return what satisfies both, or None."""
        return _truths(self.values & other.values) if isinstance(other, Truths) else None

    def covers(self, other: object) -> bool:
        """Return whether everything that satisfies the other satisfies this; exact."""
        return isinstance(other, Truths) and other.values <= self.values

    def overlaps(self, other: object) -> bool:
        """Return whether some value satisfies both; exact."""
        return isinstance(other, Truths) and not self.values.isdisjoint(other.values)

    def complement(self) -> tuple["Truths", ...]:
        """Return the truth values that do not satisfy it."""
        rest = _truths(BOTH - self.values)
        return () if rest is None else (rest,)

    def printed(self, name: str) -> str:
        """Write the constraint in the filter language."""
        if len(self.values) == 1:
            return f"{name} == {next(iter(self.values))!r}"
        return f"{name} in {listed([repr(truth) for truth in sorted(self.values)])}"

    def rank(self) -> tuple[int, float]:
        """Return where the constraint stands among those on the same attribute."""
        return (5, 0.0)


def _united_truths(constraints: Iterable[object]) -> list[Truths]:
    """Return the union of constraints on truth values."""
    united: frozenset[bool] = frozenset()
    for constraint in constraints:
        if isinstance(constraint, Truths):
            united |= constraint.values
    return [Truths(united)] if united else []


def _truths(values: frozenset[bool]) -> Truths | None:
    return Truths(values) if values else None


Constraint = AnyValue | NumberSet | NumberRange | TextSet | TextPattern | Truths
Conjunction = tuple[tuple[str, Constraint], ...]
Box = dict[str, Constraint]
Position = tuple[tuple[str, tuple[int, float], str], ...]
EVERYTHING: Conjunction = ()

COPIED_A_STEP = 4
"""Constraints copied from one box to another."""


def covers(one: Constraint, other: Constraint) -> bool:
    """Return whether everything that satisfies the other satisfies the first."""
    return one.covers(other)


def overlaps(one: Constraint, other: Constraint) -> bool:
    """Return whether some value satisfies both."""
    return isinstance(other, AnyValue) or one.overlaps(other)


def intersect(one: Constraint, other: Constraint) -> Constraint | None:
    """Return what satisfies both, or None."""
    if isinstance(one, AnyValue):
        return other
    return one if isinstance(other, AnyValue) else one.intersect(other)


def unite(constraints: list[Constraint], steps: Steps | None = None) -> list[Constraint]:
    """Return the union of constraints on one attribute, merged within each type.

    Raises:
        OverBudgetError: it takes more steps.
    """
    if any(isinstance(constraint, AnyValue) for constraint in constraints):
        return [AnyValue()]
    return [
        *numbers.unite(constraints),
        *text_unions.unite(constraints, steps),
        *_united_truths(constraints),
    ]


def conjunction(box: Mapping[str, Constraint]) -> Conjunction:
    """Return the constraints in the order of their attributes."""
    return tuple(sorted(box.items(), key=itemgetter(0)))


def intersection(one: Box, other: Box, steps: Steps) -> Box | None:
    """Return what satisfies both, or None if that is seen to be nothing."""
    steps.take(PAIR_STEPS + len(one) // COPIED_A_STEP + len(other))
    box = dict(one)
    for name, constraint in other.items():
        known = box.get(name)
        if known is None:
            box[name] = constraint
        else:
            steps.take(shaping_steps(known, constraint))
            both = intersect(known, constraint)
            if both is None:
                return None
            box[name] = both
    return box


def conjunction_covers(one: Conjunction, other: Mapping[str, Constraint]) -> bool:
    """Return whether every event that satisfies the other satisfies the first."""
    for name, constraint in one:
        narrower = other.get(name)
        if narrower is None or not constraint.covers(narrower):
            return False
    return True


def covers_within(one: Conjunction, other: Mapping[str, Constraint], steps: Steps) -> bool:
    """Return what `conjunction_covers` does; raise `OverBudgetError` if that takes more steps."""
    for name, constraint in one:
        narrower = other.get(name)
        if narrower is None:
            return False
        steps.take(covering_steps(constraint, narrower))
        if not constraint.covers(narrower):
            return False
    return True


def overlap_within(one: Mapping[str, Constraint], other: Conjunction, steps: Steps) -> bool:
    """Return whether some event satisfies both; raise `OverBudgetError` if that takes more steps."""
    for name, constraint in other:
        known = one.get(name)
        if known is not None:
            steps.take(shaping_steps(known, constraint))
            if not (isinstance(constraint, AnyValue) or known.overlaps(constraint)):
                return False
    return True


def overlap(one: Conjunction, other: Conjunction) -> bool:
    """Return whether some event satisfies both; true where that is too dear to see."""
    try:
        return overlap_within(dict(one), other, Steps(COMPARING_STEPS))
    except OverBudgetError:
        return True


def position(one: Conjunction) -> Position:
    """Return where a conjunction stands among others: by attribute, type, and how it is written."""
    return tuple([(name, constraint.rank(), constraint.printed(name)) for name, constraint in one])


def positions(steps: Steps) -> Callable[[Conjunction], Position]:
    """Make `position` for many conjunctions that share constraints, each of which is written once."""
    written: dict[tuple[str, int], tuple[tuple[str, tuple[int, float], str], Constraint]] = {}

    def side(item: tuple[str, Constraint]) -> tuple[str, tuple[int, float], str]:
        name, constraint = item
        known = written.get((name, id(constraint)))
        if known is None:
            steps.take(CONSTRAINT_STEPS + 2 * constraint.weight)
            # The constraint is kept, for only while it is there its identity is its own.
            known = (name, constraint.rank(), constraint.printed(name)), constraint
            written[name, id(constraint)] = known
        return known[0]

    def of(one: Conjunction) -> Position:
        steps.take(len(one))
        return tuple(map(side, one))

    return of
