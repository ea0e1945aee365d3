"""Pieces of syntax that predicates are made of: names, constants, and errors that know where they are."""

import ast
import sys
from collections.abc import Iterable
from typing import Final

from broker.filters.constraints import Constraint, NumberSet, TextSet, Truths
from broker.filters.errors import LITERAL, NAME, PREDICATE
from broker.filters.limits import NAME_LIMIT_BYTES
from broker.filters.values import SELF, Scalar, canonical_number

NUMBER_LIMIT = sys.float_info.max
"""The largest constant: so that every constant can be a float, and none is infinite."""

SHOWN = "{shown}"
"""Where a reason repeats a piece of the source."""


ELEMENT: Final = "\0"
"""The name by which the variable of `any` and `all` is marked; no text has it."""


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
    if part.id == ELEMENT:
        return ".".join(reversed(parts)) if parts else SELF
    if len(name.encode()) > NAME_LIMIT_BYTES:
        raise NodeError(NAME, node, f"an attribute name has at most {NAME_LIMIT_BYTES} bytes; shorten it")
    return name


def literal(node: ast.expr) -> Scalar:
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
            LITERAL, node, "None is compared by 'is'; write x is None, or exists(x) to ask whether x is there"
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


def equal(value: Scalar) -> Constraint:
    """Return the set of that value alone."""
    if isinstance(value, bool):
        return Truths(frozenset((value,)))
    if isinstance(value, str):
        return TextSet(frozenset((value,)))
    return NumberSet(frozenset((canonical_number(value),)))


def one_of(values: Iterable[Scalar]) -> list[Constraint]:
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
