"""Why an event does not match, and what may be asked of a matcher."""

import pickle
from enum import IntEnum, StrEnum

import pytest

from broker.filters import FilterError, parse
from broker.filters.constraints import Value

FAILING: list[tuple[str, dict[str, Value], str]] = [
    ("price > 0", {"price": -3}, "price > 0 (price is -3)"),
    ("price > 0", {}, "price > 0 (price is missing)"),
    ("price > 0", {"price": "3"}, "price > 0 (price is '3')"),
    ("price > 0", {"price": True}, "price > 0 (price is True)"),
    ("kind == 'trade' and price > 0", {"kind": "trade", "price": 0}, "price > 0 (price is 0)"),
    (
        "kind == 'trade' and price > 0",
        {"kind": "quote", "price": 0},
        "kind == 'trade' (kind is 'quote') and price > 0 (price is 0)",
    ),
    ("x > 5 or y == 'a'", {"x": 1}, "x > 5 (x is 1) or y == 'a' (y is missing)"),
    ("False", {"x": 1}, "False (nothing matches this filter)"),
    ("x == 'b'", {"x": "a" * 100}, "x == 'b' (x is '" + "a" * 56 + "...)"),
    (
        "x.startswith(('a', 'b', 'c', 'd', 'e', 'f'))",
        {"x": 1},
        " or ".join(f"x.startswith('{letter}') (x is 1)" for letter in "abcd") + " or 2 more alternatives",
    ),
    ("price > 0", {"price": 1}, ""),
]


@pytest.mark.parametrize(("text", "attributes", "explanation"), FAILING)
def test_failing_names_the_constraints_and_the_values(
    text: str, attributes: dict[str, Value], explanation: str
) -> None:
    assert parse(text).failing(attributes) == explanation


def test_equal_filters_share_a_matcher() -> None:
    assert parse("x == 1 or x == 2").compiled() is parse("x in (2, 1)").compiled()


class Level(IntEnum):
    LOW = 1


class Kind(StrEnum):
    TRADE = "trade"


def test_subclasses_of_numbers_and_texts_are_numbers_and_texts() -> None:
    wanted = parse("level < 2 and 0 < level and level == 1 and kind == 'trade' and kind.startswith('t')")
    assert wanted.match({"level": Level.LOW, "kind": Kind.TRADE})


def test_many_constraints_and_many_alternatives_are_all_tested() -> None:
    wanted = parse("a == 1 and b == 2 and c == 3 and d == 4 or e == 5 and f == 6")
    assert wanted.match({"a": 1, "b": 2, "c": 3, "d": 4})
    assert wanted.match({"e": 5, "f": 6})
    for missing in "abcd":
        assert not wanted.match({name: at for at, name in enumerate("abcd", 1) if name != missing})


def test_a_filter_survives_pickling() -> None:
    wanted = parse("kind == 'trade' and price > 0")
    copy = pickle.loads(pickle.dumps(wanted))  # noqa: S301 - pickled a moment ago
    assert copy == wanted
    assert copy.match({"kind": "trade", "price": 1})


def test_an_error_survives_pickling() -> None:
    with pytest.raises(FilterError) as raised:
        parse("x == y")
    copy = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - pickled a moment ago
    assert (copy.code, copy.column, str(copy)) == (raised.value.code, 6, str(raised.value))


def test_a_union_beyond_the_limit_of_conjunctions_is_refused() -> None:
    def alternatives(start: int) -> str:
        return "x.endswith((" + ", ".join(f"'.{i}.'" for i in range(start, start + 200)) + "))"

    with pytest.raises(FilterError, match="the union of two filters has 400 conjunctions"):
        parse(alternatives(0)).merge(parse(alternatives(200)))


def test_a_union_beyond_the_limit_of_text_is_refused() -> None:
    one, other = (parse(f"x == '{letter * 5000}'") for letter in "ab")
    with pytest.raises(FilterError, match="more than 8192 bytes of text"):
        one.merge(other)
