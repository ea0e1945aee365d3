"""What a conjunction may demand of one attribute.

Laws:

* A constraint belongs to one type of value (numbers, texts, truth values) or to all (`AnyValue`). A value
  of another type never satisfies it.
* A conjunction holds one constraint per attribute: several predicates on it are intersected into one.
* Every constraint is satisfiable and in canonical form; what cannot be satisfied never becomes one.

Each type stands in a file of its own with its operations beside it: `accepts`, `reader`, `intersect`,
`covers`, `overlaps`, `complement` (within the type), `printed`, `rank`, and how dear it is (`weight`,
`trying`, `shaping`); and one `unite` for each type of value. Adding one is adding a file, and its name here.
The functions below say what holds across types.
"""

from broker.filters import numbers, text_unions, truths
from broker.filters.anything import AnyValue
from broker.filters.numbers import NumberRange, NumberSet
from broker.filters.steps import Steps
from broker.filters.texts import TextPattern, TextSet
from broker.filters.truths import Truths
from broker.filters.values import Number, Value

Constraint = AnyValue | NumberSet | NumberRange | TextSet | TextPattern | Truths

__all__ = [
    "AnyValue",
    "Constraint",
    "Number",
    "NumberRange",
    "NumberSet",
    "TextPattern",
    "TextSet",
    "Truths",
    "Value",
    "covers",
    "intersect",
    "overlaps",
    "unite",
]


def covers(one: Constraint, other: Constraint) -> bool:
    """Tell whether everything that satisfies the other satisfies the first."""
    return one.covers(other)


def overlaps(one: Constraint, other: Constraint) -> bool:
    """Tell whether some value satisfies both."""
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
        *truths.unite(constraints),
    ]
