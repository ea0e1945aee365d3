import pytest

from ordering.verdicts import History, HistoryEvent, HistorySubscription
from ordering.verdicts.words import meeting, way

TREE = {"top": "", "left": "top", "right": "top", "leaf": "left", "other": ""}


@pytest.mark.parametrize(
    ("start", "end", "path"),
    [
        ("leaf", "right", ["leaf", "left", "top", "right"]),
        ("top", "leaf", ["top", "left", "leaf"]),
        ("leaf", "top", ["leaf", "left", "top"]),
        ("left", "left", ["left"]),
        ("leaf", "other", []),
        ("leaf", "", []),
    ],
)
def test_the_way_goes_up_as_far_as_it_must(start: str, end: str, path: list[str]) -> None:
    assert way(TREE, start, end) == path


def met(one: str, other: str, origin: str) -> str:
    history = History([HistoryEvent("a", 1, origin)], [], TREE)
    views = HistorySubscription("s", [], one), HistorySubscription("t", [], other)
    return meeting(history, *views, [("a", 1)]).strip()


@pytest.mark.parametrize(
    ("one", "other", "origin", "words"),
    [
        ("left", "left", "right", "Both are at left; a/1 comes from right and joins it at left."),
        ("left", "leaf", "right", "Their path is left - leaf; a/1 comes from right and joins it at left."),
        ("left", "top", "left", "Their path is left - top; a/1 is published at left."),
        ("left", "top", "other", "Their path is left - top; a/1 comes from elsewhere at other."),
        ("left", "other", "left", "left and other are in different trees."),
        ("left", "", "left", ""),
    ],
)
def test_a_meeting_names_the_path_and_where_a_publication_joins_it(
    one: str, other: str, origin: str, words: str
) -> None:
    assert met(one, other, origin) == words


def test_a_ring_that_no_tree_has_does_not_hold_up_a_witness() -> None:
    assert way({"a": "b", "b": "a"}, "a", "b") == []
