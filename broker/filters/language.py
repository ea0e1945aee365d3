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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise, zip_longest

from attrs import Factory, frozen

from broker.filters.conjunctions import Box, conjunction, intersection
from broker.filters.constraints import TextPattern
from broker.filters.errors import (
    CONJUNCTIONS,
    LEVELS,
    PARTS,
    PREDICATE,
    SOURCE_LENGTH,
    STEPS,
    SYNTAX,
    UNREADABLE,
    FilterError,
    legible,
)
from broker.filters.filter import Filter, with_printable_text
from broker.filters.limits import CONJUNCTIONS_LIMIT, LEVELS_LIMIT, PARTS_LIMIT, SIZE_LIMIT_BYTES
from broker.filters.literals import SHOWN, NodeError, attribute_name
from broker.filters.predicates import Predicate, call, comparison, too_many_parts
from broker.filters.scanning import scanned
from broker.filters.simplifying import canonical, merged, united_alone
from broker.filters.steps import (
    CONSTRAINT_STEPS,
    EXPANDING_STEPS,
    PREDICATE_STEPS,
    READING_STEPS,
    OverBudgetError,
    Steps,
    budget,
    unlimited,
)

MERGING_POINT = 4 * CONJUNCTIONS_LIMIT
"""While boxes are multiplied, so many may gather before they are merged to see whether they exceed the
limit."""


def parse(text: str) -> Filter:
    """Return the filter that the text describes; raise `FilterError`, with the column, if there is none."""
    expansion = _Expansion()
    try:
        return _parsed(text, expansion)
    except FilterError as error:
        error.cost = expansion.cost
        raise
    except Exception as error:
        # Whatever was not foreseen is wrong with this text alone, and must not end whoever was sent it.
        reason = f"this cannot be read as a filter ({type(error).__name__}); write it more simply"
        raise FilterError(UNREADABLE, 1, reason, expansion.cost) from error


def cost_of_text(text: str) -> int:
    """Return the steps that reading the text takes at least.

    `Filter.cost` and `FilterError.cost` say how many steps were taken in all.
    """
    return READING_STEPS * min(len(text), SIZE_LIMIT_BYTES)


def _parsed(text: str, expansion: "_Expansion") -> Filter:
    expansion.linear.take(cost_of_text(text))
    line = scanned(text)
    indent = len(line) - len(line.lstrip(" "))
    line = line[indent:]
    try:
        tree = _tree(line, indent)
        boxes = expansion.whole(tree)
    except NodeError as error:
        column = indent + _column(line, error.node.col_offset)
        raise FilterError(error.code, column, _reason(error, line)) from None
    return with_printable_text(canonical(map(conjunction, boxes)), text, expansion.cost)


def _column(line: str, offset: int) -> int:
    """Return the column of a place that counts bytes from 0."""
    return len(line.encode()[:offset].decode()) + 1


def _reason(error: NodeError, line: str) -> str:
    """Word the reason, with the piece of the source that it repeats."""
    node = error.shown
    if node is None:
        return error.reason
    first, end = _column(line, node.col_offset), _column(line, node.end_col_offset or 0)
    return error.reason.replace(SHOWN, legible(line[first - 1 : end - 1], SOURCE_LENGTH))


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


@frozen
class _Expansion:
    """The walk over a tree that turns each node into its disjunction.

    What is in proportion to the text is counted and needs no limit; what multiplies alternatives has one.
    """

    linear: Steps = Factory(unlimited)
    multiplying: Steps = Factory(partial(budget, EXPANDING_STEPS))

    @property
    def cost(self) -> int:
        """Return the steps taken so far."""
        return self.linear.spent + self.multiplying.spent

    def whole(self, tree: ast.expr) -> list[Box]:
        """Return the disjunction that the tree stands for."""
        boxes = self._sum(tree, [self._expanded(tree, 0, negated=False)])
        with _charged(tree):
            for box in boxes:
                self.multiplying.take(
                    CONSTRAINT_STEPS * sum(1 + constraint.weight for constraint in box.values())
                )
        return boxes

    def _expanded(self, node: ast.expr, level: int, *, negated: bool) -> list[Box]:
        """Return the disjunction that a node, or its negation, stands for."""
        match node:
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                if level == LEVELS_LIMIT:
                    raise NodeError(
                        LEVELS,
                        node,
                        f"more than {LEVELS_LIMIT} levels of and, or, not; write the filter flatter",
                    )
                if isinstance(node, ast.UnaryOp):
                    return self._expanded(node.operand, level + 1, negated=not negated)
                parts = [self._expanded(value, level + 1, negated=negated) for value in node.values]
                return self._combined(node, parts, conjoined=isinstance(node.op, ast.And) != negated)
            case ast.Compare():
                self.linear.take(PREDICATE_STEPS * len(node.ops))
                operands = pairwise([node.left, *node.comparators])
                links = [
                    _boxes(comparison(left, sign, right, negated=negated))
                    for (left, right), sign in zip(operands, node.ops, strict=True)
                ]
                return self._combined(node, links, conjoined=not negated)
            case ast.Call():
                self.linear.take(PREDICATE_STEPS)
                return _boxes(call(node, negated=negated))
            case ast.Constant(value=True | False as truth):
                return [{}] if truth != negated else []
            case _:
                raise NodeError(PREDICATE, node, _no_condition(node))

    def _combined(self, node: ast.expr, parts: Sequence[list[Box]], *, conjoined: bool) -> list[Box]:
        return self._product(node, parts) if conjoined else self._sum(node, parts)

    def _sum(self, node: ast.expr, parts: Sequence[list[Box]]) -> list[Box]:
        boxes = [box for part in parts for box in part]
        return boxes if len(boxes) <= CONJUNCTIONS_LIMIT else self._within_limit(node, boxes)

    def _product(self, node: ast.expr, parts: Sequence[list[Box]]) -> list[Box]:
        """Multiply the parts; single boxes first, so that contradictions end early."""
        product = self._joint(node, [part[0] if part else None for part in parts if len(part) <= 1])
        for part in parts:
            if len(part) > 1:
                product = self._multiplied(node, product, part)
        return product

    def _joint(self, node: ast.expr, boxes: list[Box | None]) -> list[Box]:
        """Multiply single boxes, in pairs and pairs of pairs: long lists are not copied for each new one."""
        everything: Box = {}
        _check_parts(node, [each for each in boxes if each is not None])
        while len(boxes) > 1:
            boxes = [
                None if one is None or other is None else intersection(one, other, self.linear)
                for one, other in zip_longest(boxes[::2], boxes[1::2], fillvalue=everything)
            ]
        first = boxes[0] if boxes else everything
        return [] if first is None else [first]

    def _multiplied(self, node: ast.expr, boxes: list[Box], part: list[Box]) -> list[Box]:
        product: list[Box] = []
        with _charged(node):
            factor = _merged(part, self.multiplying)
            for box in boxes:
                for other in factor:
                    _check_parts(node, (box, other))
                    both = intersection(box, other, self.multiplying)
                    if both is not None:
                        product.append(both)
                if len(product) > MERGING_POINT:
                    product = self._within_limit(node, product)
        return product if len(product) <= CONJUNCTIONS_LIMIT else self._within_limit(node, product)

    def _within_limit(self, node: ast.expr, boxes: list[Box]) -> list[Box]:
        try:
            fewer = _merged(boxes, self.multiplying)
        except OverBudgetError:
            fewer = boxes
        if len(fewer) > CONJUNCTIONS_LIMIT:
            raise NodeError(
                CONJUNCTIONS,
                node,
                f"written out this has more than {CONJUNCTIONS_LIMIT} alternatives;"
                " use fewer 'or' inside 'and', or subscribe in several parts",
            )
        return fewer


def _merged(boxes: list[Box], steps: Steps) -> list[Box]:
    return [dict(each) for each in merged(united_alone(map(conjunction, boxes)), steps)]


@contextmanager
def _charged(node: ast.expr) -> Iterator[None]:
    """Say where the budget was exceeded."""
    try:
        yield
    except OverBudgetError:
        raise NodeError(
            STEPS,
            node,
            f"to write this out takes more than {EXPANDING_STEPS} steps; use fewer 'or' inside 'and', or"
            " subscribe in several parts",
        ) from None


def _check_parts(node: ast.expr, boxes: Sequence[Box]) -> None:
    """Refuse what names too many parts of a text, before it is one pattern: parts are compared in pairs."""
    counts: dict[str, int] = {}
    for box in boxes:
        for name, constraint in box.items():
            if isinstance(constraint, TextPattern) and constraint.parts:
                counts[name] = counts.get(name, 0) + constraint.parts
    for name, count in counts.items():
        if count > PARTS_LIMIT:
            raise NodeError(PARTS, node, too_many_parts(name, count))


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
