"""Filters as plain values. Reading them takes a fraction of the time of parsing their text.

A filter is its source (or None) and its conjunctions; a conjunction is names and constraints in turn, and a
constraint is its class, by index in `CLASSES`, and its fields. Sets are written in order, and a condition on
the elements of a list as conjunctions.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final, cast

import attrs

from broker.filters import Conjunction, Filter
from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Containing,
    ListPattern,
    NotNull,
    Null,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
)
from broker.filters.lists import Alternatives, printed_condition

CLASSES: Final[tuple[type, ...]] = (
    *(AnyValue, NumberSet, NumberRange, TextSet, TextPattern, Truths),
    *(NotNull, Null, ListPattern, Containing),
)
"""Every kind of constraint. Others may follow, none may move."""

_CODE_OF: Final = {owner: code for code, owner in enumerate(CLASSES)}
_NAMES: Final = {owner: tuple(each.name for each in attrs.fields(owner)) for owner in CLASSES}

Values = list[object]


def values_of(content: Filter) -> Values:
    """Write a filter."""
    return [content.source, *[_conjunction_values(each) for each in content.conjunctions]]


def _conjunction_values(conjunction: Conjunction) -> Values:
    values: Values = []
    for name, constraint in conjunction:
        values += (name, _constraint_values(constraint))
    return values


def _constraint_values(constraint: Constraint) -> Values:
    kind = type(constraint)
    if isinstance(constraint, ListPattern):
        conditions = constraint.some, constraint.every, constraint.none
        return [_CODE_OF[kind], constraint.low, constraint.high, *map(_conditions_values, conditions)]
    fields = [getattr(constraint, name) for name in _NAMES[kind]]
    return [_CODE_OF[kind], *[sorted(each) if type(each) is frozenset else each for each in fields]]


def _conditions_values(conditions: frozenset[Alternatives]) -> Values:
    ordered = sorted(conditions, key=partial(printed_condition, variable="i"))
    return [[_conjunction_values(one) for one in condition] for condition in ordered]


def filter_from(values: Sequence[object]) -> Filter:
    """Read a filter.

    Raises:
        TypeError, ValueError, IndexError: these values are no filter.
    """
    source, *conjunctions = cast("Sequence[Values]", values)
    return Filter(tuple([_conjunction_from(each) for each in conjunctions]), cast("str | None", source))


def _conjunction_from(values: Values) -> Conjunction:
    found = iter(values)
    return tuple(
        [
            (cast("str", name), _constraint_from(cast("Values", each)))
            for name, each in zip(found, found, strict=True)
        ]
    )


def _constraint_from(values: Values) -> Constraint:
    if CLASSES[cast("int", values[0])] is ListPattern:
        _, low, high, *conditions = values
        some, every, none = (_conditions_from(cast("list[list[Values]]", each)) for each in conditions)
        return ListPattern(cast("int", low), cast("int | None", high), some, every, none)
    fields = [frozenset(each) if type(each) is list else each for each in values[1:]]
    return cast("Constraint", CLASSES[cast("int", values[0])](*fields))


def _conditions_from(conditions: Sequence[Sequence[Values]]) -> frozenset[Alternatives]:
    return frozenset(tuple(map(_conjunction_from, condition)) for condition in conditions)
