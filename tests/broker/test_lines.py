"""Lines of explanations are short, whatever they contain."""

import json

from hypothesis import given
from hypothesis import strategies as st

from broker.lines import json_line
from broker.page_limits import LINE_BYTES

texts = st.builds(lambda text, times: text * times, st.text(max_size=20), st.sampled_from([1, 10, 1000]))


def test_a_short_line_is_left_alone() -> None:
    content = {"broker": "B1", "went_to": ["a", "b"], "head": {"sequence": 1}, "uplink": None}
    assert json.loads(json_line(content)) == content


def test_a_long_filter_ends_with_an_ellipsis_and_its_length() -> None:
    decoded = json.loads(json_line({"durable": "audit", "filter": "x == 1 or " * 1000, "taken": 7}))
    assert decoded["filter"].startswith("x == 1 or x == 1 or ")
    assert decoded["filter"].endswith("... (10000 characters)")
    assert (decoded["durable"], decoded["taken"]) == ("audit", 7)


def test_a_long_list_says_how_many_more_there_are() -> None:
    decoded = json.loads(json_line({"went_to": [f"alice@B1.k3f9/{number}" for number in range(5000)]}))
    count = len(decoded["went_to"]) - 1
    assert decoded["went_to"][-1] == f"... and {5000 - count} more"


@given(texts, texts, st.lists(texts), st.lists(st.fixed_dictionaries({"address": texts, "name": texts})))
def test_no_line_is_longer_than_its_bound(
    one: str, other: str, names: list[str], objects: list[object]
) -> None:
    line = json_line(
        {"filter": one, "head": {"publisher": other}, "went_to": names * 20, "candidates": objects}
    )
    assert len(line.encode()) <= LINE_BYTES
    assert set(json.loads(line)) == {"filter", "head", "went_to", "candidates"}
