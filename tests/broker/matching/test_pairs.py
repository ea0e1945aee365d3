"""Texts that are all in a list, by two of them at a time, against looking for each."""

from itertools import combinations
from random import Random

from broker.filters import parse
from broker.filters.constraints import Value
from broker.matching import MatchingIndex

TEXTS = "abcdef"
WANTED = [set(each) for count in range(1, len(TEXTS) + 1) for each in combinations(TEXTS, count)]
OTHERS: list[Value] = [None, 1, True, 2.5, ["a"], {"b": "a"}, "g", ""]


def index_of(wanted: list[set[str]], length: str = "") -> MatchingIndex[int]:
    index: MatchingIndex[int] = MatchingIndex()
    for key, each in enumerate(wanted):
        index.add(key, parse(f"{each} <= x{length}"))
    return index


def lists(count: int) -> list[list[Value]]:
    random = Random(7)
    drawn = [
        [*random.choices(TEXTS, k=random.randrange(9)), *random.choices(OTHERS, k=3)] for _ in range(count)
    ]
    return [random.sample(each, len(each)) for each in drawn]


def test_all_texts_are_found_whatever_else_is_in_the_list_and_however_often() -> None:
    index, longer = index_of(WANTED), index_of(WANTED, " and len(x) > 9")
    for elements in lists(300):
        found = [key for key, wanted in enumerate(WANTED) if all(each in elements for each in wanted)]
        assert sorted(index.match({"x": elements})) == found
        assert sorted(longer.match({"x": elements})) == (found if len(elements) > 9 else [])
    for key in range(len(WANTED)):
        index.remove(key)
    assert not index._root


def test_what_is_no_list_has_no_pairs() -> None:
    index = index_of(WANTED)
    others: list[Value] = ["ab", 1, None, {"a": 1}, []]
    assert [index.match({"x": each}) for each in others] == [[]] * 5


def test_what_is_found_has_an_order() -> None:
    index = index_of([{"c", "d"}, {"a", "c"}, {"a", "b"}, {"a", "d"}, {"b", "d"}])
    assert index.match({"x": ["b", "d", "a", "c", "a"]}) == [4, 2, 1, 3, 0]
