"""Boxes, in numbers that fill several chunks and slabs, against trying each."""

from random import Random

import pytest

from broker.filters import Filter
from broker.filters.constraints import AnyValue, Constraint, NumberRange, TextPattern, Value
from broker.filters.readers import reader
from broker.matching import MatchingIndex
from broker.matching.boxes import CHUNK, LAST_CUT, SLAB, Slab
from broker.matching.bucket import IndexEntry, Payload

Box = tuple[tuple[float, float], ...]


def drawn(random: Random, share: float) -> NumberRange:
    low = random.random() * 1000
    bounds = [(low, low + 1000 * share), (None, low), (low, None)]
    first, second = random.choices(bounds, weights=[8, 1, 1])[0]
    return NumberRange(first, random.random() < 0.5, second, random.random() < 0.5)


def crowd(random: Random, count: int) -> list[Filter]:
    shares = [0.0001, 0.003, 0.1, 0.5]
    filters = []
    for _ in range(count):
        text: Constraint = AnyValue() if random.random() < 0.5 else TextPattern(contains=frozenset({"x"}))
        conjunction = (
            ("a", drawn(random, random.choice(shares))),
            ("b", drawn(random, random.choice(shares))),
            ("text", text),
        )
        filters.append(Filter((conjunction,)))
    return filters


def events(random: Random, count: int) -> list[dict[str, Value]]:
    return [
        {
            "a": random.random() * 1100 - 50,
            "b": random.randrange(-50, 1050),
            "text": random.choice(["x", "y"]),
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(2))
def test_a_crowd_of_boxes_that_comes_and_goes_matches_as_each_does(seed: int) -> None:
    random = Random(seed)
    filters = dict(enumerate(crowd(random, CHUNK + 500)))
    index: MatchingIndex[int] = MatchingIndex()
    for key, one in filters.items():
        index.add(key, one)
    for key in random.sample(sorted(filters), CHUNK // 2):
        index.remove(key)
        del filters[key]
    for key, one in enumerate(crowd(random, CHUNK // 4), start=2 * CHUNK):
        index.add(key, one)
        filters[key] = one
    tests = {key: [reader(*pair) for pair in one.conjunctions[0]] for key, one in filters.items()}
    for event in events(random, 30):
        expected = [key for key, each in sorted(tests.items()) if all(test(event) for test in each)]
        assert sorted(index.match(event)) == expected
    for key in filters:
        index.remove(key)
    assert not index._root


def slab_of(boxes: list[Box]) -> Slab[int]:
    slab: Slab[int] = Slab(("a", "b"))
    for key, box in enumerate(boxes):
        slab.add(IndexEntry((), key), box, ())
    return slab


def found(slab: Slab[int], a: float, b: float) -> list[Payload[int]]:
    some: list[Payload[int]] = []
    slab.probe([a, b], {}, some)
    return some


def test_bounds_belong_to_a_box() -> None:
    slab = slab_of([((1, 2), (3, 4))])
    assert found(slab, 1, 4) == found(slab, 2, 3) == [0]
    assert found(slab, 0.9, 4) == found(slab, 2, 4.1) == []


def test_a_narrow_box_is_separated_from_a_wide_one_once_there_are_cuts() -> None:
    boxes: list[Box] = [((float(low), low + 500.0), (0.0, 1.0)) for low in range(LAST_CUT)]
    narrow = ((500.0, 500.001), (0.0, 1.0))
    assert not slab_of(boxes[:10]).is_narrow(narrow)
    assert slab_of(boxes).is_narrow(narrow)
    assert not slab_of(boxes).is_narrow(boxes[7])


def test_a_slot_is_used_again() -> None:
    slab = slab_of([])
    for key in range(10):
        entry: IndexEntry[int] = IndexEntry((), key)
        slab.add(entry, ((0, 1), (0, 1)), ())
        assert found(slab, 1, 1) == [key]
        slab.remove(entry)
    assert slab.count == 0
    assert len(slab._payloads) == 1


def test_a_slab_is_a_whole_number_of_chunks() -> None:
    assert SLAB % CHUNK == 0
