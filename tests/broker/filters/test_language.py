"""What the language means, what it refuses, and where."""

import warnings
from time import perf_counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.errors import ConcordError
from broker.filters import Filter, FilterError, parse
from broker.filters.constraints import Value
from broker.filters.errors import CONJUNCTIONS, LEVELS, LITERAL, NAME, PREDICATE, SIZE, SYNTAX

NAN, INFINITY = float("nan"), float("inf")

MEANINGS: list[tuple[str, list[Value], list[Value]]] = [
    ("x == 1", [1, 1.0], [True, "1", 2, NAN]),
    ("x == True", [True], [1, 1.0, "True", False]),
    ("x == 0", [0, -0.0], [False, ""]),
    ("x != 5", [4, 5.5, INFINITY], [5, 5.0, "5", True, NAN]),
    ("x != True", [False], [True, 0, 1]),
    ("x != 'a'", ["", "b"], ["a", 1]),
    ("x == 9007199254740993", [9007199254740993], [9007199254740992, 9007199254740992.0]),
    ("x > 9007199254740992.0", [9007199254740993], [9007199254740992]),
    ("x == 0.1", [0.1], [0.1 + 1e-16]),
    ("x > 1e308", [INFINITY, 10**309], [1e308, NAN]),
    ("100 < x <= 250", [101, 250], [100, 251, "150", True]),
    ("250 >= x > 100", [101, 250], [100, 251]),
    ("1 < x < 5 != x", [2, 4.5], [1, 5]),
    ("not 1 < x < 5", [1, 5, -7], [2, "a", NAN]),
    ("x > -1", [-0.5, 0], [-1, False]),
    ("x == +1", [1], [-1]),
    ("not (x >= 3)", [2], [3, "a", NAN, False]),
    ("x in (1, 'a', True)", [1, "a", True], [2, "b", False, 0]),
    ("x not in (1, 'a')", [2, "b"], [1, "a", True]),
    ("not (x in [1, 'a'])", [2, "b"], [1, "a", True]),
    ("not (x not in {1, 'a'})", [1, "a"], [2, "b", True]),
    ("x in ()", [], [1, "a", True]),
    ("x not in ()", [], [1, "a", True]),
    ("x < 'b'", ["", "a", "azz"], ["b", "ba", 1]),
    ("x <= 'b'", ["b", "a"], ["b\0", "c"]),
    ("'a' < x < 'b'", ["a\0", "az"], ["a", "b"]),
    ("x < ''", [], ["", "a"]),
    ("not x < ''", ["", "a"], [1]),
    ("x.startswith('eu-')", ["eu-", "eu-1"], ["eu", 1]),
    ("x.startswith(('a', 'b'))", ["a1", "b"], ["c"]),
    ("not x.startswith(('a', 'b'))", ["c", ""], ["a1", "b", 1]),
    ("x.startswith(())", [], ["a"]),
    ("not x.startswith(())", ["a"], [1]),
    ("x.endswith(('!', '?'))", ["a!", "?"], ["!a", 1]),
    ("not x.endswith('!')", ["", "a"], ["a!", 1]),
    ("'fire' in x", ["fire", "a fire."], ["fir", 1]),
    ("'fire' not in x", ["fir"], ["fire", 1]),
    ("not ('fire' in x)", ["fir"], ["fire", 1]),
    ("exists(x)", [0, "", False, NAN], []),
    ("not exists(x)", [], [0, "", False, NAN]),
    ("x == 'a' 'b'", ["ab"], ["a"]),
    (r"x == '\d'", [r"\d"], ["d"]),
    ("x == 1or x == 2", [1, 2], [3]),
    ("\n x == 1\n\tor\r\n x == 2 ", [1, 2], [3]),
    ("True", [1], []),
    ("not False", [1], []),
    ("False", [], [1]),
]


@pytest.mark.parametrize(("text", "wanted", "unwanted"), MEANINGS)
def test_a_predicate_means_what_the_table_has(text: str, wanted: list[Value], unwanted: list[Value]) -> None:
    meant = parse(text)
    assert [value for value in wanted + unwanted if meant.match({"x": value})] == wanted
    assert meant.match({"y": 1}) == (text in ("True", "not False"))


def test_a_missing_attribute_makes_a_predicate_false_negated_or_not() -> None:
    for text in ("x == 1", "x != 1", "x in (1, 2)", "x not in (1, 2)", "x.startswith('a')", "exists(x)"):
        assert not parse(text).match({})
        assert not parse(f"not ({text})").match({})


def test_dotted_names_are_names_of_their_own() -> None:
    wanted = parse("order.price > 0 and order.symbol.startswith('I') and exists(a.b.c) and x.startswith == 1")
    assert wanted.match({"order.price": 1, "order.symbol": "IBM", "a.b.c": "", "x.startswith": 1})
    assert not wanted.match({"price": 1, "symbol": "IBM", "c": "", "x.startswith": 1})


def test_parsing_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(r"x == '\d' or x == 1or x == 2")


ERRORS = [
    ("", SYNTAX, 1, "empty"),
    ("  \n", SYNTAX, 1, "empty"),
    ("x ==", SYNTAX, 5, "ends too early"),
    (" x == 1 and ", SYNTAX, 12, "ends too early"),
    ("x == 1 y", SYNTAX, 8, "no expression"),
    ("(x == 1", SYNTAX, 1, "never closed"),
    ("x == 1) or (y == 2", SYNTAX, 7, "unmatched"),
    ("x == 'a", SYNTAX, 6, "unterminated"),
    ("x = 1", SYNTAX, 3, "write '=='"),
    ("x == 1 && y == 2", SYNTAX, 8, "write 'and'"),
    ("x == 1 || y == 2", SYNTAX, 8, "write 'or'"),
    ("!x", SYNTAX, 1, "write 'not'"),
    ("x <> 1", SYNTAX, 3, "write '!='"),
    ("x == 1 # one", SYNTAX, 8, "no comments"),
    ("x == 1; y", SYNTAX, 7, "one expression"),
    ("x == \0", SYNTAX, 6, "zero character"),
    ("x == '\ud800'", SYNTAX, 7, "surrogate"),
    ("x == '\\ud800'", LITERAL, 6, "surrogate"),
    ("x == '''a\nb'''", LITERAL, 6, "end on its line"),
    ("x == f'{y}'", LITERAL, 6, "formatted"),
    ("x == b'a'", LITERAL, 6, "bytes is no value"),
    ("x == 1j", LITERAL, 6, "complex is no value"),
    ("x == ...", LITERAL, 6, "ellipsis is no value"),
    ("x == None", LITERAL, 6, "exists(x)"),
    ("x == 1e999", LITERAL, 6, "at most"),
    ("x == -1e999", LITERAL, 7, "at most"),
    ("x == 0x" + "f" * 300, LITERAL, 6, "at most"),
    ("x == " + "9" * 5000, LITERAL, 6, "400 digits"),
    ("x == --1", LITERAL, 6, "before a number"),
    ("x == -'a'", LITERAL, 6, "before a number"),
    ("x == -True", LITERAL, 6, "before a number"),
    ("x.startswith(1)", LITERAL, 14, "one text or a tuple"),
    ("x.endswith(('a', 1))", LITERAL, 18, "one text or a tuple"),
    ("x.startswith('a', 1)", PREDICATE, 1, "one text or a tuple"),
    ("'a'.startswith('a')", PREDICATE, 1, "follow an attribute name"),
    ("x == y", PREDICATE, 6, "write 'y'"),
    ("x < y", PREDICATE, 5, "cannot be compared"),
    ("x in y", PREDICATE, 6, "cannot be compared"),
    ("x == true", PREDICATE, 6, "write True"),
    ("x != null", PREDICATE, 6, "exists(x)"),
    ("1 == 1", PREDICATE, 1, "one side must be an attribute"),
    ("1 < 2 < x", PREDICATE, 1, "one side must be an attribute"),
    ("1 in (1, 2)", PREDICATE, 1, "one side of 'in'"),
    ("x in 'IBM'", PREDICATE, 6, "write x in ('IBM',)"),
    ("x in ('IBM')", PREDICATE, 7, "write x in ('IBM',)"),
    ("x in (1, y)", PREDICATE, 10, "neither"),
    ("x in ((1, 2), 3)", PREDICATE, 7, "only stand after 'in'"),
    ("x == (1, 2)", PREDICATE, 6, "only stand after 'in'"),
    ("x + 1 == 2", PREDICATE, 1, "do not calculate"),
    ("x == 1 + 1", PREDICATE, 6, "do not calculate"),
    ("abs(x) == 2", PREDICATE, 1, "result of a call"),
    ("x == (y == 1)", PREDICATE, 7, "cannot be compared"),
    ("x is True", PREDICATE, 1, "write == or !="),
    ("x < True", PREDICATE, 5, "no order"),
    ("active", PREDICATE, 1, "write active == True or exists(active)"),
    ("x == 1 and 'a'", PREDICATE, 12, "constant alone"),
    ("x == 1 and 7", PREDICATE, 12, "constant alone"),
    ("x[0] == 1", PREDICATE, 1, "neither"),
    ("x.lower()", PREDICATE, 1, "'x.lower' cannot be called"),
    ("exists('x')", PREDICATE, 1, "exists takes one attribute name"),
    ("exists(x, y)", PREDICATE, 1, "exists takes one attribute name"),
    ("(x := 1)", PREDICATE, 2, "no condition"),
    ("x == 1, y == 2", PREDICATE, 1, "no condition"),
    ("x == 1 or class == 2", NAME, 11, "'class' is a reserved word"),
    ("order.from == 1", NAME, 1, "'from' is a reserved word"),
    ("lambda: x", NAME, 1, "'lambda' is a reserved word"),
    ("x == 1 and " + "n" * 256 + " == 2", NAME, 12, "at most 255 bytes"),
    ("a." * 128 + "a == 1", NAME, 1, "at most 255 bytes"),
    ("\u0958" * 50 + " == 1", NAME, 1, "at most 255 bytes"),
    ("größe == 'ü' and größe == y", PREDICATE, 27, "cannot be compared"),
    ("  x == y", PREDICATE, 8, "cannot be compared"),
    ("(" * 65 + "x == 1" + ")" * 65, LEVELS, 65, "64 levels of brackets"),
    ("not " * 65 + "x == 1", LEVELS, 257, "64 levels of and, or, not"),
    ("not " * 2000 + "x == 1", LEVELS, 257, "64 levels of and, or, not"),
    ("x == " + "-" * 8000 + "1", LEVELS, 1, "64 levels"),
    ("x == 1 or " + " and ".join(f"(a{i} == 1 or b{i} == 1)" for i in range(9)), CONJUNCTIONS, 11, "256"),
    ("x.startswith((" + "".join(f"'{i}.', " for i in range(257)) + "))", CONJUNCTIONS, 1, "256"),
    ("x == '" + "ü" * 4096 + "'", SIZE, 4100, "8192 are allowed"),
]


@pytest.mark.parametrize(("text", "code", "column", "words"), ERRORS)
def test_an_error_names_what_is_wrong_its_column_and_the_way_out(
    text: str, code: str, column: int, words: str
) -> None:
    with pytest.raises(FilterError) as raised:
        parse(text)
    assert (raised.value.code, raised.value.column) == (code, column), raised.value
    assert words in str(raised.value)
    assert str(raised.value).startswith(f"column {column}: ")
    assert isinstance(raised.value, ConcordError)


WITHIN_LIMITS = [
    "(" * 64 + "x == 1" + ")" * 64,
    "not " * 64 + "x == 1",
    " and ".join(f"(a{i} == 1 or b{i} == 1)" for i in range(8)),
    "x.startswith((" + "".join(f"'{i}.', " for i in range(256)) + "))",
    "x in (" + ", ".join(map(str, range(1500))) + ")",
    " or ".join(f"x == {i}" for i in range(0, 1300, 2)),
    "n" * 255 + " == 1",
    "x == '" + "a" * 8185 + "'",
    "x == '" + "\u200b" * 2700 + "'",
    "x == 1e308",
    " and ".join(f"c{i} == 'constant'" for i in range(300)) + " and (a == 1 or b == 1)",
    " and ".join(f"x{i} not in (1, 'a')" for i in range(8)),
]


@pytest.mark.parametrize("text", WITHIN_LIMITS)
def test_what_is_within_the_limits_is_printed_within_the_limits(text: str) -> None:
    wanted = parse(text)
    assert len(wanted.conjunctions) <= 256
    assert len(str(wanted).encode()) <= 8192
    assert parse(str(wanted)) == wanted


PIECES = ["x", "y", "1", "'a'", "==", "<", " in ", "not ", " and ", " or ", "(", ")", "[", "{", ",", ".", "-"]
PIECES += [
    "exists",
    ".startswith",
    "'",
    '"',
    "\\",
    "\n",
    "é",
    "1e99",
    "True",
    ":",
    "*",
    "lambda ",
    "if ",
    "@",
]


@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.text(max_size=40)))
@example("{" * 64)
@example("x" + "+1" * 4000)
@example("1" + "**1" * 2700 + " == x")
@example("~" * 8000 + "x")
@example("'\"" * 4000)
@example('"""' * 2700)
@example("'" + "\\" * 8000)
@example("1<" + "x<" * 4000 + "1")
@example("x" + " . a" * 2000)
@example(" and ".join(f"(a{i} == 1 or b{i} == 1)" for i in range(200)))
@example(
    " and ".join("x.endswith(" + str(tuple(chr(k * 300 + i) for i in range(200))) + ")" for k in range(4))
)
def test_any_text_is_a_filter_or_a_filter_error_soon(text: str) -> None:
    started = perf_counter()
    wanted, column = _parsed(text)
    assert 1 <= column <= len(text) + 1
    assert wanted is None or parse(str(wanted)) == wanted
    assert perf_counter() - started < 5


def _parsed(text: str) -> tuple[Filter | None, int]:
    """Return the filter, or the column of the error."""
    try:
        return parse(text), 1
    except FilterError as error:
        return None, error.column
