"""What an event must satisfy: constraints on one attribute each.

Laws:

* A constraint belongs to one type of value (numbers, texts, truth values, lists, null), or to several. A
  value of another type never satisfies it.
* A conjunction holds one constraint per attribute: several predicates on it are intersected into one.
* Every constraint is in canonical form, and satisfiable as far as is seen; what is seen not to be never
  becomes one.

Every type has the operations `accepts`, `intersect`, `covers`, `overlaps`, `complement` (within the type),
`printed`, `rank`, its costs (`weight`, `trying`, `shaping`, `parts`), and its `width`: those that reach over
several types of value are wider, and know the narrower ones. Each type of value has one `unite`. Numbers,
texts, lists, what contains texts and what constraint types demand have files of their own. The functions here
define what holds across types.

A conjunction is a box, with one side for each attribute it names: see `conjunctions`.
"""

from collections.abc import Iterable
from typing import ClassVar

from attrs import frozen

from broker.filters import numbers, own, text_unions
from broker.filters.conjunctions import (
    EVERYTHING,
    conjunction,
    conjunction_covers,
    covers,
    covers_within,
    intersect,
    intersection,
    overlap,
    overlap_within,
    overlaps,
    position,
    positions,
)
from broker.filters.containing import Containing
from broker.filters.limits import Steps
from broker.filters.lists import ListPattern
from broker.filters.numbers import NumberRange, NumberSet
from broker.filters.own import OwnPattern
from broker.filters.presence import AnyValue, NotNull, Null
from broker.filters.texts import TextPattern, TextSet
from broker.filters.values import Number, Value, listed

__all__ = [
    "EVERYTHING",
    "AnyValue",
    "Box",
    "Conjunction",
    "Constraint",
    "Containing",
    "ListPattern",
    "NotNull",
    "Null",
    "Number",
    "NumberRange",
    "NumberSet",
    "OwnPattern",
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
    "unite_types",
]


BOTH = frozenset((False, True))


@frozen
class Truths:
    """The attribute is one of these truth values, which are no numbers, although `True == 1` in Python."""

    width: ClassVar[int] = 0
    weight: ClassVar[int] = 0
    trying: ClassVar[int] = 0
    shaping: ClassVar[int] = 0
    parts: ClassVar[int] = 0

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


Constraint = (
    AnyValue
    | NotNull
    | Null
    | NumberSet
    | NumberRange
    | TextSet
    | TextPattern
    | Truths
    | ListPattern
    | Containing
    | OwnPattern
)
Conjunction = tuple[tuple[str, Constraint], ...]
Box = dict[str, Constraint]


def unite_types(constraints: list[Constraint], steps: Steps | None = None) -> list[Constraint]:
    """Return the union of constraints on one attribute, merged within each type; lists are left as they are.

    Raises:
        OverBudgetError: it takes more steps.
    """
    kinds = {each.__class__ for each in constraints}
    if AnyValue in kinds or (NotNull in kinds and Null in kinds):
        return [AnyValue()]
    if NotNull in kinds:
        return [NotNull()]
    return [
        *numbers.unite(constraints),
        *text_unions.unite(constraints, steps),
        *_united_truths(constraints),
        *own.unite(constraints),
        *dict.fromkeys(each for each in constraints if isinstance(each, Null | ListPattern | Containing)),
    ]
