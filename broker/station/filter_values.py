"""Filters as plain values. Reading them takes a fraction of the time of parsing their text.

Constraints stand in a table, each once: filters have many in common, and what a constraint knows of itself is
worked out once for all of them. A filter is its source (or None) and its conjunctions; a conjunction is names
and numbers of constraints in turn, and a constraint is its class, by index in `CLASSES`, and its fields. Sets
are written in order, a condition on the elements of a list as conjunctions with their constraints in place,
and what a constraint type demands as the calls that demand it.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, cast

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
    OwnPattern,
    TextPattern,
    TextSet,
    Truths,
)
from broker.filters.installed import type_of
from broker.filters.lists import Alternatives, printed_condition
from broker.filters.own import OwnPart

if TYPE_CHECKING:
    from broker.filters.values import Scalar

CLASSES: Final[tuple[type, ...]] = (
    *(AnyValue, NumberSet, NumberRange, TextSet, TextPattern, Truths),
    *(NotNull, Null, ListPattern, Containing, OwnPattern),
)
"""Every kind of constraint. Others may follow, none may move."""

_CODE_OF: Final = {owner: code for code, owner in enumerate(CLASSES)}
_NAMES: Final = {owner: tuple(each.name for each in attrs.fields(owner)) for owner in CLASSES}

Values = list[object]


def values_of(filters: Iterable[Filter]) -> list[list[Values]]:
    """Write filters: the table of their constraints, and the filters."""
    constraints: list[Values] = []
    numbers: dict[str, int] = {}

    def number_of(constraint: Constraint) -> int:
        values = _constraint_values(constraint)
        # What is written alike is one constraint; equal ones might still be printed differently.
        number = numbers.setdefault(repr(values), len(constraints))
        if number == len(constraints):
            constraints.append(values)
        return number

    written: list[Values] = []
    for content in filters:
        values: Values = [content.source]
        for conjunction in content.conjunctions:
            pairs: Values = []
            for name, constraint in conjunction:
                pairs += (name, number_of(constraint))
            values.append(pairs)
        written.append(values)
    return [constraints, written]


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
    if isinstance(constraint, OwnPattern):
        parts = [_part_values(each) for each in constraint.parts_by_type]
        return [_CODE_OF[kind], _constraint_values(constraint.beside), parts]
    fields = [getattr(constraint, name) for name in _NAMES[kind]]
    return [_CODE_OF[kind], *[sorted(each) if type(each) is frozenset else each for each in fields]]


def _part_values(part: OwnPart) -> Values:
    contents = part.in_order(part.wanted), part.in_order(part.unwanted)
    calls = [[part.own.printed(content) for content in each] for each in contents]
    return [part.type.name, *([[name, *arguments] for name, arguments in each] for each in calls)]


def _conditions_values(conditions: frozenset[Alternatives]) -> Values:
    ordered = sorted(conditions, key=partial(printed_condition, variable="i"))
    return [[_conjunction_values(one) for one in condition] for condition in ordered]


def filters_from(values: Sequence[Sequence[Values]]) -> list[Filter]:
    """Read filters.

    Raises:
        TypeError, ValueError, IndexError: these values are no filters.
    """
    constraints, filters = values
    known = [_constraint_from(each) for each in constraints]
    return [_filter_from(each, known) for each in filters]


def _filter_from(values: Values, constraints: list[Constraint]) -> Filter:
    conjunctions: list[Conjunction] = []
    for pairs in values[1:]:
        found = iter(pairs)  # type: ignore[call-overload]  # it is one, or the snapshot is damaged
        conjunctions.append(
            tuple([(name, constraints[number]) for name, number in zip(found, found, strict=True)])
        )
    return Filter(tuple(conjunctions), values[0])  # type: ignore[arg-type]  # likewise


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
    if CLASSES[cast("int", values[0])] is OwnPattern:
        _, beside, parts = cast("tuple[int, Values, list[Values]]", values)
        return OwnPattern(_constraint_from(beside), tuple(map(_part_from, parts)))
    fields = [frozenset(each) if type(each) is list else each for each in values[1:]]
    return cast("Constraint", CLASSES[cast("int", values[0])](*fields))


def _part_from(values: Values) -> OwnPart:
    name, *calls = cast("tuple[str, list[Values], list[Values]]", tuple(values))
    asked = type_of(name)
    wanted, unwanted = (
        frozenset(
            asked.own.parse(cast("str", predicate), cast("list[Scalar]", arguments))
            for predicate, *arguments in each
        )
        for each in calls
    )
    return OwnPart(asked, wanted, unwanted)


def _conditions_from(conditions: Sequence[Sequence[Values]]) -> frozenset[Alternatives]:
    return frozenset(tuple(map(_conjunction_from, condition)) for condition in conditions)
