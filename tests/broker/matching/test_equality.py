"""Lookup by value: numbers are distinguished however they are written and however Python hashes them."""

import pytest

from broker.filters import parse
from broker.filters.constraints import Value
from broker.filters.values import COLLIDING_FROM
from broker.matching import MatchingIndex
from broker.matching.bucket import Filing, IndexEntry, Path
from broker.matching.equality import Equality
from broker.matching.node import TreeNode

ALIGNED = [place * COLLIDING_FROM for place in range(1, 400)]


def equality_of(numbers: list[int]) -> Equality[int]:
    table: Equality[int] = Equality(Filing(Path(), TreeNode, MatchingIndex))
    for key, number in enumerate(numbers):
        (conjunction,) = parse(f"x == {number}").conjunctions
        table.add(IndexEntry(conjunction, key), conjunction[0][1])
    return table


@pytest.mark.parametrize("sign", [1, -1])
def test_keys_of_numbers_that_python_hashes_alike_have_hashes_of_their_own(sign: int) -> None:
    numbers = [sign * number for number in ALIGNED]
    assert len(set(map(hash, numbers))) == 1
    table = equality_of(numbers)
    keys = [*table._buckets, *table._labelled]
    assert len({hash(key) for key in keys}) == len(numbers)


def test_numbers_of_ordinary_size_are_keys_themselves() -> None:
    table = equality_of([0, 1, -1, 2**60])
    assert [*table._buckets] == [0, 1, -1, 2**60]
    assert not table._labelled


EQUAL: list[tuple[str, list[Value], list[Value]]] = [
    ("x == 1", [1, 1.0], [True, "1", "0x1", 1 + COLLIDING_FROM]),
    ("x == 0", [0, -0.0], [False, "", COLLIDING_FROM]),
    (f"x == {COLLIDING_FROM}", [COLLIDING_FROM], [0, float(COLLIDING_FROM), hex(COLLIDING_FROM)]),
    (f"x == {2**70}", [2**70, 2.0**70], [2**70 + 1, hex(2**70), 2**9]),
    (f"x == -{2**70 + 1}", [-(2**70) - 1], [-(2.0**70), 2**70 + 1]),
    ("x == 1e308", [1e308, int(1e308)], [float("inf"), 10**5000, float("nan")]),
    (f"x in (1, {2**70}, 'a', True)", [1, 2.0**70, "a", True], [False, "b", 2, 2**71]),
]


@pytest.mark.parametrize(("text", "wanted", "unwanted"), EQUAL)
def test_a_number_is_found_by_equal_numbers_alone(
    text: str, wanted: list[Value], unwanted: list[Value]
) -> None:
    index: MatchingIndex[str] = MatchingIndex()
    index.add("wanted", parse(text))
    for place in range(9):
        index.add(f"other {place}", parse(f"x == 0.{place}5"))
    assert [value for value in wanted + unwanted if "wanted" in index.match({"x": value})] == wanted
    index.remove("wanted")
    assert not any("wanted" in index.match({"x": value}) for value in wanted)
