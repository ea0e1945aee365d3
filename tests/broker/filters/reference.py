"""Filters evaluated straight from the syntax tree, and everything a small world of events can show.

Law: for constants from this module, two filters without suffixes and substrings that differ at all differ
on one of `WORLD`'s values. Numbers: the constants and one number on each side of each. Texts: every place
where an interval made of the constants can begin. So brute force over `EVENTS` decides covering and
overlapping exactly.
"""

import ast
import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product
from typing import Any

from hypothesis import strategies as st

from broker.filters.constraints import Value
from broker.filters.intervals import after_prefix
from broker.filters.values import MISSING

Event = Mapping[str, Value]

NAMES = ("x", "y")
NUMBERS = (0, 1, 2, 1.0, -1)
TEXTS = ("", "a", "ab", "b", "aa", "a\0")
NAN = math.nan
NUMBERS_SEEN = (-math.inf, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, NAN)
CUTS = sorted({"", *TEXTS, *(text + "\0" for text in TEXTS), *(after_prefix(text) or "" for text in TEXTS)})
WORDS = ("aba", "bab", "abab", "ba", "bb")
VALUES: tuple[Value, ...] = (*NUMBERS_SEEN, *CUTS, *WORDS, True, False)

_COMPARE = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_NAMED = {"startswith": str.startswith, "endswith": str.endswith}


def events(values: Iterable[Value], names: Iterable[str] = NAMES) -> Iterator[dict[str, Value]]:
    """Return every event over the names with those values, an attribute left out included."""
    sides = [[(name, value) for value in values] + [None] for name in names]
    for chosen in product(*sides):
        yield dict(item for item in chosen if item is not None)


def holds(text: str, event: Event) -> bool:
    """Evaluate a filter as the language is described, without any of the product's code."""
    return _holds(ast.parse(text, mode="eval").body, event, negated=False)


def _holds(node: ast.expr, event: Event, *, negated: bool) -> bool:  # noqa: PLR0911 - a case, a return
    match node:
        case ast.UnaryOp(op=ast.Not()):
            return _holds(node.operand, event, negated=not negated)
        case ast.BoolOp():
            every = isinstance(node.op, ast.And) != negated
            verdicts = [_holds(value, event, negated=negated) for value in node.values]
            return all(verdicts) if every else any(verdicts)
        case ast.Constant():
            return bool(node.value) != negated
        case ast.Compare():
            links = zip(pairwise([node.left, *node.comparators]), node.ops, strict=True)
            verdicts = [_link(left, sign, right, event, negated=negated) for (left, right), sign in links]
            return any(verdicts) if negated else all(verdicts)
        case ast.Call(func=ast.Name(id="any" | "all")):
            return _quantified(node, event, negated=negated)
        case ast.Call():
            return _called(node, event, negated=negated)
        case ast.BinOp():
            found = _value(event, _name(node.left) or "")
            constants = ast.literal_eval(node.right)
            return isinstance(found, list) and any(_has(found, each) for each in constants) != negated
    raise AssertionError(ast.dump(node))


def _quantified(node: ast.Call, event: Event, *, negated: bool) -> bool:
    elements = node.args[0]
    assert isinstance(elements, ast.GeneratorExp)
    assert isinstance(node.func, ast.Name)
    found = _value(event, _name(elements.generators[0].iter) or "")
    if not isinstance(found, list):
        return False
    variable = ast.unparse(elements.generators[0].target)
    verdicts = [_holds(elements.elt, {variable: each}, negated=negated) for each in found]
    return all(verdicts) if (node.func.id == "all") != negated else any(verdicts)


def _value(event: Event, path: str) -> Value:
    """Return the value of a path, `MISSING` if there is none; the longest key counts."""
    keys = path.split(".")
    for count in range(len(keys), 0, -1):
        inside = event.get(".".join(keys[:count]), MISSING)
        if inside is not MISSING and count < len(keys):
            inside = _value(inside, ".".join(keys[count:])) if isinstance(inside, dict) else MISSING
        if inside is not MISSING:
            return inside
    return MISSING


def _has(elements: list[Value], constant: Value) -> bool:
    return any(_type(each) == _type(constant) and each == constant for each in elements)


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, str):
        return "text"
    is_number = isinstance(value, int | float) and value == value  # noqa: PLR0124 - not-a-number
    return "number" if is_number else "nothing"


def _link(  # noqa: PLR0911 - likewise
    left: ast.expr, sign: ast.cmpop, right: ast.expr, event: Event, *, negated: bool
) -> bool:
    if ast.Set in {type(left), type(right)} and not isinstance(sign, ast.In | ast.NotIn):
        return _subset(left, sign, right, event, negated=negated)
    if ast.Call in {type(left), type(right)}:
        return _length(left, sign, right, event, negated=negated)
    name_left = _name(left)
    value = _value(event, name_left or _name(right) or "")
    if isinstance(sign, ast.Is | ast.IsNot):
        return value is not MISSING and (value is None) != (negated != isinstance(sign, ast.IsNot))
    if isinstance(sign, ast.In | ast.NotIn):
        negated = negated != isinstance(sign, ast.NotIn)
        if name_left is None:
            part = ast.literal_eval(left)
            if isinstance(value, list):
                return _has(value, part) != negated
            return isinstance(value, str) and isinstance(part, str) and (part in value) != negated
        alike = [each for each in ast.literal_eval(right) if _type(each) == _type(value)]
        return bool(alike) and (value in alike) != negated
    constant = ast.literal_eval(right if name_left is not None else left)
    if _type(constant) != _type(value):
        return False
    sides = (value, constant) if name_left is not None else (constant, value)
    return bool(_COMPARE[type(sign)](*sides)) != negated


def _subset(left: ast.expr, sign: ast.cmpop, right: ast.expr, event: Event, *, negated: bool) -> bool:
    assert isinstance(sign, ast.LtE)
    found = _value(event, _name(left) or _name(right) or "")
    constants = ast.literal_eval(left if isinstance(left, ast.Set) else right)
    if not isinstance(found, list):
        return False
    if isinstance(left, ast.Set):
        return all(_has(found, each) for each in constants) != negated
    if not negated:
        return all(any(_has([each], one) for one in constants) for each in found)
    types = {_type(each) for each in constants}
    return any(_type(each) in types and not any(_has([each], one) for one in constants) for each in found)


def _length(left: ast.expr, sign: ast.cmpop, right: ast.expr, event: Event, *, negated: bool) -> bool:
    sides: list[Any] = []
    for side in (left, right):
        found = (
            _value(event, _name(side.args[0]) or "") if isinstance(side, ast.Call) else ast.literal_eval(side)
        )
        if isinstance(side, ast.Call) and not isinstance(found, list):
            return False
        sides.append(len(found) if isinstance(found, list) else found)
    return bool(_COMPARE[type(sign)](*sides)) != negated


def _called(node: ast.Call, event: Event, *, negated: bool) -> bool:
    if isinstance(node.func, ast.Attribute):
        value = _value(event, _name(node.func.value) or "")
        affix = ast.literal_eval(node.args[0])
        return isinstance(value, str) and _NAMED[node.func.attr](value, affix) != negated
    return not negated and _value(event, _name(node.args[0]) or "") is not MISSING


def _name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node)
    return None


def _listed(literals: list[str]) -> str:
    return f"({', '.join(literals)},)" if literals else "()"


def predicates(
    names: Iterable[str] = NAMES, *, types: str = "number text truth", affixes: bool = False
) -> st.SearchStrategy[str]:
    """Draw single predicates; `affixes` adds the ones that are not compared exactly."""
    name = st.sampled_from(sorted(names))
    number, text = st.sampled_from([*map(repr, NUMBERS)]), st.sampled_from([*map(repr, TEXTS)])
    truth = st.sampled_from(["True", "False"])
    ordered = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    kinds = {"number": number, "text": text, "truth": truth}
    present = [kinds[each] for each in types.split()]
    any_literal = st.one_of(present)
    sets = st.lists(any_literal, max_size=3).map(_listed)
    drawn = [
        st.builds("exists({})".format, name),
        st.builds("{} {} {}".format, name, st.sampled_from(["in", "not in"]), sets),
        st.builds("{} {} {}".format, any_literal, st.sampled_from(["==", "!="]), name),
        *(
            st.builds(pattern.format, literal, ordered, name, ordered)
            for literal in present
            if literal is not truth
            for pattern in ("{0} {1} {2}", "{2} {1} {0}", "{2} {3} {0}")
        ),
    ]
    if "text" in types:
        some = st.one_of(text, st.lists(text, min_size=1, max_size=2).map(_listed))
        drawn.append(st.builds("{}.startswith({})".format, name, some))
        if affixes:
            drawn.append(st.builds("{}.endswith({})".format, name, some))
            drawn.append(st.builds("{} {} {}".format, text, st.sampled_from(["in", "not in"]), name))
    return st.one_of(drawn)


def filters(leaves: st.SearchStrategy[str], size: int = 6) -> st.SearchStrategy[str]:
    """Draw expressions of those predicates."""
    constants = st.sampled_from(["True", "False"])
    return st.recursive(
        st.one_of(leaves, leaves, leaves, constants),
        lambda inner: st.one_of(
            inner.map("not ({})".format),
            st.builds("({}) and ({})".format, inner, inner),
            st.builds("({}) or ({})".format, inner, inner),
        ),
        max_leaves=size,
    )
