"""What is united and what is not, and how unions end: the cases of the literature, one by one."""

import pytest

from broker.filters import SIZE_LIMIT_BYTES, parse
from broker.routing import Change, RouteFilter, Selection
from broker.routing import parse as routing

UNITED = [
    ("x == 1", "x == 2", "x in (1, 2)"),
    ("x in (1, 2)", "x in (2, 3)", "x in (1, 2, 3)"),
    ("x not in (1, 2)", "x not in (2, 3)", "x != 2"),
    ("x != 1", "x != 2", "(x < 0 or x >= 0)"),
    ("x == 1", "x > 1", "x >= 1"),
    ("x < 2", "x > 1", "(x < 0 or x >= 0)"),
    ("x < 1", "x >= 1", "(x < 0 or x >= 0)"),
    ("x < 1", "x > 1", "x != 1"),
    ("1 <= x <= 5", "3 <= x <= 9", "1 <= x <= 9"),
    ("1 <= x <= 5", "5 < x <= 9", "1 <= x <= 9"),
    ("s == 'A'", "s == 'B'", "s in ('A', 'B')"),
    ("s == 'A' and 1 <= x <= 5", "s == 'A' and 3 <= x <= 9", "1 <= x <= 9 and s == 'A'"),
    ("s == 'A' and 1 <= x <= 5", "s == 'B' and 1 <= x <= 5", "1 <= x <= 5 and s in ('A', 'B')"),
    ("t == True", "t == False", "t in (False, True)"),
    ("s == 'A' or x < 1", "s == 'B' or x < 1", "x < 1 or s in ('A', 'B')"),
]
"""Perfect unions. Sets that must lack each other have no row: here an attribute has one value only."""

APART = [
    ("1 <= x <= 2", "3 <= x <= 4"),
    ("s == 'A' and 1 <= x <= 5", "s == 'B' and 3 <= x <= 9"),
    ("s.startswith('a')", "s.startswith('b')"),
    ("x == 1", "y == 1"),
    ("s == 'A'", "x == 1"),
]


def selection(name: str, *texts: str) -> Selection:
    """A selection with these candidates, which are called a, b, c..."""
    made = routing(name).subscriptions.selection()
    for id_, text in zip("abcdefghij", texts, strict=False):
        made.add(RouteFilter(id_, parse(text)))
    return made


def announced_by(one: Selection) -> dict[str, str]:
    return {each.id: str(each.filter) for each in one.announced.values()}


@pytest.mark.parametrize(("one", "other", "union"), UNITED)
def test_what_differs_in_one_constraint_is_united_if_that_loses_nothing(
    one: str, other: str, union: str
) -> None:
    expected = {"~1": str(parse(union))}
    assert announced_by(selection("merging", one, other)) == expected
    assert announced_by(selection("merging", other, one)) == expected


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_would_match_more_is_not_united(one: str, other: str) -> None:
    assert set(announced_by(selection("merging", one, other))) == {"a", "b"}


def test_ordered_and_unordered_stay_apart() -> None:
    made = selection("merging", "x == 1")
    made.add(RouteFilter("u", parse("x == 2"), ordered=False))
    assert set(announced_by(made)) == {"a", "u"}


def test_what_covers_a_merger_takes_its_place() -> None:
    made = selection("merging", "1 <= x <= 5", "3 <= x <= 9")
    assert made.add(RouteFilter("c", parse("x > 0"))) == Change((RouteFilter("c", parse("x > 0")),), ("~1",))


def test_without_a_part_the_others_are_announced_in_one_change() -> None:
    made = selection("merging", "1 <= x <= 3", "3 <= x <= 5", "5 <= x <= 9")
    assert announced_by(made) == {"~2": "1 <= x <= 9"}
    change = made.remove("b")
    assert change == Change(
        (RouteFilter("a", parse("1 <= x <= 3")), RouteFilter("c", parse("5 <= x <= 9"))), ("~2",)
    )


def test_what_covers_some_parts_of_a_merger_leaves_the_others_in_the_union() -> None:
    made = selection("merging", "s == 'A' and 1 <= x <= 3", "s == 'B' and 1 <= x <= 3")
    made.add(RouteFilter("c", parse("s == 'A'")))
    assert announced_by(made) == {"~1": "s in ('A', 'B') and 1 <= x <= 3", "c": "s == 'A'"}
    made.remove("a")
    assert announced_by(made) == {"b": "s == 'B' and 1 <= x <= 3", "c": "s == 'A'"}


def test_a_part_that_others_make_up_for_is_not_missed() -> None:
    made = selection("merging", "1 <= x <= 5", "2 <= x <= 4", "3 <= x <= 9")
    assert not made.remove("b")
    assert announced_by(made) == {"~1": "1 <= x <= 9"}


def test_the_id_of_a_merger_never_comes_again() -> None:
    made = selection("merging", "1 <= x <= 5")
    seen = list[str]()
    for _ in range(3):
        seen += [each.id for each in made.add(RouteFilter("b", parse("3 <= x <= 9"))).added]
        made.remove("b")
        made = routing("merging").subscriptions.selection(
            made.snapshot(), [RouteFilter("a", parse("1 <= x <= 5"))]
        )
    assert seen == ["~1", "~2", "~3"]
    assert made.mergers == len(seen)


@pytest.mark.parametrize(
    ("factor", "union"), [("1.3", ["0 <= x <= 10", "15 <= x <= 20"]), ("1.4", ["0 <= x <= 20"])]
)
def test_ranges_are_merged_into_one_up_to_the_factor(factor: str, union: list[str]) -> None:
    made = selection(f"merging:{factor}", "0 <= x <= 10", "15 <= x <= 20")
    assert list(announced_by(made).values()) == union


def test_unions_stay_within_the_length_of_a_filter() -> None:
    made, count = routing("merging").subscriptions.selection(), 400
    for number in range(count):
        made.add(RouteFilter(f"s{number}", parse(f"symbol == '{number:060}'")))
    made.remove("s7")
    lengths = [len(str(each.filter)) for each in made.announced.values()]
    assert max(lengths) <= SIZE_LIMIT_BYTES
    assert len(lengths) < count / 20
    for number in range(count):
        if number != 7:
            assert list(made.covers_of(RouteFilter("", parse(f"symbol == '{number:060}'"))))
