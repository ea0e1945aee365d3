"""Calls of predicates that constraint types bring: `in_network(ip, '10.0.0.0/8')`.

Law: what a type says of an argument becomes an error at that argument.
"""

import ast

from broker.filters.constraint_types import ArgumentError
from broker.filters.constraints import Box
from broker.filters.errors import LITERAL, PREDICATE
from broker.filters.installed import ConstraintTypeError, InstalledType, by_predicate
from broker.filters.list_predicates import boxes_of
from broker.filters.own import call_pattern
from broker.filters.syntax import SHOWN, NodeError, attribute_name, literal


def own_call(node: ast.Call, *, negated: bool) -> list[Box]:
    """Read a call that the language itself does not have."""
    asked = _asked(node)
    assert isinstance(node.func, ast.Name)
    called = node.func.id
    name = attribute_name(node.args[0]) if node.args and not node.keywords else None
    if name is None:
        raise NodeError(
            PREDICATE,
            node,
            f"{called} takes an attribute name first, and then constants; write {called}(x, ...)",
        )
    arguments = node.args[1:]
    try:
        content = asked.own.parse(called, [literal(each) for each in arguments])
    except ArgumentError as error:
        at = node if error.position is None else arguments[error.position]
        raise NodeError(LITERAL, at, f"{called}: {error.reason}") from None
    if content is None:
        return boxes_of(name, [call_pattern(asked, asked.own.everything, negated=False)]) if negated else []
    return boxes_of(name, [call_pattern(asked, content, negated=negated)])


def _asked(node: ast.Call) -> InstalledType:
    try:
        known = by_predicate()
    except ConstraintTypeError as error:
        raise NodeError(PREDICATE, node, str(error)) from error
    asked = known.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if asked is None:
        raise NodeError(
            PREDICATE,
            node,
            f"'{SHOWN}' cannot be called; only any, all, exists(x), x.startswith('...'), x.endswith('...')"
            f" can, and what the installed constraint types bring: {', '.join(sorted(known))}",
            node.func,
        )
    return asked
