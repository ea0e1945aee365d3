"""Prefixes and suffixes of every length, many at once, against the texts' own methods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.filters import Filter
from broker.filters.constraints import TextPattern
from broker.matching import MatchingIndex
from broker.matching.affixes import prefix_of

texts = st.text("ab", min_size=1, max_size=5)
long_texts = st.tuples(st.integers(40, 140), texts).map(lambda parts: "a" * parts[0] + parts[1])


def index_of(patterns: list[TextPattern]) -> MatchingIndex[int]:
    index: MatchingIndex[int] = MatchingIndex()
    for key, pattern in enumerate(patterns):
        index.add(key, Filter(((("x", pattern),),)))
    return index


@given(st.lists(texts | long_texts, min_size=5, max_size=40), st.data())
def test_a_text_finds_its_beginnings_and_ends(affixes: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(affixes)) + data.draw(texts)
    prefixes = index_of([TextPattern(prefix=affix) for affix in affixes])
    suffixes = index_of([TextPattern(suffix=affix[::-1]) for affix in affixes])
    expected = [key for key, affix in enumerate(affixes) if text.startswith(affix)]
    assert sorted(prefixes.match({"x": text})) == expected
    assert sorted(suffixes.match({"x": text[::-1]})) == expected


@pytest.mark.parametrize("length", [48, 49, 63, 64, 70, 5000])
def test_a_prefix_differs_from_one_that_differs_at_its_end(length: int) -> None:
    index = index_of([TextPattern(prefix="a" * (length - 1) + end) for end in "bcdefgh"])
    assert index.match({"x": "a" * (length - 1) + "d"}) == [2]


def test_a_text_range_has_the_prefix_its_bounds_share() -> None:
    assert prefix_of(TextPattern(low="IBM", high="IBX")) == "IB"
    assert prefix_of(TextPattern(low="IBM", high="IBX", prefix="IBN")) == "IBN"
    assert prefix_of(TextPattern(low="IBM")) == ""
