"""The filter language: a Python expression, parsed and never evaluated, becomes a canonical disjunction.

Theory of operation: a look at the text (`_scanned`) rejects what must not reach Python's parser: what comes
through has a limited size, a limited depth of brackets, names of limited length and one line. Only what that
parser would itself reject, misread or be slow about is decided there. The syntax tree is then walked once;
negation is carried down to the predicates on the way, so that a missing attribute makes a predicate false
whether negated or not. Each node yields its disjunction of boxes; `or` appends them, `and` multiplies them.

Law: no intermediate result exceeds the limit on conjunctions by more than a constant factor, so hostile
text costs time in proportion to the limits and never memory without bound.
"""

import ast
import keyword
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import Final

from attrs import Factory, define, field

from broker.filters.constraints import (
    Box,
    Constraint,
    Containing,
    ListPattern,
    OwnPattern,
    conjunction,
    intersect,
    intersection,
)
from broker.filters.disjunctions import canonical, element_condition, merged, united_alone
from broker.filters.errors import (
    CONJUNCTIONS,
    LEVELS,
    LITERAL,
    NAME,
    PARTS,
    PREDICATE,
    SIZE,
    SOURCE_LENGTH,
    STEPS,
    SYNTAX,
    UNREADABLE,
    FilterError,
    legible,
)
from broker.filters.filter import Filter, with_printable_text
from broker.filters.limits import (
    CALLS_LIMIT,
    CONDITIONS_LIMIT,
    CONJUNCTIONS_LIMIT,
    CONSTRAINT_STEPS,
    ELEMENT_LEVELS_LIMIT,
    ELEMENT_STEPS,
    EXPANDING_STEPS,
    LEVELS_LIMIT,
    NAME_LIMIT_BYTES,
    PARTS_LIMIT,
    PREDICATE_STEPS,
    READING_STEPS,
    SIZE_LIMIT_BYTES,
    OverBudgetError,
    Steps,
    shaping_steps,
)
from broker.filters.list_predicates import (
    QUANTIFIERS,
    boxes_of,
    is_call,
    quantified,
    quantifier,
)
from broker.filters.predicates import (
    comparison,
    no_condition,
    test,
    too_many_calls,
    too_many_conditions,
    too_many_parts,
)
from broker.filters.syntax import SHOWN, NodeError

MERGING_POINT = 4 * CONJUNCTIONS_LIMIT
"""While boxes are multiplied, so many may gather before they are merged to see whether they exceed the
limit."""

SHORT_NAME: Final = NAME_LIMIT_BYTES // 4
"""A name of so many characters is within its limit of bytes in any script."""

_TOKEN = re.compile(
    r"""
      (?P<formatted> (?<!\w) (?: [fF][rR]? | [rR][fF] ) (?=['"]) )
    | (?P<text> '{3} (?: [^\\] | \\. )*? '{3} | "{3} (?: [^\\] | \\. )*? "{3}
              | ' (?: [^'\\\n] | \\. )* '     | " (?: [^"\\\n] | \\. )* " )
    | (?P<number> (?<![\w.]) \d[\w]* )
    | (?P<name> [^\W\d]\w* (?: \s*\.\s* [^\W\d]\w* )* )
    | (?P<opening> [(\[{] )
    | (?P<closing> [)\]}] )
    | (?P<line> [\n\r\t\f\v] )
    | (?P<foreign> \# | && | \|\| | !(?!=) | <> | ; | (?<![=!<>:])=(?!=) )
    """,
    re.VERBOSE | re.DOTALL,
)

_LANGUAGE = frozenset(("and", "or", "not", "in", "is", "for", "True", "False", "None"))
_RESERVED = frozenset(keyword.kwlist) - _LANGUAGE

DIGITS_LIMIT = 400
"""More than the largest constant has; Python is slow to read numbers of thousands of digits."""

_INSTEAD = {
    "#": "a filter has no comments; leave it out",
    "&&": "write 'and'",
    "||": "write 'or'",
    "!": "write 'not'",
    "<>": "write '!='",
    ";": "a filter is one expression; leave it out",
    "=": "write '==' to compare",
}


def parse(text: str) -> Filter:
    """Return the filter that the text describes; raise `FilterError`, with the column, if there is none."""
    expansion = _Expansion()
    try:
        return _parsed(text, expansion)
    except FilterError as error:
        error.cost = expansion.cost
        raise
    except Exception as error:
        # An unforeseen error is an error of this text alone, and must not end the process that was sent it.
        reason = f"this cannot be read as a filter ({type(error).__name__}); write it more simply"
        raise FilterError(UNREADABLE, 1, reason, expansion.cost) from error


def cost_of_text(text: str) -> int:
    """Return the steps that reading the text takes at least.

    `Filter.cost` and `FilterError.cost` are the steps taken in all.
    """
    return READING_STEPS * min(len(text), SIZE_LIMIT_BYTES)


def _parsed(text: str, expansion: "_Expansion") -> Filter:
    expansion.linear.spent += cost_of_text(text)
    line = _scanned(text)
    indent = len(line) - len(line.lstrip(" "))
    line = line[indent:]
    try:
        tree = _tree(line, indent)
        boxes = expansion.whole(tree)
    except NodeError as error:
        column = indent + _column(line, error.node.col_offset)
        raise FilterError(error.code, column, _reason(error, line)) from None
    found = (conjunction(boxes[0]),) if len(boxes) == 1 else canonical(map(conjunction, boxes))
    return with_printable_text(found, text, expansion.cost)


def _scanned(text: str) -> str:
    """Return the text on one line, or raise `FilterError` for what must not reach Python's parser."""
    _check_size(text)
    characters = list(text)
    depth = 0
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "opening":
                depth += 1
                if depth > LEVELS_LIMIT:
                    raise FilterError(
                        LEVELS,
                        token.start() + 1,
                        f"more than {LEVELS_LIMIT} levels of brackets; write the filter flatter",
                    )
            case "closing":
                depth -= 1
            case "line":
                characters[token.start()] = " "
            case "name":
                name = token.group()
                if len(name) > SHORT_NAME or "." in name or name in _RESERVED:
                    _check_name(name, token.start() + 1)
            case "text" | "number" | "formatted" | "foreign":
                _check_token(token.lastgroup, token.group(), token.start() + 1)
    return "".join(characters)


def _check_size(text: str) -> None:
    try:
        size_bytes = len(text.encode())
    except UnicodeEncodeError as error:
        raise FilterError(
            SYNTAX, error.start + 1, "half of a surrogate pair is no character; remove it"
        ) from None
    if size_bytes > SIZE_LIMIT_BYTES:
        within = text.encode()[:SIZE_LIMIT_BYTES].decode(errors="ignore")
        raise FilterError(
            SIZE,
            len(within) + 1,
            f"the filter has {size_bytes} bytes, {SIZE_LIMIT_BYTES} are allowed; split it in several",
        )
    if not text.strip():
        raise FilterError(SYNTAX, 1, "the filter is empty; write True to match every event")
    if "\0" in text:
        raise FilterError(
            SYNTAX, text.index("\0") + 1, r"a zero character cannot stand here; write '\0' in a text"
        )


def _check_token(kind: str, token: str, column: int) -> None:
    if kind == "foreign":
        raise FilterError(SYNTAX, column, f"{token!r} is not part of the language; {_INSTEAD[token]}")
    if kind == "formatted":
        raise FilterError(LITERAL, column, "a formatted text is not allowed; write the text itself")
    if kind == "text" and "\n" in token:
        raise FilterError(LITERAL, column, r"a text must end on its line; write '\n' for a new line in it")
    if kind == "number" and len(token) > DIGITS_LIMIT:
        raise FilterError(LITERAL, column, f"a number has at most {DIGITS_LIMIT} digits; write it as 1e99")


def _check_name(token: str, column: int) -> None:
    words = token.replace(".", " ").split()
    size_bytes = len(".".join(words).encode())
    if size_bytes > NAME_LIMIT_BYTES:
        raise FilterError(
            NAME, column, f"an attribute name has at most {NAME_LIMIT_BYTES} bytes; this one has {size_bytes}"
        )
    for word in words:
        if word in _RESERVED:
            raise FilterError(
                NAME,
                column,
                f"{word!r} is a reserved word and cannot be in a name; call the attribute otherwise",
            )


def _column(line: str, offset: int) -> int:
    """Return the column of a position that counts bytes from 0."""
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
    """Return the error of Python's parser; where it names no position, the text ended too early."""
    end = len(line.rstrip()) + 1
    if not error.offset:
        return FilterError(SYNTAX, indent + end, "this is no expression: it ends too early; complete it")
    return FilterError(SYNTAX, indent + min(error.offset, end), f"this is no expression: {error.msg}")


@define
class _Expansion:
    """The walk over a tree that turns each node into its disjunction.

    What is in proportion to the text is counted and needs no limit; what multiplies alternatives has one.
    """

    linear: Steps = Factory(Steps)
    multiplying: Steps = field(factory=partial(Steps, EXPANDING_STEPS))
    _quantifiers: int = field(default=0, init=False)
    """How many of `any` and `all` the walk is in."""

    @property
    def cost(self) -> int:
        """Return the steps taken so far."""
        return self.linear.spent + self.multiplying.spent

    def whole(self, tree: ast.expr) -> list[Box]:
        """Return the disjunction that the tree means."""
        boxes = self._expanded(tree, 0, negated=False)
        if len(boxes) > 1:
            boxes = self._within_limit(tree, boxes)
            with _charged(tree):
                for box in boxes:
                    weight = sum(1 + constraint.weight for constraint in box.values())
                    self.multiplying.take(CONSTRAINT_STEPS * weight)
        return boxes

    def _expanded(self, node: ast.expr, level: int, *, negated: bool) -> list[Box]:
        """Return the disjunction that a node, or its negation, means."""
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
                return self._compared(node, negated=negated)
            case ast.Call() if is_call(node, *QUANTIFIERS):
                return self._quantified(node, level, negated=negated)
            case ast.Call() | ast.BinOp():
                self.linear.spent += PREDICATE_STEPS
                return test(node, negated=negated)
            case ast.Constant(value=True | False as truth):
                return [{}] if truth != negated else []
            case _:
                raise NodeError(PREDICATE, node, no_condition(node))

    def _compared(self, node: ast.Compare, *, negated: bool) -> list[Box]:
        self.linear.spent += PREDICATE_STEPS * len(node.ops)
        if len(node.ops) == 1:
            return comparison(node.left, node.ops[0], node.comparators[0], negated=negated)
        operands = pairwise([node.left, *node.comparators])
        links = [
            comparison(left, sign, right, negated=negated)
            for (left, right), sign in zip(operands, node.ops, strict=True)
        ]
        return self._combined(node, links, conjoined=not negated)

    def _quantified(self, node: ast.Call, level: int, *, negated: bool) -> list[Box]:
        """Read `any(...)` or `all(...)`; negated, each becomes the other one of the negated condition."""
        self.linear.spent += PREDICATE_STEPS
        name, condition = quantified(node)
        if self._quantifiers == ELEMENT_LEVELS_LIMIT:
            raise NodeError(
                LEVELS,
                node,
                f"more than {ELEMENT_LEVELS_LIMIT} levels of any and all; write the filter flatter",
            )
        self._quantifiers += 1
        boxes = self._within_limit(condition, self._expanded(condition, level, negated=negated))
        self._quantifiers -= 1
        steps = Steps(ELEMENT_STEPS)
        alternatives = element_condition(map(conjunction, boxes), steps)
        self.linear.spent += steps.spent
        wants_all = is_call(node, "all") != negated
        found = boxes_of(name, [quantifier("all" if wants_all else "any", alternatives)])
        for box in found:
            _check_parts(node, name, tuple(box.values()))
        return found

    def _combined(self, node: ast.expr, parts: Sequence[list[Box]], *, conjoined: bool) -> list[Box]:
        """Append the parts, or multiply them; single boxes first, so that contradictions end early."""
        if not conjoined:
            return self._within_limit(node, [box for part in parts for box in part])
        product = self._joint(node, parts)
        for part in parts:
            if len(part) > 1:
                product = self._multiplied(node, product, part)
        return product

    def _joint(self, node: ast.expr, parts: Sequence[list[Box]]) -> list[Box]:
        """Multiply the parts that have no alternatives, attribute by attribute."""
        sides: dict[str, list[Constraint]] = {}
        is_empty = not all(parts)
        for part in parts:
            if len(part) == 1:
                for name, constraint in part[0].items():
                    sides.setdefault(name, []).append(constraint)
                self.linear.spent += 1 + len(part[0])
        product: Box = {}
        for name, constraints in sides.items():
            joint = constraints[0] if len(constraints) == 1 else self._intersected(node, name, constraints)
            if joint is None:
                is_empty = True
            else:
                product[name] = joint
        return [] if is_empty else [product]

    def _intersected(self, node: ast.expr, name: str, constraints: list[Constraint]) -> Constraint | None:
        """Intersect in pairs and pairs of pairs: long lists are not copied for each new one."""
        _check_parts(node, name, constraints)
        while len(constraints) > 1:
            joint = [constraints[-1]] if len(constraints) % 2 else []
            for one, other in zip(constraints[::2], constraints[1::2], strict=False):
                self.linear.take(shaping_steps(one, other))
                both = intersect(one, other)
                if both is None:
                    return None
                joint.append(both)
            constraints = joint
        _check_parts(node, name, constraints)
        return constraints[0]

    def _multiplied(self, node: ast.expr, boxes: list[Box], part: list[Box]) -> list[Box]:
        product: list[Box] = []
        with _charged(node):
            factor = _merged(part, self.multiplying)
            for box in boxes:
                for other in factor:
                    for name in box.keys() & other:
                        _check_parts(node, name, (box[name], other[name]))
                    both = intersection(box, other, self.multiplying)
                    if both is not None:
                        for name in box.keys() & other:
                            _check_parts(node, name, (both[name],))
                        product.append(both)
                if len(product) > MERGING_POINT:
                    product = self._within_limit(node, product)
        return self._within_limit(node, product)

    def _within_limit(self, node: ast.expr, boxes: list[Box]) -> list[Box]:
        if len(boxes) <= CONJUNCTIONS_LIMIT:
            return boxes
        with suppress(OverBudgetError):
            boxes = _merged(boxes, self.multiplying)
        if len(boxes) > CONJUNCTIONS_LIMIT:
            raise NodeError(
                CONJUNCTIONS,
                node,
                f"written out this has more than {CONJUNCTIONS_LIMIT} alternatives;"
                " use fewer 'or' inside 'and', or subscribe in several parts",
            )
        return boxes


def _merged(boxes: list[Box], steps: Steps) -> list[Box]:
    return [dict(each) for each in merged(united_alone(map(conjunction, boxes)), steps)]


@contextmanager
def _charged(node: ast.expr) -> Iterator[None]:
    """Return an error with the position where the budget was exceeded."""
    try:
        yield
    except OverBudgetError:
        raise NodeError(
            STEPS,
            node,
            f"to write this out takes more than {EXPANDING_STEPS} steps; use fewer 'or' inside 'and', or"
            " subscribe in several parts",
        ) from None


def _check_parts(node: ast.expr, name: str, constraints: Sequence[Constraint]) -> None:
    """Refuse too many calls, or parts of a text or list: all are compared in pairs."""
    calls = [each for each in constraints if isinstance(each, OwnPattern)]
    if calls:
        count = sum(each.contents_count for each in calls)
        if count > CALLS_LIMIT:
            raise NodeError(PARTS, node, too_many_calls(name, count))
        constraints = [each.beside if isinstance(each, OwnPattern) else each for each in constraints]
    if any(isinstance(each, ListPattern) for each in constraints):
        lists = [each.as_list if isinstance(each, Containing) else each for each in constraints]
        count = sum(each.parts for each in lists)
        if count > CONDITIONS_LIMIT:
            raise NodeError(PARTS, node, too_many_conditions(name, count))
        return
    count = sum(each.parts for each in constraints)
    if count > PARTS_LIMIT:
        raise NodeError(PARTS, node, too_many_parts(name, count))
