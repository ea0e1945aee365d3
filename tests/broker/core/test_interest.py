"""The filters that overlap a followed advertisement: differences add up to what the tables have."""

from hypothesis import given
from hypothesis import strategies as st

from broker.core.demand import Demand
from broker.core.interest import INTEREST_BYTES_MAX, InterestWatch
from broker.filters import Filter, parse
from tests.broker.core.test_demand import contents

LONG = [parse(f"x == '{number}{'a' * 8000}'") for number in range(9)]
"""Eight fit into the limit, nine do not."""


class Reader:
    """What a client knows, from differences alone."""

    def __init__(self, watch: InterestWatch) -> None:
        self.watch = watch
        self.known: set[Filter] = set()

    def look(self) -> set[Filter]:
        difference = self.watch.take()
        assert self.known.isdisjoint(difference.added)
        assert self.known.issuperset(difference.removed)
        self.known = (self.known - set(difference.removed)) | set(difference.added)
        return self.known


@given(contents, st.lists(st.one_of(contents, st.sampled_from(LONG), st.none()), max_size=60))
def test_differences_add_up_to_the_filters_that_overlap(
    advertised: Filter, steps: list[Filter | None]
) -> None:
    demand, filters = Demand(), dict[Filter, None]()
    demand.advertised("p", advertised, filters)
    reader = Reader(demand.watch("p", filters))
    for content in [*steps, None]:
        if content is None:
            present = {each for each in filters if each.overlaps(advertised)}
            size_bytes = sum(len(str(each)) for each in present)
            known = reader.look()
            if size_bytes <= INTEREST_BYTES_MAX // 2:
                assert known == present
            else:
                assert known in (present, {advertised})
                assert size_bytes <= INTEREST_BYTES_MAX or known == {advertised}
            assert not reader.watch.take()
        elif content in filters:
            del filters[content]
            demand.interest_went(content)
        else:
            filters[content] = None
            demand.interest_came(content)


def test_more_than_the_limit_is_given_as_the_advertisement_until_it_is_half() -> None:
    demand, filters, everything = Demand(), dict.fromkeys(LONG), parse("exists(x)")
    demand.advertised("p", everything, filters)
    reader = Reader(demand.watch("p", filters))
    assert reader.look() == {everything}
    for place, content in enumerate(LONG, 1):
        del filters[content]
        demand.interest_went(content)
        assert reader.look() == ({everything} if place < 5 else set(LONG[place:]))


def test_what_came_and_went_is_not_reported_nor_kept() -> None:
    demand, filters = Demand(), dict[Filter, None]()
    demand.advertised("p", parse("True"), filters)
    watch = demand.watch("p", filters)
    watch.take()
    for content in LONG[:5]:
        demand.interest_came(content)
        demand.interest_went(content)
    assert not watch._changed
    assert not watch.take()
    demand.withdrawn("p")
    assert not demand._watches
    assert not demand.watches_touched
