"""Uniting many items at once, over boxes of small numbers and symbols."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from broker.filters import parse
from broker.routing.covering import covers_item
from broker.routing.strategy import Item
from broker.routing.unions import merged
from tests.broker.routing.worlds import meaning

_ends = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted)
_boxes = st.builds(
    lambda ends, symbols: f"{ends[0]} <= price <= {ends[1]} and symbol in {tuple(symbols)!r}",
    _ends,
    st.lists(st.sampled_from(["a", "ab", "b", "c"]), min_size=1, max_size=2),
)
items = st.lists(st.builds(Item, _boxes.map(parse), st.just(value=True)), unique=True, max_size=8)


@given(several=items, choice=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=300)
def test_the_order_of_items_does_not_matter_and_each_lies_in_one_union(
    several: list[Item], choice: Random
) -> None:
    unions = merged(several, 1.0)
    shuffled = several[:]
    choice.shuffle(shuffled)
    assert merged(shuffled, 1.0) == unions
    assert all(any(covers_item(union, item) for union in unions) for item in several)
    assert meaning(union.filter for union in unions) == meaning(item.filter for item in several)
