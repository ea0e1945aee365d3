"""Single predicates: a piece of syntax that speaks of one attribute, as constraints on it.

Nothing is evaluated: names and constants are what the parser read. A predicate has alternatives, because one
that mixes types (`x in (1, 'a')`) is satisfied in several ways; without any it is false. Negating it negates
each type for itself: `x not in (1, 'a')` is a number other than 1, or a text other than 'a'.

Law: every error has the position of the smallest piece of syntax that is wrong, and what to write instead.
"""

import ast
from collections.abc import Iterable, Sequence
from itertools import chain

from broker.filters.constraints import AnyValue, Box, Constraint, NotNull, Null, NumberRange, TextPattern
from broker.filters.containing import containing
from broker.filters.errors import CONJUNCTIONS, PARTS, PREDICATE
from broker.filters.limits import CALLS_LIMIT, CONDITIONS_LIMIT, CONJUNCTIONS_LIMIT, PARTS_LIMIT
from broker.filters.list_predicates import boxes_of, intersection_test, is_call, length, membership, subset
from broker.filters.own_predicates import own_call
from broker.filters.syntax import SHOWN, NodeError, attribute_name, equal, literal, one_of, text_literal
from broker.filters.texts import text_pattern
from broker.filters.values import Scalar, canonical_number

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


def comparison(left: ast.expr, sign: ast.cmpop, right: ast.expr, *, negated: bool) -> list[Box]:
    """Read one link of a chain of comparisons."""
    operator = type(sign)
    if operator not in _NEGATED:
        return _null_test(left, right, negated=negated != (operator is ast.IsNot))
    if operator not in (ast.In, ast.NotIn) and (isinstance(left, ast.Set) or isinstance(right, ast.Set)):
        return subset(left, sign, right, negated=negated)
    if negated:
        operator = _NEGATED[operator]
    if operator in (ast.In, ast.NotIn):
        return _membership(left, right, negated=operator is ast.NotIn)
    if is_call(left, "len") or is_call(right, "len"):
        return length(left, operator, right, _MIRRORED[operator])
    return _relation(left, operator, right)


def _null_test(left: ast.expr, right: ast.expr, *, negated: bool) -> list[Box]:
    name = attribute_name(left)
    if name is None or not isinstance(right, ast.Constant) or right.value is not None:
        reason = "'is' compares identity, which values do not have; write == or !=, and x is None for null"
        raise NodeError(PREDICATE, left, reason)
    return [{name: NotNull() if negated else Null()}]


def _relation(left: ast.expr, operator: type[ast.cmpop], right: ast.expr) -> list[Box]:
    name, other = attribute_name(left), right
    if name is None:
        name, other, operator = attribute_name(right), left, _MIRRORED[operator]
        if name is None:
            literal(left)
            literal(right)
            raise NodeError(PREDICATE, left, "two constants are compared; one side must be an attribute")
    if not isinstance(other, ast.Constant):
        _check_not_attribute(other, name)
    value = literal(other)
    if operator is ast.Eq:
        return [{name: equal(value)}]
    if operator is ast.NotEq:
        return boxes_of(name, equal(value).complement())
    if isinstance(value, bool):
        raise NodeError(PREDICATE, other, f"truth values have no order; write == {value} or != {value}")
    constraint = _ordered(operator, value)
    return [] if constraint is None else [{name: constraint}]


def _check_not_attribute(node: ast.expr, name: str) -> None:
    other = attribute_name(node)
    if other is None:
        return
    if other.lower() in _MEANT:
        instead = f"for the truth value write {_MEANT[other.lower()]}"
    elif other.lower() in _EMPTY:
        instead = f"for null write {name} is None, and exists({name}) to ask whether it is there"
    else:
        instead = f"compare each with a constant, or for the text write {other!r}"
    raise NodeError(PREDICATE, node, f"two attributes, {name} and {other}, cannot be compared; {instead}")


def _ordered(operator: type[ast.cmpop], value: Scalar) -> Constraint | None:
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


def _membership(left: ast.expr, right: ast.expr, *, negated: bool) -> list[Box]:
    name, container = attribute_name(left), attribute_name(right)
    if name is not None and isinstance(right, ast.Tuple | ast.List | ast.Set):
        values = [literal(element) for element in right.elts]
        sets = one_of(values)
        return boxes_of(name, chain.from_iterable(each.complement() for each in sets) if negated else sets)
    if name is None and container is not None:
        part = literal(left)
        if not isinstance(part, str):
            return membership(left, container, negated=negated)
        texts = frozenset((part,))
        found = containing(frozenset(), texts) if negated else containing(texts, frozenset())
        return boxes_of(container, [found])
    if name is None:
        literal(left)
        raise NodeError(PREDICATE, left, "one side of 'in' must be an attribute")
    if container is not None:
        _check_not_attribute(right, name)
    instead = f"write {name} in ({SHOWN},)" if isinstance(right, ast.Constant) else "write a tuple"
    raise NodeError(PREDICATE, right, f"'in' needs several constants in brackets; {instead}", right)


def test(node: ast.Call | ast.BinOp, *, negated: bool) -> list[Box]:
    """Read a predicate that is no comparison."""
    if isinstance(node, ast.BinOp):
        return intersection_test(node, negated=negated)
    return _call(node, negated=negated)


def _call(node: ast.Call, *, negated: bool) -> list[Box]:
    """Read `exists(x)`, `x.startswith(...)`, `x.endswith(...)`, or a call of a constraint type."""
    function = node.func
    if isinstance(function, ast.Name) and function.id == "exists":
        name = attribute_name(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        if name is None:
            raise NodeError(PREDICATE, node, "exists takes one attribute name; write exists(price)")
        return [] if negated else [{name: AnyValue()}]
    if isinstance(function, ast.Attribute) and function.attr in ("startswith", "endswith"):
        name = attribute_name(function.value)
        if name is None:
            raise NodeError(PREDICATE, function.value, f"{function.attr} must follow an attribute name")
        affixes = _affixes(node, f"{name}.{function.attr}")
        _check_count(node, name, affixes, function.attr, negated=negated)
        return boxes_of(name, _affixed(affixes, function.attr, negated=negated))
    return own_call(node, negated=negated)


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


def too_many_calls(name: str, count: int) -> str:
    """Word the error for too many calls of constraint types."""
    return f"{count} calls on {name}, {CALLS_LIMIT} are allowed in one conjunction; name fewer"


def too_many_conditions(name: str, count: int) -> str:
    """Word the error for too many conditions on the elements of a list."""
    return (
        f"{count} conditions on the elements of {name}, {CONDITIONS_LIMIT} are allowed in one conjunction;"
        " name fewer"
    )


def no_condition(node: ast.expr) -> str:
    """Return the error for an expression that is no condition."""
    name = attribute_name(node)
    if name is not None:
        return f"an attribute alone is no condition; write {name} == True or exists({name})"
    if isinstance(node, ast.Constant):
        return "a constant alone is no condition; compare an attribute with it"
    return (
        "this is no condition; write comparisons, in, startswith, endswith, exists, any, all,"
        " joined with and, or, not"
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
