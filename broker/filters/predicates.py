"""Single predicates: a piece of syntax that speaks of one attribute, as constraints on it.

Nothing is evaluated: names and constants are what the parser read. A predicate has alternatives, because one
that mixes types (`x in (1, 'a')`) is satisfied in several ways; without any it is false. Negating it negates
each type for itself: `x not in (1, 'a')` is a number other than 1, or a text other than 'a'.

Law: every error has the position of the smallest piece of syntax that is wrong, and what to write instead.
"""

import ast
import sys
from collections.abc import Iterable, Sequence
from itertools import chain

from broker.filters.constraints import (
    AnyValue,
    Box,
    Constraint,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
)
from broker.filters.errors import CONJUNCTIONS, LITERAL, NAME, PARTS, PREDICATE
from broker.filters.limits import CONJUNCTIONS_LIMIT, NAME_LIMIT_BYTES, PARTS_LIMIT
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

NUMBER_LIMIT = sys.float_info.max
"""The largest constant: so that every constant can be a float, and none is infinite."""

SHOWN = "{shown}"
"""Where a reason repeats a piece of the source."""


class NodeError(Exception):
    """A `FilterError` in the making: it knows the piece of syntax, the parser knows its column.

    Where the reason has `SHOWN` the parser puts the source of the node `shown`: it is cut out of the text by
    its columns and never written from the tree, which may be too deep for that.
    """

    def __init__(self, code: str, node: ast.expr, reason: str, shown: ast.expr | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.node = node
        self.reason = reason
        self.shown = shown


def comparison(left: ast.expr, sign: ast.cmpop, right: ast.expr, *, negated: bool) -> list[Box]:
    """Read one link of a chain of comparisons."""
    operator = type(sign)
    if operator not in _NEGATED:
        raise NodeError(PREDICATE, left, "'is' compares identity, which events do not have; write == or !=")
    if negated:
        operator = _NEGATED[operator]
    if operator in (ast.In, ast.NotIn):
        return _membership(left, right, negated=operator is ast.NotIn)
    return _relation(left, operator, right)


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
        return [{name: _equal(value)}]
    if operator is ast.NotEq:
        return _boxes(name, _equal(value).complement())
    if isinstance(value, bool):
        raise NodeError(PREDICATE, other, f"truth values have no order; write == {value} or != {value}")
    constraint = _ordered(operator, value)
    return [] if constraint is None else [{name: constraint}]


def _boxes(name: str, alternatives: Iterable[Constraint]) -> list[Box]:
    return [{name: each} for each in alternatives]


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


def _membership(left: ast.expr, right: ast.expr, *, negated: bool) -> list[Box]:
    name, container = attribute_name(left), attribute_name(right)
    if name is not None and isinstance(right, ast.Tuple | ast.List | ast.Set):
        values = [literal(element) for element in right.elts]
        sets = _one_of(values)
        return _boxes(name, chain.from_iterable(each.complement() for each in sets) if negated else sets)
    if name is None and container is not None:
        part = text_literal(left, f"only a text can be in {container}")
        pattern = (
            TextPattern(not_contains=frozenset((part,)))
            if negated
            else TextPattern(contains=frozenset((part,)))
        )
        return _boxes(container, _patterns([pattern]))
    if name is None:
        literal(left)
        raise NodeError(PREDICATE, left, "one side of 'in' must be an attribute")
    if container is not None:
        _check_not_attribute(right, name)
    instead = f"write {name} in ({SHOWN},)" if isinstance(right, ast.Constant) else "write a tuple"
    raise NodeError(PREDICATE, right, f"'in' needs several constants in brackets; {instead}", right)


def _equal(value: Value) -> Constraint:
    """Return the set of that value alone."""
    if isinstance(value, bool):
        return Truths(frozenset((value,)))
    if isinstance(value, str):
        return TextSet(frozenset((value,)))
    return NumberSet(frozenset((canonical_number(value),)))


def _one_of(values: Iterable[Value]) -> list[Constraint]:
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
    return sets


def call(node: ast.Call, *, negated: bool) -> list[Box]:
    """Read `exists(x)`, `x.startswith(...)` or `x.endswith(...)`."""
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
        return _boxes(name, _affixed(affixes, function.attr, negated=negated))
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


def no_condition(node: ast.expr) -> str:
    """Return the error for an expression that is no condition."""
    name = attribute_name(node)
    if name is not None:
        return f"an attribute alone is no condition; write {name} == True or exists({name})"
    if isinstance(node, ast.Constant):
        return "a constant alone is no condition; compare an attribute with it"
    return (
        "this is no condition; write comparisons, in, startswith, endswith, exists, joined with and, or, not"
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


def attribute_name(node: ast.expr) -> str | None:
    """Return the name that a plain or dotted name spells, None for anything else."""
    parts: list[str] = []
    part = node
    while isinstance(part, ast.Attribute):
        parts.append(part.attr)
        part = part.value
    if not isinstance(part, ast.Name):
        return None
    name = ".".join((part.id, *reversed(parts))) if parts else part.id
    if len(name.encode()) > NAME_LIMIT_BYTES:
        raise NodeError(NAME, node, f"an attribute name has at most {NAME_LIMIT_BYTES} bytes; shorten it")
    return name


def literal(node: ast.expr) -> Value:
    """Return the constant that the syntax spells."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = literal(node.operand) if isinstance(node.operand, ast.Constant) else None
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise NodeError(LITERAL, node, "a sign must stand before a number; write the number itself")
        return -number if isinstance(node.op, ast.USub) else number
    if not isinstance(node, ast.Constant):
        raise NodeError(*_wrong_operand(node))
    value = node.value
    if isinstance(value, str):
        return value if value.isascii() else _checked_text(node, value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        if -NUMBER_LIMIT <= value <= NUMBER_LIMIT:
            return value
        raise NodeError(
            LITERAL,
            node,
            f"a number constant may be at most {NUMBER_LIMIT}; to allow any leave the bound out",
        )
    if value is None:
        raise NodeError(
            LITERAL, node, "None is no value; to ask whether an attribute is there write exists(x)"
        )
    raise NodeError(
        LITERAL, node, f"a {type(value).__name__} is no value; values are texts, numbers, True and False"
    )


def text_literal(node: ast.expr, advice: str) -> str:
    """Return the constant, which must be a text."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise NodeError(LITERAL, node, advice)
    return _checked_text(node, node.value)


def _checked_text(node: ast.expr, text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise NodeError(LITERAL, node, "half of a surrogate pair is no character; write the whole character")
    return text


def _wrong_operand(node: ast.expr) -> tuple[str, ast.expr, str]:
    match node:
        case ast.BinOp() | ast.UnaryOp():
            return PREDICATE, node, "filters do not calculate; write the result as a constant"
        case ast.Call():
            return PREDICATE, node, "the result of a call cannot be compared; compare the attribute itself"
        case ast.Tuple() | ast.List() | ast.Set():
            return PREDICATE, node, "several constants can only stand after 'in'; write x in (...)"
        case ast.BoolOp() | ast.Compare():
            return PREDICATE, node, "a condition cannot be compared; join conditions with and, or, not"
        case ast.JoinedStr():
            return LITERAL, node, "a formatted text is not allowed; write the text itself"
        case _:
            return PREDICATE, node, "this is neither an attribute name nor a constant; write one of them"
