"""What a conjunction may demand of one attribute.

Laws:

* A constraint belongs to one type of value (numbers, texts, truth values) or to all (`AnyValue`). A value
  of another type never satisfies it.
* A conjunction holds one constraint per attribute: several predicates on it are intersected into one.
* Every constraint is satisfiable and in canonical form; what cannot be satisfied never becomes one.
"""

from attrs import field, frozen

Number = int | float
Value = str | bool | int | float


@frozen
class AnyValue:
    """The attribute exists, whatever its value: `exists(x)`."""


@frozen
class NumberSet:
    """The attribute is one of these numbers: `x == 1`, `x in (1, 2)`."""

    values: frozenset[Number]


@frozen
class NumberRange:
    """The attribute is a number between the bounds and none of the excluded ones.

    A bound of None is open to that side. `x != 5` is the unbounded range that excludes 5.
    """

    low: Number | None = None
    low_closed: bool = False
    high: Number | None = None
    high_closed: bool = False
    excluded: frozenset[Number] = frozenset()


@frozen
class TextSet:
    """The attribute is one of these texts."""

    values: frozenset[str]


@frozen
class TextPattern:
    """The attribute is a text between the bounds that satisfies every listed pattern.

    Bounds compare by code point. A prefix that follows from a longer one is not listed, likewise for
    suffixes and substrings.
    """

    low: str | None = None
    low_closed: bool = False
    high: str | None = None
    high_closed: bool = False
    prefix: str = ""
    suffix: str = ""
    contains: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    not_prefixes: frozenset[str] = frozenset()
    not_suffixes: frozenset[str] = frozenset()
    not_contains: frozenset[str] = frozenset()


@frozen
class Truths:
    """The attribute is one of these truth values."""

    values: frozenset[bool] = field()


Constraint = AnyValue | NumberSet | NumberRange | TextSet | TextPattern | Truths
