"""Patterns as they are written: what they mean, and what is said where they are wrong."""

import pytest

from broker.filters import parse
from broker.patterns.conditions import PatternError
from broker.patterns.language import LEVELS_LIMIT, NAMES_LIMIT, SIZE_LIMIT, parse_pattern
from broker.patterns.pattern import FirstOf, InAnyTurn, InTurn, NamedFilter, Step

SECOND = 1_000_000_000


def shape(step: Step) -> object:
    match step:
        case NamedFilter(name, _, times):
            return name if times == 1 else (name, times)
        case InTurn(parts):
            return ["then", *map(shape, parts)]
        case InAnyTurn(parts):
            return ["and", *map(shape, parts)]
        case FirstOf(parts):
            return ["or", *map(shape, parts)]


SHAPES: list[tuple[str, object]] = [
    ("x == 1 as a within 5s", "a"),
    ("x == 1 as a then x == 2 as b within 5s", ["then", "a", "b"]),
    (
        "x == 1 as a then x == 2 as b or x == 3 as c and x == 4 as d within 1m",
        ["then", "a", ["or", "b", ["and", "c", "d"]]],
    ),
    ("(x == 1 as a then x == 2 as b) and x == 3 as c within 1h", ["and", ["then", "a", "b"], "c"]),
    ("(x == 1 or y == 1) as a then not (x == 2 and y == 1) as b within 1ms", ["then", "a", "b"]),
    (
        "x == 'as then' as a times 3 then any(i.x in (1, 2) for i in y) as b within 1d",
        ["then", ("a", 3), "b"],
    ),
    ("within(p, 0, 0, 1, 1) as a then 'where' in x as b where a.p == b.p within 1s", ["then", "a", "b"]),
    ("((x == 1) as a) within 1s", "a"),
    ("x == 1 as a\n  then x == 2 as b\n  where a.x < b.x\n  within 1s by t.s", ["then", "a", "b"]),
]


@pytest.mark.parametrize(("text", "steps"), SHAPES)
def test_steps_are_read_as_they_bind(text: str, steps: object) -> None:
    assert shape(parse_pattern(text).steps) == steps


def test_what_is_read_has_everything_that_was_written() -> None:
    pattern = parse_pattern(
        "x == 1 as a then x == 2 as b not x == 3 as c between"
        " where a.id == b.key and c.id == a.id and a.n < b.n within 1m30s by t.sent"
    )
    assert (pattern.within_ns, pattern.time) == (90 * SECOND, "t.sent")
    assert [(each.name, str(each.filter)) for each in pattern.filters] == [
        ("a", "x == 1"),
        ("b", "x == 2"),
        ("c", "x == 3"),
    ]
    assert [sorted(each.names) for each in pattern.conditions] == [["a", "b"], ["a", "c"], ["a", "b"]]
    assert pattern.key == {"a": "id", "b": "key", "c": "id"}
    assert str(pattern.filter) == "x in (1, 2, 3)"


def test_a_rule_that_covers_all_filters_allows_a_pattern() -> None:
    pattern = parse_pattern("x == 1 as a then x == 2 and y > 3 as b not z > 5 as c between within 1s")
    assert parse("x < 3 or z > 0").covers(pattern.filter)
    assert not parse("x < 3").covers(pattern.filter)


def test_a_key_is_what_ties_all_names_together() -> None:
    steps = "x == 1 as a then x == 2 as b then x == 3 as c"
    assert parse_pattern(f"{steps} where a.i == b.i within 1s").key == {}
    assert parse_pattern(f"{steps} where a.i == b.i and b.j == c.j within 1s").key == {}
    assert parse_pattern(f"{steps} where a.i == b.i and not b.i != c.j within 1s").key == {}
    assert parse_pattern(f"{steps} where c.k == b.i and b.i == a.i within 1s").key == {
        "a": "i",
        "b": "i",
        "c": "k",
    }


ERRORS = [
    ("", 1, "a filter is missing"),
    ("x == 1 within 5s", 1, "this filter has no name; write FILTER as NAME"),
    ("x == 1 then x == 2 as b within 5s", 8, "the filter before 'then' has no name"),
    ("x = 1 as a within 5s", 3, "write '==' to compare"),
    ("x == 1 as a then  y <> 1 as b within 5s", 21, "write '!='"),
    ("x == 1 as a then x == 2 as a within 5s", 28, "two filters are called 'a'"),
    ("x == 1 as a.b within 5s", 11, "'a.b' is no name"),
    ("x == 1 as a", 12, "say how soon"),
    ("x == 1 as a within soon", 20, "expected a time such as 90s"),
    ("x == 1 as a within 0s", 20, "more than nothing"),
    ("x == 1 as a within 5s please", 23, "the pattern ends before 'please'"),
    ("x == 1 as a times 0 within 5s", 19, "1 to 64 times"),
    ("x == 1 as a where b.x == 1 within 5s", 19, "no event is called 'b'; there are a"),
    ("x == 1 as a where a.x within 5s", 19, "this compares no event"),
    ("x == 1 as a where a.x == a.y + 1 within 5s", 26, "no attribute of an event and no constant"),
    ("x == 1 as a where a.x in (1, 2) within 5s", 26, "no attribute of an event and no constant"),
    ("x == 1 as a where a == 1 within 5s", 19, "no attribute of an event"),
    ("x == 1 as a where a.x == within 5s", 19, "these are no conditions"),
    ("x == 1 as a where a.x == None within 5s", 26, "constants are texts"),
    ("(x == 1 as a then x == 2 as b within 5s", 31, "close the bracket"),
    ("x == 1 as a not x == 2 as b within 5s", 29, "write not FILTER as NAME between"),
    (
        "x == 1 as a then x == 2 as b not x == 3 as c between where c.i == b.i within 5s",
        60,
        "compare c with a",
    ),
    (
        "x == 1 as a and x == 2 as b not x == 3 as c between where c.i == b.i within 5s",
        59,
        "the first step alone",
    ),
    (
        "(" * (LEVELS_LIMIT + 2) + "x == 1 as a" + ")" * (LEVELS_LIMIT + 2) + " within 1s",
        LEVELS_LIMIT + 2,
        "levels",
    ),
    (
        " or ".join(f"x == {at} as n{at}" for at in range(NAMES_LIMIT + 1)) + " within 1s",
        280,
        "at most 16 filters",
    ),
    ("x == 1 as a within 5s" + " " * SIZE_LIMIT, SIZE_LIMIT + 1, "characters"),
]


@pytest.mark.parametrize(("text", "column", "reason"), ERRORS)
def test_an_error_names_the_place_and_what_to_write(text: str, column: int, reason: str) -> None:
    with pytest.raises(PatternError, match=reason) as caught:
        parse_pattern(text)
    assert caught.value.column == column
