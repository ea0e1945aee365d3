"""Predicates on lists: how long they are, what they contain, and what their elements satisfy.

Negating one negates its conditions, as everywhere in the language: `not any(i > 2 for i in x)` is `all(i <= 2
for i in x)`. Only a set is negated as a whole: `not x & {'a'}` is a list without it, whatever else it has.

Law: a condition speaks of its own variable alone, so it means the same wherever it stands.
"""

import ast
from collections.abc import Iterable
from math import ceil, floor
from typing import Final

from broker.filters.constraints import Box, Constraint
from broker.filters.errors import LITERAL, NAME, PREDICATE
from broker.filters.lists import (
    NEVER,
    Alternatives,
    ListPattern,
    element_set,
    has_element,
    lacks_element,
    list_pattern,
)
from broker.filters.syntax import ELEMENT, NodeError, attribute_name, literal, one_of
from broker.filters.values import is_number

QUANTIFIERS: Final = ("any", "all")


def is_call(node: ast.expr, *names: str) -> bool:
    """Return whether the syntax calls one of the functions."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def boxes_of(name: str, constraints: Iterable[Constraint | None]) -> list[Box]:
    """Return a box for each constraint that can be satisfied."""
    return [{name: each} for each in constraints if each is not None]


def quantified(node: ast.Call) -> tuple[str, ast.expr]:
    """Return the attribute that `any(...)` or `all(...)` goes through, and the condition with a mark."""
    assert isinstance(node.func, ast.Name)
    function = node.func.id
    advice = f"write {function}(i.price > 5 for i in items)"
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
        raise NodeError(PREDICATE, node, f"{function} takes a condition on each element; {advice}")
    elements = node.args[0]
    part = elements.generators[0]
    if len(elements.generators) > 1 or part.ifs:
        raise NodeError(
            PREDICATE, node, f"{function} goes through one list, and has its condition before 'for'; {advice}"
        )
    name = attribute_name(part.iter)
    if name is None or not isinstance(part.target, ast.Name):
        raise NodeError(PREDICATE, part.iter, f"{function} goes through the list of an attribute; {advice}")
    _mark(elements.elt, part.target.id)
    return name, elements.elt


def _mark(condition: ast.expr, variable: str) -> None:
    """Mark the variable where it stands in a condition; refuse other names."""
    pending: list[ast.AST] = [condition]
    while pending:
        node = pending.pop()
        match node:
            case ast.GeneratorExp():
                pending.append(node.generators[0].iter)
            case ast.Call(func=ast.Name()):
                pending += node.args
            case ast.Name() if node.id == variable:
                node.id = ELEMENT
            case ast.Name():
                raise NodeError(
                    NAME,
                    node,
                    f"{node.id!r} is not of the element; a condition on {variable} compares {variable}"
                    f" or its own attributes, like {variable}.price",
                )
            case _:
                pending += ast.iter_child_nodes(node)


def quantifier(function: str, condition: Alternatives) -> Constraint | None:
    """Return the lists of which any element, or all, satisfy the condition."""
    if function == "all":
        return list_pattern(ListPattern(every=frozenset((condition,))))
    return None if condition == NEVER else has_element(condition)


def membership(node: ast.expr, name: str, *, negated: bool) -> list[Box]:
    """Read `3 in x`, whose left side is no text."""
    condition = element_set(one_of([literal(node)]))
    return boxes_of(name, [lacks_element(condition) if negated else has_element(condition)])


def intersection_test(node: ast.BinOp, *, negated: bool) -> list[Box]:
    """Read `x & {1, 2}`."""
    name, constants = attribute_name(node.left), node.right
    if name is None:
        name, constants = attribute_name(node.right), node.left
    if name is None or not isinstance(constants, ast.Set) or not isinstance(node.op, ast.BitAnd):
        raise NodeError(
            PREDICATE, node, "filters do not calculate; to ask for elements write tags & {'a', 'b'}"
        )
    condition = element_set(one_of(map(literal, constants.elts)))
    return boxes_of(name, [lacks_element(condition) if negated else has_element(condition)])


def subset(left: ast.expr, sign: ast.cmpop, right: ast.expr, *, negated: bool) -> list[Box]:
    """Read `{1, 2} <= x` and `x <= {1, 2}`, either way round."""
    smaller, larger = (left, right) if isinstance(sign, ast.LtE) else (right, left)
    name = attribute_name(larger)
    inner, outer = (smaller, name) if name is not None else (larger, attribute_name(smaller))
    if not isinstance(sign, ast.LtE | ast.GtE) or outer is None or not isinstance(inner, ast.Set):
        raise NodeError(
            PREDICATE,
            left,
            "a set is compared by <= or >=; write {'a', 'b'} <= tags for all of it,"
            " tags <= {'a', 'b'} for nothing else",
        )
    sets = one_of(map(literal, inner.elts))
    if name is None:
        wanted = [part for each in sets for part in each.complement()] if negated else sets
        return boxes_of(outer, [quantifier("any" if negated else "all", element_set(wanted))])
    alone = [element_set(one_of([literal(each)])) for each in inner.elts]
    if negated:
        return boxes_of(outer, map(lacks_element, alone))
    return boxes_of(outer, [list_pattern(ListPattern(some=frozenset(alone)))])


def length(
    left: ast.expr, operator: type[ast.cmpop], right: ast.expr, mirrored: type[ast.cmpop] | None
) -> list[Box]:
    """Read `len(x) > 3`; `mirrored` is the operator where the constant stands on the left."""
    call, other = left, right
    if not is_call(call, "len"):
        call, other, operator = right, left, mirrored or operator
    assert isinstance(call, ast.Call)
    name = attribute_name(call.args[0]) if len(call.args) == 1 and not call.keywords else None
    if name is None:
        raise NodeError(PREDICATE, call, "len takes one attribute name; write len(items) > 3")
    bound = literal(other) if isinstance(other, ast.Constant | ast.UnaryOp) else None
    if not is_number(bound):
        raise NodeError(LITERAL, other, "a length is compared with a number; write len(items) > 3")
    return boxes_of(name, [_long(*each) for each in _lengths(operator, bound)])


def _lengths(operator: type[ast.cmpop], bound: float) -> list[tuple[int, int | None]]:
    """Return the bounds of the lengths, both of them closed."""
    if operator is ast.Lt:
        return [(0, ceil(bound) - 1)]
    if operator is ast.LtE:
        return [(0, floor(bound))]
    if operator is ast.Gt:
        return [(floor(bound) + 1, None)]
    if operator is ast.GtE:
        return [(ceil(bound), None)]
    if operator is ast.Eq:
        return [(ceil(bound), floor(bound))]
    return [(0, ceil(bound) - 1), (floor(bound) + 1, None)]


def _long(low: int, high: int | None) -> ListPattern | None:
    if high is not None and high < max(low, 0):
        return None
    return list_pattern(ListPattern(max(low, 0), high))
