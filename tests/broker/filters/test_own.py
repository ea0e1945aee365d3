"""Constraint types: the laws of those that are there, and what filters make of their predicates."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from itertools import combinations, product
from typing import cast

import pytest
from hypothesis import strategies as st

from broker.constraint_types.networks import NETWORKS
from broker.constraint_types.places import PLACES
from broker.constraint_types.versions import VERSIONS
from broker.filters import FilterError, installed, parse
from broker.filters.constraints import Value
from broker.filters.errors import LITERAL, PARTS, PREDICATE
from broker.filters.installed import AnyConstraintType, ConstraintTypeError
from broker.filters.type_laws import LawBrokenError, check_laws
from broker.matching import MatchingIndex
from broker.routing.covering import witness
from broker.station.filter_values import filters_from, values_of
from concord.constraints import Call
from concord.testing import check_constraint_type
from tests.broker.filters.divisible import DIVISIBLE, Divisible, brought, entry_point

ADDRESSES = ("10.0.0.0", "10.0.0.1", "10.1.2.3", "10.255.255.255", "11.0.0.0", "255.255.255.255", "::", "::1")
NETWORK_TEXTS = (
    "10.0.0.0/8",
    "10.1.0.0/16",
    "10.0.0.1",
    "11.0.0.0/8",
    "0.0.0.0/0",
    "::/0",
    "::1/128",
    "10.0.0.0/7",
)
VERSIONS_SEEN = (
    "0.0.0-0",
    "0.9.0",
    "1.0.0-rc.1",
    "1.0.0",
    "1.2.0",
    "1.2.3",
    "2.0.0-0",
    "2.0.0-a.1",
    "2.0.0",
    "3.1.0",
)
BOUNDS = (
    ">=1.2",
    "<2",
    "1.*",
    "^1.2",
    "~1.2.3",
    "==2.0.0-a.1",
    "!=1.0.0",
    ">1",
    "<=1.2.3",
    "*",
    "<2.0.0-0",
    "^0.9",
)
NUMBERS = st.sampled_from((-180.0, -90, -10.5, 0, 0.25, 1, 10, 45, 90, 170, 180))

NETWORK_CALLS = st.tuples(
    st.just("in_network"), st.lists(st.sampled_from(NETWORK_TEXTS), min_size=1, max_size=3).map(tuple)
)
VERSION_CALLS = st.tuples(
    st.just("version"),
    st.lists(
        st.lists(st.sampled_from(BOUNDS), min_size=1, max_size=2).map(",".join), min_size=1, max_size=2
    ).map(tuple),
)
LATITUDES = NUMBERS.filter(lambda each: -90 <= each <= 90)
BOXES = st.tuples(LATITUDES, NUMBERS, LATITUDES, NUMBERS).map(
    lambda box: ("within", (min(box[0], box[2]), box[1], max(box[0], box[2]), box[3]))
)
CIRCLES = st.tuples(
    st.just("near"), st.tuples(LATITUDES, NUMBERS, st.sampled_from((0, 1, 500, 5000, 12000, 30000)))
)
POSITIONS = st.builds(lambda lat, lon: {"lat": lat, "lon": lon}, LATITUDES, NUMBERS)
DIVISORS = st.tuples(st.just("divisible"), st.tuples(st.integers(0, 12)))

TYPES = {
    "network": (NETWORKS, NETWORK_CALLS, st.sampled_from((*ADDRESSES, "10", "a", 3, None))),
    "version": (VERSIONS, VERSION_CALLS, st.sampled_from((*VERSIONS_SEEN, "1.2", "01.2.3", 3, None))),
    "place": (PLACES, st.one_of(BOXES, CIRCLES), st.one_of(POSITIONS, st.just({"lat": 1}), st.just("a"))),
    "divisible": (Divisible(), DIVISORS, st.one_of(st.integers(-40, 40), st.just(0.5), st.just("a"))),
}


@pytest.mark.parametrize("name", TYPES)
def test_the_laws_hold_for(name: str) -> None:
    own, calls, values = TYPES[name]
    check_constraint_type(own, calls, values, examples=40)  # type: ignore[arg-type]  # each with its own


class CoversTooMuch(Divisible):
    def covers(self, one: int, other: int) -> bool:
        return one <= other


class OverlapsTooLittle(Divisible):
    def overlaps(self, one: int, other: int) -> bool:
        return one % other == 0 or other % one == 0


class MergesTooMuch(Divisible):
    def merge(self, one: int, other: int) -> int:
        del one, other
        return 1


class IntersectsTooLittle(Divisible):
    def intersect(self, one: int, other: int) -> int:
        return one * other * 2


class HidesInCells(Divisible):
    def cells_of(self, subject: int) -> tuple[str]:
        return ("even",) if subject % 4 == 0 else ("any",)


class PrintsAnother(Divisible):
    def printed(self, content: int) -> Call:
        return "divisible", (content + content % 2,)


WRONG: list[tuple[Divisible, str]] = [
    (CoversTooMuch(), "satisfies what covers what it satisfies"),
    (OverlapsTooLittle(), "satisfies overlaps|covers it overlaps"),
    (MergesTooMuch(), "merge is exact"),
    (IntersectsTooLittle(), "intersect is exact|parsed again"),
    (HidesInCells(), "found in a cell"),
    (PrintsAnother(), "parsed again as it is printed"),
]


@pytest.mark.parametrize(("own", "law"), WRONG, ids=lambda each: type(each).__name__)
def test_a_wrong_type_breaks_a_law_in_words(own: Divisible, law: str) -> None:
    calls: list[Call] = [("divisible", (divisor,)) for divisor in (2, 3, 4)]
    with pytest.raises(LawBrokenError, match=law):
        check_laws(cast("AnyConstraintType", own), calls, range(24))


def test_what_is_drawn_finds_a_wrong_type() -> None:
    with pytest.raises(LawBrokenError, match=r"MergesTooMuch: merge is exact, as .* shows: divisible"):
        check_constraint_type(MergesTooMuch(), DIVISORS, st.integers(-8, 24))


TEXTS_BESIDE = (
    *("x == 'a'", "x in ('a', '', 1)", "x >= ''", "len(x) > 1", "x == True"),
    *("x > 1", "x is None", "exists(x)", "x is not None"),
)
NETWORK_OPERATORS = (
    *(f"in_network(x, {each!r})" for each in NETWORK_TEXTS),
    *(f"not in_network(x, {each!r})" for each in NETWORK_TEXTS),
    "in_network(x, '10.1.0.0/16', '::1')",
    *TEXTS_BESIDE,
)
VERSION_OPERATORS = (
    *(f"version(x, {each!r})" for each in BOUNDS),
    *("not version(x, '>=1.2')", "not version(x, '1.*')", "version(x, '<1', '>=2')"),
    *TEXTS_BESIDE,
)
TEXTS_IN_DOUBT = ("x == '10.0.0.1'", "x != '10.0.0.1'", "x.startswith('1')", "'1' in x")
TEXT_OPERATORS = (*NETWORK_OPERATORS[::3], *VERSION_OPERATORS[::2], *TEXTS_IN_DOUBT)
MIXED: list[Value] = ["1", 2]
TEXT_VALUES: tuple[Value, ...] = (
    *ADDRESSES,
    *VERSIONS_SEEN,
    *("9.255.255.255", "12.0.0.1", "10.0.0.11"),
    *("1.1.0", "1.2.4", "2.5.0", "0.8.0", "0.9.5", "a", "", "1a", "z1"),
    *(1, 2, True, None),
    *(["1"], MIXED, ["2"], {"lat": 1}),
)
BOX_OPERATORS = (
    *(
        "within(x, 0, 0, 10, 10)",
        "within(x, 2, 2, 5, 5)",
        "within(x, 5, 5, 20, 20)",
        "within(x, 0, 10, 10, 20)",
    ),
    *("within(x, -10, 170, 10, -170)", "within(x, -5, 175, 5, 180)", "within(x, 10, 10, 10, 10)"),
    *("not within(x, 0, 0, 10, 10)", "not within(x, 2, 2, 5, 5)", "not within(x, -10, 170, 10, -170)"),
    *("within(x, -90, -180, 90, 180)", "not within(x, -90, -180, 90, 180)"),
    *("x is None", "exists(x)", "x is not None", "x == 'a'", "x > 1", "len(x) == 0", "in_network(x, '::/0')"),
)
CIRCLE_OPERATORS = (
    *("near(x, 5, 5, 100)", "near(x, 5, 5, 1000)", "near(x, 0, 180, 500)", "near(x, 90, 0, 300)"),
    *(
        "not near(x, 5, 5, 1000)",
        "near(x, 5, 5, 0)",
        "near(x, 0, 0, 9000)",
        "near(x, 5, 5, 1000) and near(x, 9, 9, 800)",
    ),
    "within(x, 0, 0, 10, 10) and not near(x, 5, 5, 100)",
)
DEGREES = (-90, -85, -10, -5, 0, 2, 3, 5, 6, 9, 10, 15, 20, 25)
LONGITUDES = (-180, -175, -170, -100, 0, 2, 3, 5, 6, 9, 10, 15, 20, 25, 170, 174, 175, 180)
HALF_A_TEXT: Value = {"lat": "1", "lon": 1}
PLACE_VALUES: tuple[Value, ...] = (
    *({"lat": lat, "lon": lon} for lat, lon in product(DEGREES, LONGITUDES)),
    *({"lat": 1}, {"lat": 95, "lon": 0}, HALF_A_TEXT),
    *("a", "::1", 2, None, [], True),
)


def matched(operators: Sequence[str], values: Sequence[Value]) -> dict[str, int]:
    parsed = {text: parse(text) for text in operators}
    return {
        text: sum(1 << at for at, value in enumerate(values) if each.match({"x": value}))
        for text, each in parsed.items()
    }


@pytest.mark.parametrize(
    ("operators", "values"),
    [(NETWORK_OPERATORS, TEXT_VALUES), (VERSION_OPERATORS, TEXT_VALUES), (BOX_OPERATORS, PLACE_VALUES)],
    ids=["network", "version", "box"],
)
def test_every_pair_of_operators_is_compared_exactly(
    operators: Sequence[str], values: Sequence[Value]
) -> None:
    bits = matched(operators, values)
    for one, other in product(operators, operators):
        first, second = parse(one), parse(other)
        assert first.covers(second) == (not bits[other] & ~bits[one]), (one, other)
        assert first.overlaps(second) == bool(bits[one] & bits[other]), (one, other)


@pytest.mark.parametrize(
    ("operators", "values"),
    [(TEXT_OPERATORS, TEXT_VALUES), ((*BOX_OPERATORS, *CIRCLE_OPERATORS), PLACE_VALUES)],
    ids=["text", "place"],
)
def test_pairs_of_operators_are_joined_on_the_safe_side(
    operators: Sequence[str], values: Sequence[Value]
) -> None:
    bits = matched(operators, values)
    for one, other in combinations(operators, 2):
        first, second = parse(one), parse(other)
        assert not first.covers(second) or not bits[other] & ~bits[one], (one, other)
        assert first.overlaps(second) or not bits[one] & bits[other], (one, other)
        union, both = first.merge(second), parse(f"({one}) and ({other})")
        assert union == second.merge(first)
        for each, wanted in ((union, bits[one] | bits[other]), (both, bits[one] & bits[other])):
            assert parse(str(each)) == each
            assert matched([str(each)], values) == {str(each): wanted}, (one, other)
            assert filters_from(values_of([each])) == [each]
            event = witness(each)
            assert event is None or each.match(event)


def test_the_index_finds_what_matches_and_is_empty_again() -> None:
    operators = (*TEXT_OPERATORS, *BOX_OPERATORS, *CIRCLE_OPERATORS)
    texts = [*operators, *(f"any({each.replace('x', 'i', 1)} for i in y)" for each in BOX_OPERATORS[:12])]
    texts += [f"({one}) and y.z == 1" for one in operators] + [
        f"{one} and x.startswith('1')" for one in TEXT_OPERATORS
    ]
    filters = [parse(text) for text in texts]
    index: MatchingIndex[int] = MatchingIndex()
    for key, each in enumerate(filters):
        index.add(key, each)
    for value in (*TEXT_VALUES, *PLACE_VALUES):
        event: dict[str, Value] = {"x": value, "y": {"z": 1} if value else [value, {"lat": 3, "lon": 3}]}
        assert sorted(index.match(event)) == [key for key, each in enumerate(filters) if each.match(event)]
    for key in range(len(filters)):
        index.remove(key)
    assert not index._root


WRITTEN = [
    ("in_network(x, '10.0.0.0/8') or in_network(x, '11.0.0.0/8')", "in_network(x, '10.0.0.0/7')"),
    ("in_network(x, '10.0.0.0/8') and in_network(x, '10.1.0.0/16')", "in_network(x, '10.1.0.0/16')"),
    ("in_network(x, '10.0.0.0/8') and x == '10.0.0.1'", "x == '10.0.0.1'"),
    ("in_network(x, '10.0.0.0/8') and x > 1", "False"),
    ("not (in_network(x, '::/0') or x > 1)", "False"),
    (
        "in_network(x, '10.0.0.0/8') and version(x, '1.*')",
        "in_network(x, '10.0.0.0/8') and version(x, '>=1.0.0,<2.0.0-0')",
    ),
    ("version(x, '>=1.2,<2') and not version(x, '==1.5.0')", "version(x, '>=1.2.0,<1.5.0', '>1.5.0,<2.0.0')"),
    ("not version(x, '>=2,<1')", "version(x, '*')"),
    ("within(x, 0, 0, 1, 1) or within(x, 1, 0, 2, 1)", "within(x, 0.0, 0.0, 2.0, 1.0)"),
    ("within(x, 0, 0, 1, 1) and within(x, 2, 2, 3, 3)", "False"),
    ("near(x, 1, 1, 5) and within(x, 0, 0, 2, 2)", "near(x, 1.0, 1.0, 5.0)"),
    ("near(x, 1, 1, 30000)", "within(x, -90.0, -180.0, 90.0, 180.0)"),
    (
        "any(in_network(a, '::1') and a != '0' for a in x)",
        "any(in_network(i, '::1/128') and i != '0' for i in x)",
    ),
    ("in_network(x, '10.0.0.0/8') and x is not None and exists(x)", "in_network(x, '10.0.0.0/8')"),
]


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_the_canonical_form_is(text: str, written: str) -> None:
    assert str(parse(text)) == written


def test_a_rule_covers_what_is_demanded_beside_a_call() -> None:
    rule = parse("ip.startswith('10.') and exists(place)")
    assert rule.covers(
        parse("ip.startswith('10.1') and in_network(ip, '10.0.0.0/8') and near(place, 1, 1, 5)")
    )
    assert not rule.covers(parse("in_network(ip, '10.0.0.0/8') and near(place, 1, 1, 5)"))


ERRORS = [
    ("inside(x, 3)", PREDICATE, 1, "constraint types bring: in_network, near, version, within"),
    ("y > 1 and in_network(x)", LITERAL, 11, "one network or several"),
    ("in_network(x, 3)", LITERAL, 15, "a network is a text"),
    ("in_network(x, '10.0.0.1/8')", LITERAL, 15, "has host bits set"),
    ("in_network('10.0.0.1', x)", PREDICATE, 1, "an attribute name first"),
    ("in_network(x, y)", PREDICATE, 15, "neither an attribute name nor a constant"),
    ("version(x, '>=1', '>=z')", LITERAL, 19, "'>=z' is no bound"),
    ("near(x, 1, 2)", LITERAL, 1, "it takes 3 numbers"),
    ("within(x, 1, 2, 0, 3)", LITERAL, 11, "the south of a box"),
    ("within(x, 1, 2, 3, 'a')", LITERAL, 20, "must be a number"),
    (" and ".join(f"near(x, 1, {at}, 9000)" for at in range(40)), PARTS, 1, "40 calls on x, 32 are allowed"),
]


@pytest.mark.parametrize(("text", "code", "column", "reason"), ERRORS)
def test_an_error_names_the_place_and_what_to_write(text: str, code: str, column: int, reason: str) -> None:
    with pytest.raises(FilterError, match=reason) as caught:
        parse(text)
    assert (caught.value.code, caught.value.column) == (code, column)


def test_a_type_of_another_distribution_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with brought(monkeypatch, DIVISIBLE):
        wanted = parse("divisible(n, 4) and divisible(n, 6) and n > 10")
        assert str(wanted) == "divisible(n, 12) and n > 10"
        assert [n for n in (0, 12, 20, 24, 24.0) if wanted.match({"n": n})] == [12, 24]
        assert installed.announced() == "divisible/1 network/1 place/1 version/1"
        snapshot = values_of([wanted])
        assert filters_from(snapshot) == [wanted]
    with pytest.raises(
        ConstraintTypeError, match="no constraint type 'divisible' is installed; there are network"
    ):
        filters_from(snapshot)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (entry_point("network", "TYPE"), "two constraint types are called 'network'"),
        (
            entry_point("mine", "SHADOW"),
            "brings the predicate 'near', and so does the constraint type 'place'",
        ),
        (entry_point("mine", "NEWER"), "written for version 2 of the interface"),
        (entry_point("mine", "NOTHING"), "'mine' cannot be loaded: module .* has no attribute 'NOTHING'"),
    ],
)
def test_a_type_that_cannot_be_used_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, point: EntryPoint, words: str
) -> None:
    with brought(monkeypatch, point):
        with pytest.raises(ConstraintTypeError, match=words):
            installed.announced()
        with pytest.raises(FilterError, match=words):
            parse("near(x, 1, 2, 3)")
