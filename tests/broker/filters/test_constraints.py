"""The tables of covering, overlapping and merging from the literature, row by row, on small domains."""

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given

from broker.filters import disjunctions, parse
from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Containing,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
    intersect,
    overlaps,
)
from broker.filters.disjunctions import unite
from broker.filters.readers import reader
from tests.broker.filters.reference import VALUES, predicates

NUMBERS = range(4)
SETS = [(0,), (1,), (0, 1), (1, 2), (0, 1, 2)]
INTERVALS = [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]
TEXTS = ["", "a", "b", "ab", "ba", "aa", "aba", "bab"]

Condition = Callable[..., bool]

COVERING: dict[tuple[str, str], tuple[list[object], Condition]] = {
    ("exists(x)", "x != {1}"): (list(NUMBERS), lambda _a, _b: True),
    ("x != {0}", "x < {1}"): (list(NUMBERS), lambda a, b: a >= b),
    ("x != {0}", "x <= {1}"): (list(NUMBERS), lambda a, b: a > b),
    ("x != {0}", "x == {1}"): (list(NUMBERS), lambda a, b: a != b),
    ("x != {0}", "x >= {1}"): (list(NUMBERS), lambda a, b: a < b),
    ("x != {0}", "x > {1}"): (list(NUMBERS), lambda a, b: a <= b),
    ("x != {0}", "x != {1}"): (list(NUMBERS), lambda a, b: a == b),
    ("x == {0}", "x == {1}"): (list(NUMBERS), lambda a, b: a == b),
    ("x > {0}", "x == {1}"): (list(NUMBERS), lambda a, b: a < b),
    ("x > {0}", "x > {1}"): (list(NUMBERS), lambda a, b: a <= b),
    ("x > {0}", "x >= {1}"): (list(NUMBERS), lambda a, b: a < b),
    ("x >= {0}", "x == {1}"): (list(NUMBERS), lambda a, b: a <= b),
    ("x >= {0}", "x >= {1}"): (list(NUMBERS), lambda a, b: a <= b),
    ("x >= {0}", "x > {1}"): (list(NUMBERS), lambda a, b: a <= b),
    ("x < {0}", "x == {1}"): (list(NUMBERS), lambda a, b: a > b),
    ("x < {0}", "x <= {1}"): (list(NUMBERS), lambda a, b: a > b),
    ("x < {0}", "x < {1}"): (list(NUMBERS), lambda a, b: a >= b),
    ("x <= {0}", "x == {1}"): (list(NUMBERS), lambda a, b: a >= b),
    ("x <= {0}", "x <= {1}"): (list(NUMBERS), lambda a, b: a >= b),
    ("x <= {0}", "x < {1}"): (list(NUMBERS), lambda a, b: a >= b),
    ("x in {0}", "x in {1}"): (list(SETS), lambda a, b: set(a) >= set(b)),
    ("x not in {0}", "x not in {1}"): (list(SETS), lambda a, b: set(a) <= set(b)),
    ("{0[0]} <= x <= {0[1]}", "{1[0]} <= x <= {1[1]}"): (
        list(INTERVALS),
        lambda a, b: a[0] <= b[0] and b[1] <= a[1],
    ),
    ("not ({0[0]} <= x <= {0[1]})", "not ({1[0]} <= x <= {1[1]})"): (
        list(INTERVALS),
        lambda a, b: b[0] <= a[0] and a[1] <= b[1],
    ),
    ("x == {0!r}", "x == {1!r}"): (list(TEXTS), lambda a, b: a == b),
    ("x != {0!r}", "x == {1!r}"): (list(TEXTS), lambda a, b: a != b),
    ("x.startswith({0!r})", "x.startswith({1!r})"): (list(TEXTS), lambda a, b: b.startswith(a)),
    ("x.endswith({0!r})", "x.endswith({1!r})"): (list(TEXTS), lambda a, b: b.endswith(a)),
    ("{0!r} in x", "{1!r} in x"): (list(TEXTS), lambda a, b: a == b),
    ("{0!r} in x", "{1!r} in x and x >= ''"): (list(TEXTS), lambda a, b: a in b),
    ("{0!r} in x", "x.startswith({1!r})"): (list(TEXTS), lambda a, b: a in b),
    ("{0!r} in x", "x.endswith({1!r})"): (list(TEXTS), lambda a, b: a in b),
    ("{0!r} not in x", "{1!r} not in x"): (list(TEXTS), lambda a, b: a == b),
    ("{0!r} not in x", "{1!r} not in x and x >= ''"): (list(TEXTS), lambda a, b: b in a),
    ("not x.startswith({0!r})", "not x.startswith({1!r})"): (
        list(TEXTS),
        lambda a, b: a.startswith(b),
    ),
    ("not x.endswith({0!r})", "not x.endswith({1!r})"): (list(TEXTS), lambda a, b: a.endswith(b)),
    ("x.startswith({0!r})", "x == {1!r}"): (list(TEXTS), lambda a, b: b.startswith(a)),
    ("x >= {0!r}", "x >= {1!r}"): (list(TEXTS), lambda a, b: a <= b),
    ("x < {0!r}", "x < {1!r}"): (list(TEXTS), lambda a, b: a >= b),
}


@pytest.mark.parametrize("row", COVERING)
def test_covering_holds_exactly_under_the_condition_of_the_table(row: tuple[str, str]) -> None:
    constants, condition = COVERING[row]
    for first, second in product(constants, repeat=2):
        one, other = (parse(each.format(first, second)) for each in row)
        # What nothing satisfies is covered by everything.
        expected = condition(first, second) or not other.conjunctions
        assert one.covers(other) == expected, (str(one), str(other))


OVERLAPPING: dict[tuple[str, str], tuple[list[str], Condition]] = {
    ("x.startswith({0!r})", "x.startswith({1!r})"): (
        TEXTS,
        lambda a, b: a.startswith(b) or b.startswith(a),
    ),
    ("x.endswith({0!r})", "x.endswith({1!r})"): (TEXTS, lambda a, b: a.endswith(b) or b.endswith(a)),
    ("x.startswith({0!r})", "x.endswith({1!r})"): (TEXTS, lambda _a, _b: True),
    ("x.startswith({0!r})", "{1!r} in x"): (TEXTS, lambda _a, _b: True),
    ("x.endswith({0!r})", "{1!r} in x"): (TEXTS, lambda _a, _b: True),
    ("{0!r} in x", "{1!r} in x"): (TEXTS, lambda _a, _b: True),
    ("x != {0!r}", "x != {1!r}"): (TEXTS, lambda _a, _b: True),
    ("{0!r} in x", "{1!r} not in x"): (TEXTS, lambda a, b: a != b),
    ("{0!r} in x and x >= ''", "{1!r} not in x"): (TEXTS, lambda a, b: b not in a),
    ("x.startswith({0!r})", "not x.startswith({1!r})"): (TEXTS, lambda a, b: not a.startswith(b)),
    ("x.endswith({0!r})", "not x.endswith({1!r})"): (TEXTS, lambda a, b: not a.endswith(b)),
    ("x < {0!r}", "x.startswith({1!r})"): (TEXTS, lambda a, b: b < a),
}


@pytest.mark.parametrize("row", OVERLAPPING)
def test_overlapping_holds_exactly_under_the_condition_of_the_table(row: tuple[str, str]) -> None:
    constants, condition = OVERLAPPING[row]
    for first, second in product(constants, repeat=2):
        one, other = (parse(each.format(first, second)) for each in row)
        assert one.overlaps(other) == other.overlaps(one)
        assert one.overlaps(other) == condition(first, second), (str(one), str(other))


MERGING = [
    ("x in (1, 2) or x in (2, 3)", "x in (1, 2, 3)"),
    ("x == 'a' or x in ('b', 'c')", "x in ('a', 'b', 'c')"),
    ("x not in (1, 2) or x not in (2, 3)", "x != 2"),
    ("x not in ('a', 'b') or x not in ('b', 'c')", "x != 'b'"),
    ("x not in (1, 2) or x not in (3, 4)", "(x < 0 or x >= 0)"),
    ("x not in ('a', 'b') or x not in ('c', 'd')", "x >= ''"),
    ("x == 1 or x != 1", "(x < 0 or x >= 0)"),
    ("x == 'a' or x != 'a'", "x >= ''"),
    ("x == True or x == False", "x in (False, True)"),
    ("x < 5 or x > 3", "(x < 0 or x >= 0)"),
    ("x < 5 or x >= 5", "(x < 0 or x >= 0)"),
    ("x <= 5 or x > 5", "(x < 0 or x >= 0)"),
    ("x < 5 or x > 5", "x != 5"),
    ("x < 'b' or x > 'b'", "x != 'b'"),
    ("x < 'b' or x >= 'b'", "x >= ''"),
    ("x < 'b' or x == 'b'", "x <= 'b'"),
    ("x > 'b' or x == 'b'", "x >= 'b'"),
    ("0 <= x <= 5 or 5 < x <= 10", "0 <= x <= 10"),
    ("0 <= x < 5 or 5 < x <= 10", "0 <= x <= 10 and x != 5"),
    ("0 < x < 5 or x in (0, 5, 7)", "x == 7 or 0 <= x <= 5"),
    ("x < 3 or x > 5", "x < 3 or x > 5"),
    ("'a' <= x < 'b' or 'ab' <= x <= 'c'", "'ab' <= x <= 'c' or x.startswith('a')"),
    ("'a' < x < 'c' or 'b' < x < 'd'", "'a' < x < 'd'"),
    ("x.startswith('a') or x.startswith('b')", "x.startswith('a') or x.startswith('b')"),
    ("x.startswith('a') or x.startswith('ab')", "x.startswith('a')"),
    ("x.startswith('a') or x in ('ab', 'b')", "x == 'b' or x.startswith('a')"),
    ("exists(x) or x == 1 or x == 'a'", "exists(x)"),
    ("y == 1 and x == 1 or x == 2 and y == 1", "x in (1, 2) and y == 1"),
    ("y == 1 and x < 1 or y == 1 and x >= 1 or y == 1", "y == 1"),
    ("x == 1 and y == 1 or x == 1 and y == 2 or x == 2 and y in (1, 2)", "x in (1, 2) and y in (1, 2)"),
    ("x > 1 and y > 1 or x > 2 and y > 2", "x > 1 and y > 1"),
    ("x == 1 or True", "True"),
]


@pytest.mark.parametrize(("source", "canonical"), MERGING)
def test_a_disjunction_is_merged_into_its_canonical_form(source: str, canonical: str) -> None:
    assert str(parse(source)) == canonical
    assert parse(canonical) == parse(source)


NORMALISING = [
    ("x >= 1 and x <= 1", "x == 1"),
    ("x >= 1 and x != 1", "x > 1"),
    ("1 <= x <= 3 and x not in (1, 3, 9)", "1 < x < 3"),
    ("x > 1 and x < 1", "False"),
    ("x == 1 and x == 'a'", "False"),
    ("x in (1, 2, 3) and x > 1 and x != 2", "x == 3"),
    ("x > 1 and x > 2 and exists(x)", "x > 2"),
    ("x == 1.0", "x == 1"),
    ("x == -0.0", "x == 0"),
    ("x == 100000000000000000000", "x == 1e+20"),
    ("x >= '' and x < 'b'", "x < 'b'"),
    ("'a' <= x < 'b'", "x.startswith('a')"),
    ("'abc' <= x <= 'abf'", "'abc' <= x <= 'abf'"),
    ("x.startswith('ab') and 'aa' <= x <= 'az'", "x.startswith('ab')"),
    ("x.startswith('ab') and x > 'abc'", "x > 'abc' and x.startswith('ab')"),
    ("x.startswith('a') and x.startswith('ab') and 'b' in x", "x.startswith('ab')"),
    ("x.startswith('a') and x.startswith('b')", "False"),
    ("x.endswith('a') and x.endswith('b')", "False"),
    ("x.endswith('!') and x.endswith('?!')", "x.endswith('?!')"),
    ("'a' in x and 'bab' in x", "'a' in x and 'bab' in x"),
    ("x >= '' and 'a' in x and 'bab' in x", "'bab' in x and x >= ''"),
    ("x >= '' and 'a' not in x and 'bab' not in x", "'a' not in x and x >= ''"),
    ("'a' not in x and x.startswith('ba')", "False"),
    (
        "x.startswith('a') and not x.startswith(('ab', 'abc', 'b'))",
        "x.startswith('a') and not x.startswith('ab')",
    ),
    ("x >= 'ab' and not x.startswith('ab')", "x >= 'ac'"),
    ("x <= 'b' and not x.startswith('a') and x != 'b'", "x < 'a'"),
    ("x >= 'a' and x <= 'a\\0'", "x in ('a', 'a\\x00')"),
    ("x >= 'a' and x != 'a'", "x > 'a'"),
    ("x.endswith('b') and x not in ('a', 'ab')", "x.endswith('b') and x != 'ab'"),
    ("x.endswith('b') and not x.endswith('a')", "x.endswith('b')"),
    ("x >= '' and '' in x", "x >= ''"),
    ("x >= '' and '' not in x", "False"),
    ("not x.startswith('')", "False"),
    ("x.startswith('\U0010ffff')", "x.startswith('\U0010ffff')"),
    ("x >= '\U0010ffff'", "x.startswith('\U0010ffff')"),
    ("x in (True, False) and x != True", "x == False"),
]


@pytest.mark.parametrize(("source", "canonical"), NORMALISING)
def test_predicates_on_one_attribute_become_one_constraint(source: str, canonical: str) -> None:
    canonical = canonical.replace("\U0010ffff", "\\U0010ffff")
    assert str(parse(source)) == canonical
    assert parse(canonical) == parse(source)


def test_union_of_three_covers_what_none_covers_alone() -> None:
    wide = parse("0 <= x <= 10 and y > 0")
    parts = parse("0 <= x < 4 and y > 0 or 3 <= x <= 10 and 0 < y <= 5 or x > 2 and y > 4")
    assert parts.covers(wide)
    assert not parts.covers(parse("0 <= x <= 10 and y >= 0"))
    assert not parse("0 <= x < 4 and y > 0 or x > 4 and y > 0").covers(wide)


def test_a_union_covers_nothing_that_leaves_its_attribute_out() -> None:
    every_number_and_text = parse("x < 0 or x >= 0 or x >= '' or x in (True, False)")
    assert not every_number_and_text.covers(parse("exists(x)"))
    assert not every_number_and_text.covers(parse("y == 1"))
    assert parse("exists(x)").covers(every_number_and_text)


# Five rectangles that tile a square like a pinwheel: no two can be merged, and none can be left out.
PINWHEEL = [
    "0 <= x < 2 and 0 <= y < 1",
    "2 <= x <= 3 and 0 <= y < 2",
    "1 <= x <= 3 and 2 <= y <= 3",
    "0 <= x < 1 and 1 <= y <= 3",
    "1 <= x < 2 and 1 <= y < 2",
]
SQUARE = "0 <= x <= 3 and 0 <= y <= 3"


def test_a_square_is_covered_by_its_tiles_but_by_no_four_of_them() -> None:
    assert parse(" or ".join(PINWHEEL)).covers(parse(SQUARE))
    for left_out in PINWHEEL:
        assert not parse(" or ".join(tile for tile in PINWHEEL if tile != left_out)).covers(parse(SQUARE))


def test_where_cutting_costs_too_much_nothing_counts_as_covering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disjunctions, "COMPARING_STEPS", 400)
    assert not parse(" or ".join(PINWHEEL)).covers(parse(SQUARE))


def _constraints(text: str) -> list[Constraint]:
    return [constraint for each in parse(text).conjunctions for _, constraint in each]


@given(predicates(["x"], affixes=True), predicates(["x"], affixes=True))
def test_operations_on_constraints_agree_with_their_values(left: str, right: str) -> None:
    for one, other in product(_constraints(left), _constraints(right)):
        both, union = intersect(one, other), unite([one, other])
        for value in VALUES:
            in_both = one.accepts(value) and other.accepts(value)
            assert (both is not None and both.accepts(value)) == in_both
            assert any(each.accepts(value) for each in union) == (one.accepts(value) or other.accepts(value))
        assert overlaps(one, other) == (both is not None)
        assert unite(union) == union


@given(predicates(["x"], affixes=True))
def test_a_complement_is_the_other_values_of_the_type(text: str) -> None:
    for constraint in _constraints(text):
        complement = constraint.complement()
        for value in VALUES:
            alike = type(constraint) is not AnyValue and _type(value) is _type_of(constraint)
            outside = any(each.accepts(value) for each in complement)
            assert outside == (alike and not constraint.accepts(value)), value


def _type(value: object) -> type | None:
    if value != value:  # noqa: PLR0124 - not-a-number
        return None
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def _type_of(constraint: Constraint) -> type:
    match constraint:
        case NumberSet() | NumberRange():
            return float
        case TextSet() | TextPattern() | Containing():
            return str
        case Truths():
            return bool
    return object


@given(predicates(["x"], affixes=True))
def test_readers_agree_with_accepts(text: str) -> None:
    for constraint in _constraints(text):
        read = reader("x", constraint)
        assert not read({})
        for value in VALUES:
            assert read({"x": value}) == constraint.accepts(value)
