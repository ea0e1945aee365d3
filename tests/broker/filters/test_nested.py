"""Lists, maps and null: what filters say of them, all pairs of operators against brute force."""

from collections.abc import Iterator
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.filters import FilterError, parse
from broker.filters.constraints import Value
from broker.filters.errors import LEVELS, LITERAL, NAME, PARTS, PREDICATE
from broker.matching import MatchingIndex
from broker.routing.covering import witness
from tests.broker.filters.reference import NAN, filters, holds, predicates

MAPS: list[Value] = [{"s": "a", "q": 1}, {"s": "a", "q": 2}, {"s": "b", "q": 2}, {"s": "a"}, {"q": 1}]
ELEMENTS: tuple[Value, ...] = ("a", "b", "ab", 1, 2, None, *MAPS, "c", 0, ["a"])
SCALARS: tuple[Value, ...] = ("", "a", "ab", "aab", "ba", 1, 2.5, True, NAN, None, {"s": "a"})
LISTS: tuple[list[Value], ...] = tuple(
    list(each)
    for count, few in ((0, 0), (1, None), (2, None), (3, 7))
    for each in product(ELEMENTS[:few], repeat=count)
)
WORLD: tuple[dict[str, Value], ...] = ({}, *({"x": each} for each in (*SCALARS, *LISTS)))

CONDITIONS = (
    *("i == 'a'", "i != 'a'", "i > 1", "i in (1, 'a')", "i is None", "i is not None", "exists(i)"),
    *("i.s == 'a'", "i.s == 'a' and i.q >= 1", "i.q < 2", "exists(i.q)", "i == 'a' or i.s == 'a'", "True"),
)
OPERATORS = (
    *("'a' in x", "'a' not in x", "1 in x", "1 not in x", "'b' in x", "'ab' in x"),
    *("x & {'a', 'b'}", "not x & {'a', 'b'}", "x & {1, 'a'}", "{'a', 'b'} <= x", "not {'a', 'b'} <= x"),
    *("x <= {'a', 'b'}", "not x <= {'a', 'b'}"),
    *("len(x) > 1", "len(x) <= 1", "len(x) == 2", "len(x) != 2", "len(x) == 0", "1 <= len(x) < 3"),
    *("x is None", "x is not None", "exists(x)", "x == 'a'", "x > 1", "x.startswith('a')", "x in (1, 'a')"),
    *(f"any({each} for i in x)" for each in CONDITIONS),
    *(f"all({each} for i in x)" for each in CONDITIONS),
    *(f"not any({each} for i in x)" for each in CONDITIONS[:5]),
)


@pytest.mark.parametrize("text", OPERATORS)
def test_an_operator_means_what_the_language_says(text: str) -> None:
    wanted = parse(text)
    negated = parse(f"not ({text})")
    for event in WORLD:
        assert wanted.match(event) == holds(text, event), event
        assert negated.match(event) == holds(f"not ({text})", event), event


MATCHED = {text: sum(1 << at for at, event in enumerate(WORLD) if holds(text, event)) for text in OPERATORS}


def pairs() -> Iterator[tuple[str, str]]:
    return product(OPERATORS, OPERATORS)


def test_covers_and_overlaps_are_exact_for_every_pair_of_operators() -> None:
    parsed = {text: parse(text) for text in OPERATORS}
    for one, other in pairs():
        assert parsed[one].covers(parsed[other]) == (not MATCHED[other] & ~MATCHED[one]), (one, other)
        assert parsed[one].overlaps(parsed[other]) == bool(MATCHED[one] & MATCHED[other]), (one, other)


def test_a_union_of_two_operators_matches_what_either_does() -> None:
    parsed = {text: parse(text) for text in OPERATORS}
    for one, other in combinations(OPERATORS, 2):
        union = parsed[one].merge(parsed[other])
        assert union == parsed[other].merge(parsed[one])
        assert parse(str(union)) == union
        assert union.covers(parsed[one]), (one, other)
        matched = MATCHED[one] | MATCHED[other]
        for at in range(0, len(WORLD), 5):
            assert union.match(WORLD[at]) == bool(matched >> at & 1), (one, other, WORLD[at])


JOINED = filters(st.one_of(st.sampled_from(OPERATORS), predicates(["x"], affixes=True)), 4)


@settings(deadline=None)
@given(JOINED, JOINED)
def test_what_is_joined_errs_on_the_safe_side_alone(left: str, right: str) -> None:
    one, other = parse(left), parse(right)
    matched = [(one.match(event), other.match(event)) for event in WORLD]
    assert matched[::5] == [(holds(left, event), holds(right, event)) for event in WORLD[::5]]
    if one.covers(other):
        assert all(first or not second for first, second in matched)
    if not one.overlaps(other):
        assert not any(first and second for first, second in matched)
    union = one.merge(other)
    assert [union.match(event) for event in WORLD] == [first or second for first, second in matched]
    for each in (one, other, union):
        assert parse(str(each)) == each
        assert all(bool(each.failing(event)) != each.match(event) for event in WORLD[::7])
        event = witness(each)
        assert event is None or each.match(event)


@settings(deadline=None)
@given(st.lists(JOINED, min_size=1, max_size=40))
def test_the_index_finds_what_matches(texts: list[str]) -> None:
    index: MatchingIndex[int] = MatchingIndex()
    several = [parse(text) for text in texts]
    for key, each in enumerate(several):
        index.add(key, each)
    for event in WORLD[::3]:
        assert sorted(index.match(event)) == [key for key, each in enumerate(several) if each.match(event)]
    for key in range(len(several)):
        index.remove(key)
    assert not index._root


PATHS: list[tuple[str, dict[str, Value], bool]] = [
    ("order.customer.country == 'DE'", {"order": {"customer": {"country": "DE"}}}, True),
    ("order.customer.country == 'DE'", {"order.customer": {"country": "DE"}}, True),
    ("order.customer.country == 'DE'", {"order.customer.country": "DE"}, True),
    ("order.customer.country == 'DE'", {"order": {"customer.country": "DE"}}, True),
    ("order.customer.country == 'DE'", {"order": {"customer": "DE"}}, False),
    ("a.b == 1", {"a.b": 2, "a": {"b": 1}}, False),
    ("a.b.c == 1", {"a.b": {"c": 1}, "a": {"b": {"c": 2}}}, True),
    ("a.b.c == 2", {"a.b": {"d": 1}, "a": {"b": {"c": 2}}}, True),
    ("a.b == 1 and a.c.d == 'x'", {"a": {"b": 1, "c": {"d": "x"}}}, True),
    ("exists(a) and exists(a.b)", {"a": {"b": None}}, True),
    ("exists(a.b)", {"a": None}, False),
    ("a.b is None", {"a": {}}, False),
    ("a.b is not None", {"a": {"b": {}}}, True),
    ("any(i.o.p == 1 for i in a.l)", {"a": {"l": [3, {"o": {"p": 1}}]}}, True),
    ("any(i.o.p == 1 for i in a.l)", {"a": {"l": [{"o.p": 1}]}}, True),
    ("any(any(j > 3 for j in i.n) for i in a)", {"a": [{"n": [1]}, {"n": [2, 4]}]}, True),
    ("any(any(i > 3 for i in i.n) for i in a)", {"a": [{"n": [1]}, {"n": [2, 3]}]}, False),
    ("any(all(j > 1 for j in i) for i in a)", {"a": [[1], [2, 3]]}, True),
    ("any(i.a > 1 for i in i.i)", {"i": {"i": [{"a": 2}]}}, True),
]


@pytest.mark.parametrize(("text", "event", "matches"), PATHS)
def test_a_path_leads_into_maps_by_the_longest_keys(
    text: str, event: dict[str, Value], *, matches: bool
) -> None:
    wanted = parse(text)
    index: MatchingIndex[int] = MatchingIndex()
    index.add(1, wanted)
    assert (wanted.match(event), holds(text, event), bool(index.match(event))) == (matches,) * 3
    assert parse(str(wanted)) == wanted


WRITTEN = [
    ("len(x) > 2 and 'a' in x", "len(x) >= 3 and x & {'a'}"),
    ("len(x) > 0 and 1 in x", "x & {1}"),
    ("'a' in x and 'b' in x", "'a' in x and 'b' in x"),
    ("'a' in x and x >= ''", "'a' in x and x >= ''"),
    ("'a' in x and x > 1", "False"),
    ("1 in x and 2 in x", "{1, 2} <= x"),
    ("1 in x or 2 in x", "x & {1, 2}"),
    ("any(j.b == 1 for j in x) or any(k.b == 2 for k in x)", "any(i.b in (1, 2) for i in x)"),
    ("any(i == 'a' and i.b == 1 for i in x)", "False"),
    ("any(k > 1 for k in i.k)", "any(j > 1 for j in i.k)"),
    ("len(x) == 1 and {1, 2} <= x", "False"),
    ("all(i > 3 for i in x) and 2 in x", "False"),
    ("all(i > 3 for i in x) and any(i < 2 for i in x)", "False"),
    ("all(i > 3 for i in x) and all(i < 2 for i in x)", "len(x) == 0"),
    ("len(x) >= 1.5", "len(x) >= 2"),
    ("len(x) == 1.5", "False"),
    ("len(x) >= 0", "len(x) >= 0"),
    ("x is None or x is not None", "exists(x)"),
    ("x is None and exists(x)", "x is None"),
    ("x is None and x is not None", "False"),
    ("x is not None and x > 1", "x > 1"),
]


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_the_canonical_form_is(text: str, written: str) -> None:
    assert str(parse(text)) == written


NESTED_TOO_DEEP = "any(any(any(any(any(m > 1 for m in l) for l in k) for k in j) for j in i) for i in x)"
ERRORS = [
    ("any(x)", PREDICATE, 1, "a condition on each element"),
    ("any(i > 1 for i in x for j in y)", PREDICATE, 1, "one list"),
    ("any(i > 1 for i in (1, 2))", PREDICATE, 20, "the list of an attribute"),
    ("any(i > 1 for i, j in x)", PREDICATE, 23, "the list of an attribute"),
    ("any(y > 1 for i in x)", NAME, 5, "'y' is not of the element"),
    ("any(any(i > j for j in i.y) for i in x)", NAME, 9, "'i' is not of the element"),
    ("all(i for i in x)", PREDICATE, 5, "no condition"),
    ("len(x)", PREDICATE, 1, "'len' cannot be called"),
    ("len(x) > 'a'", LITERAL, 10, "compared with a number"),
    ("len(x) > y", LITERAL, 10, "compared with a number"),
    ("len(x, y) > 1", PREDICATE, 1, "len takes one attribute name"),
    ("x & y", PREDICATE, 1, "write tags & {'a', 'b'}"),
    ("x | {1}", PREDICATE, 1, "write tags & {'a', 'b'}"),
    ("x == {1}", PREDICATE, 1, "compared by <= or >="),
    ("x is 1", PREDICATE, 1, "x is None for null"),
    ("x == None", LITERAL, 6, "write x is None"),
    ("x in (1, None)", LITERAL, 10, "write x is None"),
    (NESTED_TOO_DEEP, LEVELS, 17, "more than 4 levels of any and all"),
    (" and ".join(f"{n} in x" for n in range(33)), PARTS, 1, "33 conditions on the elements of x, 32"),
    (
        f"any({' or '.join(f'i.a{n} == 1' for n in range(33))} for i in x)",
        PARTS,
        1,
        "33 conditions on the elements of x, 32",
    ),
]


@pytest.mark.parametrize(("text", "code", "column", "reason"), ERRORS)
def test_what_is_no_predicate_on_lists_is_refused_with_its_place(
    text: str, code: str, column: int, reason: str
) -> None:
    with pytest.raises(FilterError) as raised:
        parse(text)
    assert (raised.value.code, raised.value.column) == (code, column)
    assert reason in raised.value.reason


COVERED = [
    (
        "order.customer.country == 'DE'",
        "order.customer.country == 'DE' and any(i.sku == 'A7' for i in order.items)",
    ),
    ("any(i.qty > 1 for i in items)", "any(i.qty > 2 and i.sku == 'A7' for i in items)"),
    ("any(i.sku in ('A', 'B') for i in items)", "any(i.sku == 'A' for i in items) and len(items) > 3"),
    ("all(i.qty > 1 for i in items)", "all(i.qty > 2 for i in items)"),
    ("any(i.qty > 1 for i in items)", "len(items) > 0 and all(i.qty > 2 for i in items)"),
    (
        "any(i.qty > 1 and i.sku == 'A' for i in items)",
        "any(i.sku == 'A' for i in items) and all(i.qty > 2 for i in items)",
    ),
    ("any(any(j > 1 for j in i.prices) for i in items)", "any(any(j > 2 for j in i.prices) for i in items)"),
    ("len(tags) >= 2", "{'a', 'b'} <= tags"),
    ("owner is not None", "owner == 'x'"),
    ("exists(owner)", "owner is None"),
    ("tags & {'a'} or not tags & {'a'}", "len(tags) > 1"),
    ("owner is None or owner is not None", "exists(owner) and kind == 'a'"),
    ("'a' in x and x >= '' or x & {'a'}", "'a' in x and y == 1"),
]


@pytest.mark.parametrize(("rule", "wanted"), COVERED)
def test_a_rule_covers_what_is_narrower(rule: str, wanted: str) -> None:
    assert parse(rule).covers(parse(wanted))
    assert not parse(wanted).covers(parse(rule))
