"""Filters of a class: what is asked of its objects, checked against its fields.

Law: a filter that names a field which the class does not have is an error with the column, where the filter
is read: it could match only objects of classes below.
"""

import ast
from collections.abc import Mapping
from typing import Final

from broker.filters import Filter, FilterError, parse
from broker.filters.errors import NAME
from broker.objects.classes import TYPES, EventClass
from broker.objects.registry import REGISTRY
from broker.objects.shapes import Shape

METHODS: Final = frozenset({"startswith", "endswith"})
"""Predicates that are written behind what they are about."""

_SPACES: Final = str.maketrans(dict.fromkeys("\n\r\t\f\v", " "))


def filter_of(kind: type, where: str = "") -> Filter:
    """Return the filter of the objects of a class, and of those below it, for which `where` is so.

    Raises:
        EventTypeError: the class is not registered.
        FilterError: `where` cannot be read, or names a field that the class does not have.
    """
    return _joined(kind, f"{REGISTRY.type_of(kind).tag!r} in {TYPES}", where)


def promise_of(kind: type, where: str = "") -> Filter:
    """Return the filter for advertising a class: that of a `typing.final` one rules other classes out.

    Raises:
        EventTypeError: the class is not registered.
        FilterError: as `filter_of` does.
    """
    if not getattr(kind, "__final__", False):
        return filter_of(kind, where)
    tag, names = REGISTRY.type_of(kind).tag, REGISTRY.names_of(kind)
    return _joined(kind, f"{tag!r} in {TYPES} and all(each in {names} for each in {TYPES})", where)


def _joined(kind: type, own: str, where: str) -> Filter:
    if not where:
        return parse(own)
    parse(where)
    _check(where, REGISTRY.class_of(kind))
    return parse(f"{own} and ({where})")


def _check(where: str, owner: EventClass) -> None:
    """Raise `FilterError` at the first field that the class does not have; the text is a filter."""
    text = where.translate(_SPACES)
    indent = len(text) - len(text.lstrip(" "))
    line = text[indent:]
    for node, reason in _Looking(owner).unknown(ast.parse(line, mode="eval").body, {}):
        column = indent + len(line.encode()[: node.col_offset].decode()) + 1
        raise FilterError(NAME, column, reason)


class _Looking:
    """Looks for fields that a class does not have."""

    def __init__(self, owner: EventClass) -> None:
        self._owner = owner

    def unknown(self, node: ast.AST, scope: Mapping[str, Shape | None]) -> list[tuple[ast.expr, str]]:
        """Return the places of unknown fields with the reasons; `scope` has the shapes of elements."""
        match node:
            case ast.Name() | ast.Attribute():
                return self._path(node, scope)[1]
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in METHODS:
                return self._path(value, scope)[1]
            case ast.Call(args=arguments):
                return [each for argument in arguments for each in self.unknown(argument, scope)]
            case ast.GeneratorExp(elt=condition, generators=[loop]):
                shape, wrong = self._path(loop.iter, scope)
                name = loop.target.id if isinstance(loop.target, ast.Name) else ""
                element = None if shape is None else shape.element
                return wrong + self.unknown(condition, {**scope, name: element})
        return [each for child in ast.iter_child_nodes(node) for each in self.unknown(child, scope)]

    def _path(
        self, node: ast.expr, scope: Mapping[str, Shape | None]
    ) -> tuple[Shape | None, list[tuple[ast.expr, str]]]:
        """Return the shape of a path, if it is known, and what is unknown in it."""
        if isinstance(node, ast.Attribute):
            shape, wrong = self._path(node.value, scope)
            if shape is None or (found := shape.field(node.attr)) is not None:
                return None if shape is None else found, wrong
            return None, [(node, f"{ast.unparse(node.value)} has no field {node.attr!r}{_there_are(shape)}")]
        if not isinstance(node, ast.Name):
            return None, self.unknown(node, scope)
        if node.id in scope or node.id == TYPES:
            return scope.get(node.id), []
        found = self._owner.field(node.id)
        return found, [] if found is not None else [
            (node, f"{self._owner.name} has no field {node.id!r}{_there_are(self._owner)}")
        ]


def _there_are(shape: Shape) -> str:
    return f"; it has {', '.join(shape.fields)}" if isinstance(shape, EventClass) else ""
