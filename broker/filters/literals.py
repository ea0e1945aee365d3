"""Names and constants in the syntax of a filter. Nothing is evaluated: a literal is what the parser read."""

import ast
import sys

from broker.filters.errors import LITERAL, NAME, PREDICATE
from broker.filters.limits import NAME_LIMIT_BYTES
from broker.filters.values import Number, Value

NUMBER_LIMIT = sys.float_info.max
"""The largest constant: so that every constant can be a float, and none is infinite."""


SHOWN = "{shown}"
"""Where a reason repeats a piece of the source."""


class NodeError(Exception):
    """A `FilterError` in the making: it knows the piece of syntax, the parser knows its column.

    Where the reason says `SHOWN` the parser puts the source of the node `shown`: it is cut out of the text by
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
    name = ".".join((part.id, *reversed(parts)))
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
        return _checked_text(node, value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _checked_number(node, value)
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


def _checked_number(node: ast.expr, number: Number) -> Number:
    if not -NUMBER_LIMIT <= number <= NUMBER_LIMIT:
        raise NodeError(
            LITERAL,
            node,
            f"a number constant may be at most {NUMBER_LIMIT}; to allow any leave the bound out",
        )
    return number


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
