"""The filter language: a Python expression, parsed and never evaluated, becomes a canonical disjunction.

Theory of operation: `scanning` rejects what must not reach Python's parser. The syntax tree is then walked
once; negation is carried down to the predicates on the way, so that a missing attribute makes a predicate
false whether negated or not. Each node yields its disjunction of boxes; `or` appends them, `and` multiplies
them.

Law: no intermediate result exceeds the limit on conjunctions by more than a constant factor, so hostile
text costs time in proportion to the limits and never memory without bound.
"""

import ast
import warnings
from collections.abc import Sequence
from itertools import pairwise, zip_longest

from broker.filters.conjunctions import Box, canonical, conjunction, intersection, merged
from broker.filters.errors import CONJUNCTIONS, LEVELS, PREDICATE, SYNTAX, FilterError
from broker.filters.filter import Filter, with_printable_text
from broker.filters.limits import CONJUNCTIONS_LIMIT, LEVELS_LIMIT
from broker.filters.literals import NodeError, attribute_name
from broker.filters.predicates import Predicate, call, comparison
from broker.filters.scanning import scanned

MERGING_POINT = 4 * CONJUNCTIONS_LIMIT
"""While boxes are multiplied, so many may gather before they are merged to see whether they exceed the
limit."""


def parse(text: str) -> Filter:
    """Return the filter that the text describes; raise `FilterError`, with the column, if there is none."""
    line = scanned(text)
    indent = len(line) - len(line.lstrip(" "))
    line = line[indent:]
    try:
        tree = _tree(line, indent)
        boxes = _sum(tree, [_expanded(tree, 0, negated=False)])
    except NodeError as error:
        column = indent + _column(line, error.node)
        raise FilterError(error.code, column, error.reason) from None
    return with_printable_text(canonical(map(conjunction, boxes)), text)


def _column(line: str, node: ast.expr) -> int:
    """Return the column of a node, whose own offset counts bytes from 0."""
    return len(line.encode()[: node.col_offset].decode()) + 1


def _tree(line: str, indent: int) -> ast.expr:
    try:
        with warnings.catch_warnings():
            # Python warns of odd escapes and the like; they have a meaning, and that is taken.
            warnings.simplefilter("ignore")
            return ast.parse(line, mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(error, line, indent) from None
    except (RecursionError, MemoryError, SystemError):
        raise FilterError(
            LEVELS, 1, f"nested far beyond {LEVELS_LIMIT} levels; write the filter flatter"
        ) from None


def _syntax_error(error: SyntaxError, line: str, indent: int) -> FilterError:
    """Say what Python's parser said; where it names no place, the text ended too early."""
    end = len(line.rstrip()) + 1
    if not error.offset:
        return FilterError(SYNTAX, indent + end, "this is no expression: it ends too early; complete it")
    return FilterError(SYNTAX, indent + min(error.offset, end), f"this is no expression: {error.msg}")


def _expanded(node: ast.expr, level: int, *, negated: bool) -> list[Box]:
    """Return the disjunction that a node, or its negation, stands for."""
    match node:
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            if level == LEVELS_LIMIT:
                raise NodeError(
                    LEVELS, node, f"more than {LEVELS_LIMIT} levels of and, or, not; write the filter flatter"
                )
            if isinstance(node, ast.UnaryOp):
                return _expanded(node.operand, level + 1, negated=not negated)
            parts = [_expanded(value, level + 1, negated=negated) for value in node.values]
            return _combined(node, parts, conjoined=isinstance(node.op, ast.And) != negated)
        case ast.Compare():
            operands = pairwise([node.left, *node.comparators])
            links = [
                _boxes(comparison(left, sign, right, negated=negated))
                for (left, right), sign in zip(operands, node.ops, strict=True)
            ]
            return _combined(node, links, conjoined=not negated)
        case ast.Call():
            return _boxes(call(node, negated=negated))
        case ast.Constant(value=True | False as truth):
            return [{}] if truth != negated else []
        case _:
            raise NodeError(PREDICATE, node, _no_condition(node))


def _no_condition(node: ast.expr) -> str:
    name = attribute_name(node)
    if name is not None:
        return f"an attribute alone is no condition; write {name} == True or exists({name})"
    if isinstance(node, ast.Constant):
        return "a constant alone is no condition; compare an attribute with it"
    return (
        "this is no condition; write comparisons, in, startswith, endswith, exists, joined with and, or, not"
    )


def _boxes(predicate: Predicate) -> list[Box]:
    return [{predicate.name: constraint} for constraint in predicate.alternatives]


def _combined(node: ast.expr, parts: Sequence[list[Box]], *, conjoined: bool) -> list[Box]:
    return _product(node, parts) if conjoined else _sum(node, parts)


def _sum(node: ast.expr, parts: Sequence[list[Box]]) -> list[Box]:
    boxes = [box for part in parts for box in part]
    return boxes if len(boxes) <= CONJUNCTIONS_LIMIT else _within_limit(node, boxes)


def _product(node: ast.expr, parts: Sequence[list[Box]]) -> list[Box]:
    """Multiply the parts; single boxes first, so that contradictions end early."""
    product = _joint([part[0] if part else None for part in parts if len(part) <= 1])
    for part in parts:
        if len(part) > 1:
            product = _multiplied(node, product, _merged(part))
    return product


def _joint(boxes: list[Box | None]) -> list[Box]:
    """Multiply single boxes, in pairs and pairs of pairs: long lists are not copied for each new one."""
    everything: Box = {}
    while len(boxes) > 1:
        boxes = [
            None if one is None or other is None else intersection(one, other.items())
            for one, other in zip_longest(boxes[::2], boxes[1::2], fillvalue=everything)
        ]
    first = boxes[0] if boxes else everything
    return [] if first is None else [first]


def _multiplied(node: ast.expr, boxes: list[Box], factor: list[Box]) -> list[Box]:
    product: list[Box] = []
    for box in boxes:
        for other in factor:
            both = intersection(box, other.items())
            if both is not None:
                product.append(both)
        if len(product) > MERGING_POINT:
            product = _within_limit(node, product)
    return product if len(product) <= CONJUNCTIONS_LIMIT else _within_limit(node, product)


def _merged(boxes: list[Box]) -> list[Box]:
    return [dict(each) for each in merged(list(dict.fromkeys(map(conjunction, boxes))))]


def _within_limit(node: ast.expr, boxes: list[Box]) -> list[Box]:
    fewer = _merged(boxes)
    if len(fewer) > CONJUNCTIONS_LIMIT:
        raise NodeError(
            CONJUNCTIONS,
            node,
            f"written out this has more than {CONJUNCTIONS_LIMIT} alternatives;"
            " use fewer 'or' inside 'and', or subscribe in several parts",
        )
    return fewer
