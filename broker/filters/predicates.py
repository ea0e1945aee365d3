"""Single predicates: a piece of syntax that speaks of one attribute, as constraints on it.

A predicate has alternatives, because one that mixes types (`x in (1, 'a')`) is satisfied in several ways.
Negating it negates each type for itself: `x not in (1, 'a')` is a number other than 1, or a text other than
'a'.

Law: every error has the place of the smallest piece of syntax that is wrong, and says what to write instead.
"""

import ast
from collections.abc import Iterable, Sequence

from attrs import frozen

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
)
from broker.filters.errors import CONJUNCTIONS, PARTS, PREDICATE
from broker.filters.limits import CONJUNCTIONS_LIMIT, PARTS_LIMIT
from broker.filters.literals import SHOWN, NodeError, attribute_name, literal, text_literal
from broker.filters.texts import text_pattern
from broker.filters.values import Value, canonical_number

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_MEANT = {"true": "True", "false": "False"}
_EMPTY = {"null", "none", "nil", "undefined"}


@frozen
class Predicate:
    """An attribute, and the alternatives of which it must satisfy one; without any it is false."""

    name: str
    alternatives: tuple[Constraint, ...]


def comparison(left: ast.expr, sign: ast.cmpop, right: ast.expr, *, negated: bool) -> Predicate:
    """Read one link of a chain of comparisons."""
    operator = type(sign)
    if operator not in _NEGATED:
        raise NodeError(PREDICATE, left, "'is' compares identity, which events do not have; write == or !=")
    if negated:
        operator = _NEGATED[operator]
    if operator in (ast.In, ast.NotIn):
        return _membership(left, right, negated=operator is ast.NotIn)
    return _relation(left, operator, right)


def _relation(left: ast.expr, operator: type[ast.cmpop], right: ast.expr) -> Predicate:
    name, other = attribute_name(left), right
    if name is None:
        name, other, operator = attribute_name(right), left, _MIRRORED[operator]
        if name is None:
            literal(left)
            literal(right)
            raise NodeError(PREDICATE, left, "two constants are compared; one side must be an attribute")
    _check_not_attribute(other, name)
    value = literal(other)
    if operator is ast.Eq:
        return Predicate(name, one_of([value]))
    if operator is ast.NotEq:
        return Predicate(name, none_of([value]))
    if isinstance(value, bool):
        raise NodeError(PREDICATE, other, f"truth values have no order; write == {value} or != {value}")
    constraint = _ordered(operator, value)
    return Predicate(name, () if constraint is None else (constraint,))


def _check_not_attribute(node: ast.expr, name: str) -> None:
    other = attribute_name(node)
    if other is None:
        return
    if other.lower() in _MEANT:
        instead = f"for the truth value write {_MEANT[other.lower()]}"
    elif other.lower() in _EMPTY:
        instead = f"to ask whether an attribute is there write exists({name})"
    else:
        instead = f"compare each with a constant, or for the text write {other!r}"
    raise NodeError(PREDICATE, node, f"two attributes, {name} and {other}, cannot be compared; {instead}")


def _ordered(operator: type[ast.cmpop], value: Value) -> Constraint | None:
    closed = operator in (ast.LtE, ast.GtE)
    below = operator in (ast.Lt, ast.LtE)
    if isinstance(value, str):
        pattern = (
            TextPattern(high=value, high_closed=closed)
            if below
            else TextPattern(low=value, low_closed=closed)
        )
        return text_pattern(pattern)
    number = canonical_number(value)
    return (
        NumberRange(high=number, high_closed=closed) if below else NumberRange(low=number, low_closed=closed)
    )


def _membership(left: ast.expr, right: ast.expr, *, negated: bool) -> Predicate:
    name, container = attribute_name(left), attribute_name(right)
    if name is not None and isinstance(right, ast.Tuple | ast.List | ast.Set):
        values = [literal(element) for element in right.elts]
        return Predicate(name, none_of(values) if negated else one_of(values))
    if name is None and container is not None:
        part = text_literal(left, f"only a text can be in {container}")
        pattern = (
            TextPattern(not_contains=frozenset((part,)))
            if negated
            else TextPattern(contains=frozenset((part,)))
        )
        return Predicate(container, _patterns([pattern]))
    if name is None:
        literal(left)
        raise NodeError(PREDICATE, left, "one side of 'in' must be an attribute")
    if container is not None:
        _check_not_attribute(right, name)
    instead = f"write {name} in ({SHOWN},)" if isinstance(right, ast.Constant) else "write a tuple"
    raise NodeError(PREDICATE, right, f"'in' needs several constants in brackets; {instead}", right)


def one_of(values: Iterable[Value]) -> tuple[Constraint, ...]:
    """Return one set for each type among the values."""
    truths, numbers, texts = set(), set(), set()
    for value in values:
        if isinstance(value, bool):
            truths.add(value)
        elif isinstance(value, str):
            texts.add(value)
        else:
            numbers.add(canonical_number(value))
    sets: list[Constraint] = []
    if numbers:
        sets.append(NumberSet(frozenset(numbers)))
    if texts:
        sets.append(TextSet(frozenset(texts)))
    if truths:
        sets.append(Truths(frozenset(truths)))
    return tuple(sets)


def none_of(values: Iterable[Value]) -> tuple[Constraint, ...]:
    """Return, for each type among the values, the other values of that type."""
    return tuple(part for each in one_of(values) for part in each.complement())


def call(node: ast.Call, *, negated: bool) -> Predicate:
    """Read `exists(x)`, `x.startswith(...)` or `x.endswith(...)`."""
    function = node.func
    if isinstance(function, ast.Name) and function.id == "exists":
        name = attribute_name(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if name is None:
            raise NodeError(PREDICATE, node, "exists takes one attribute name; write exists(price)")
        return Predicate(name, () if negated else (AnyValue(),))
    if isinstance(function, ast.Attribute) and function.attr in ("startswith", "endswith"):
        name = attribute_name(function.value)
        if name is None:
            raise NodeError(PREDICATE, function.value, f"{function.attr} must follow an attribute name")
        affixes = _affixes(node, f"{name}.{function.attr}")
        _check_count(node, name, affixes, function.attr, negated=negated)
        return Predicate(name, _affixed(affixes, function.attr, negated=negated))
    raise NodeError(
        PREDICATE,
        node,
        f"'{SHOWN}' cannot be called; only exists(x), x.startswith('...') and x.endswith('...') can",
        function,
    )


def _check_count(node: ast.Call, name: str, affixes: Sequence[str], method: str, *, negated: bool) -> None:
    if not negated and len(affixes) > CONJUNCTIONS_LIMIT:
        raise NodeError(
            CONJUNCTIONS,
            node,
            f"{len(affixes)} alternatives, {CONJUNCTIONS_LIMIT} are allowed; subscribe in several parts",
        )
    if negated and method == "endswith" and len(affixes) > PARTS_LIMIT:
        raise NodeError(PARTS, node, too_many_parts(name, len(affixes)))


def too_many_parts(name: str, count: int) -> str:
    """Word the error for too many substrings and unwanted suffixes."""
    return (
        f"{count} substrings and unwanted suffixes of {name}, {PARTS_LIMIT} are allowed in one conjunction;"
        " name fewer"
    )


def _affixes(node: ast.Call, written: str) -> Sequence[str]:
    advice = f"it takes one text or a tuple of texts; write {written}('...')"
    if len(node.args) != 1 or node.keywords:
        raise NodeError(PREDICATE, node, advice)
    (argument,) = node.args
    elements = argument.elts if isinstance(argument, ast.Tuple) else [argument]
    return [text_literal(element, advice) for element in elements]


def _affixed(affixes: Sequence[str], method: str, *, negated: bool) -> tuple[Constraint, ...]:
    at_start = method == "startswith"
    if negated:
        texts = frozenset(affixes)
        return _patterns([TextPattern(not_prefixes=texts) if at_start else TextPattern(not_suffixes=texts)])
    return _patterns(
        [
            TextPattern(prefix=text) if at_start else TextPattern(suffix=text)
            for text in dict.fromkeys(affixes)
        ]
    )


def _patterns(raw: Iterable[TextPattern]) -> tuple[Constraint, ...]:
    return tuple(pattern for pattern in map(text_pattern, raw) if pattern is not None)
