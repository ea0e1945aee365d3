"""The conditions of a pattern: `a.id == b.id and b.price > a.price`, parsed as Python and never evaluated.

Laws:

* Values compare as in filters: a comparison with what is absent, null, or of another type is false, negated
  or not. Truth values have no order.
* Every error has the place of the smallest piece of syntax that is wrong.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from broker.errors import ConcordError
from broker.filters.errors import legible
from broker.filters.values import Value, is_number
from broker.patterns.pattern import Condition, Holds

_SIGNS: "Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]]" = {
    ast.Eq: eq,
    ast.NotEq: ne,
    ast.Lt: lt,
    ast.LtE: le,
    ast.Gt: gt,
    ast.GtE: ge,
}
_NEGATED: Final = {eq: ne, ne: eq, lt: ge, ge: lt, gt: le, le: gt}

LEVELS_LIMIT: Final = 32
"""Of and, or, not within each other: far beyond what a person reads."""

ADVICE: Final = "write comparisons like a.id == b.id, joined with and, or, not"

REASON_LENGTH: Final = 400
"""Characters of an error: what it repeats of a pattern is cut."""


class PatternError(ConcordError):
    """A text that is no pattern. `column` counts characters from 1, `reason` is what to write instead."""

    def __init__(self, column: int, reason: str) -> None:
        reason = legible(reason, REASON_LENGTH)
        super().__init__(f"column {column}: {reason}")
        self.column = column
        self.reason = reason

    def __reduce__(self) -> tuple[type["PatternError"], tuple[int, str]]:
        """Make the error survive pickling, which would otherwise call it with the message alone."""
        return (PatternError, (self.column, self.reason))


Read = tuple[str, str]
Slot = str
"""The name of an event and a path, as the tests find them: `a.id`."""


def conditions_of(text: str, column: int, names: Collection[str]) -> tuple[Condition, ...]:
    """Read conditions that hold together; the text begins at this column."""
    padded = text.replace("\n", " ").replace("\r", " ")
    start = len(padded) - len(padded.lstrip())
    try:
        tree = ast.parse(padded.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = getattr(error, "offset", None) or 1
        raise PatternError(column + start + at - 1, f"these are no conditions; {ADVICE}") from None
    reader = _ConditionReader(padded.strip(), column + start, names)
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    return tuple(map(reader.condition, parts))


class _ConditionReader:
    """Turns syntax into conditions."""

    def __init__(self, text: str, column: int, names: Collection[str]) -> None:
        self._text = text
        self._column = column
        self._names = names

    def condition(self, node: ast.expr) -> Condition:
        """Read one condition."""
        reads = tuple(dict.fromkeys(self._reads(node)))
        if not reads:
            raise self._error(node, f"this compares no event; {ADVICE}")
        match node:
            case ast.Compare(ops=[ast.Eq()], comparators=[_]):
                is_equality = (
                    len(reads) == len({name for name, _ in reads}) == len([node.left, *node.comparators])
                )
            case _:
                is_equality = False
        return Condition(reads, self._test(node, 0, negated=False), is_equality)

    def _reads(self, node: ast.expr) -> Iterator[Read]:
        for each in ast.walk(node):
            if isinstance(each, ast.Compare):
                for operand in (each.left, *each.comparators):
                    read = self._read(operand)
                    if read is not None:
                        yield read

    def _read(self, node: ast.expr) -> Read | None:
        """Return the event and the path that syntax names, None if it is a constant."""
        if isinstance(node, ast.Constant | ast.UnaryOp):
            return None
        parts: list[str] = []
        part = node
        while isinstance(part, ast.Attribute):
            parts.insert(0, part.attr)
            part = part.value
        if not isinstance(part, ast.Name) or not parts:
            raise self._error(node, f"this is no attribute of an event and no constant; {ADVICE}")
        if part.id not in self._names:
            raise self._error(node, f"no event is called {part.id!r}; there are {', '.join(self._names)}")
        return part.id, ".".join(parts)

    def _test(self, node: ast.expr, level: int, *, negated: bool) -> Holds:
        if level > LEVELS_LIMIT:
            raise self._error(node, f"more than {LEVELS_LIMIT} levels of and, or, not")
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._test(operand, level + 1, negated=not negated)
            case ast.BoolOp(op=joined, values=values):
                tests = [self._test(each, level + 1, negated=negated) for each in values]
                return _all(tests) if isinstance(joined, ast.And) != negated else _any(tests)
            case ast.Compare():
                links = zip(pairwise([node.left, *node.comparators]), node.ops, strict=True)
                tests = [self._compared(*pair, sign, negated=negated) for pair, sign in links]
                return _any(tests) if negated else _all(tests)
        raise self._error(node, f"this is no condition; {ADVICE}")

    def _compared(self, left: ast.expr, right: ast.expr, sign: ast.cmpop, *, negated: bool) -> Holds:
        compare = _SIGNS.get(type(sign))
        if compare is None:
            raise self._error(left, "events are compared by ==, !=, <, <=, > and >= alone")
        if negated:
            compare = _NEGATED[compare]
        return _comparison(self._operand(left), self._operand(right), compare)

    def _operand(self, node: ast.expr) -> Callable[[Mapping[Slot, Value]], Value]:
        read = self._read(node)
        if read is not None:
            slot = ".".join(read)
            return lambda values: values.get(slot)
        try:
            constant = ast.literal_eval(node)
        except ValueError:
            constant = None
        if not isinstance(constant, str | bool | int | float):
            raise self._error(node, "constants are texts, numbers, True and False")
        return lambda _values: constant

    def _error(self, node: ast.expr, reason: str) -> PatternError:
        offset = len(self._text.encode()[: node.col_offset].decode())
        return PatternError(self._column + offset, reason)


def _all(tests: list[Holds]) -> Holds:
    return lambda values: all(test(values) for test in tests)


def _any(tests: list[Holds]) -> Holds:
    return lambda values: any(test(values) for test in tests)


def _comparison(
    left: Callable[[Mapping[Slot, Value]], Value],
    right: Callable[[Mapping[Slot, Value]], Value],
    compare: Callable[[Any, Any], bool],
) -> Holds:
    is_equality = compare in {eq, ne}

    def holds(values: Mapping[Slot, Value]) -> bool:
        one, other = left(values), right(values)
        kind = kind_of(one)
        if kind is None or kind != kind_of(other) or (kind is bool and not is_equality):
            return False
        return bool(compare(one, other))

    return holds


def kind_of(value: Value) -> type | None:
    """Return the type by which a value is compared, None if it is not compared."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, str):
        return str
    return float if is_number(value) and value == value else None  # noqa: PLR0124 - not-a-number
