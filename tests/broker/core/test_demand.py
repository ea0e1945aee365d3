"""Demand is counted as filters and advertisements come and go, and reported once per change."""

from hypothesis import given
from hypothesis import strategies as st

from broker.core.demand import Demand
from broker.filters import Filter, parse
from ordering.fifo import Fifo
from tests.broker.core.network import Network

CONTENTS = ["c == 1", "c in (1, 2)", "c > 1", "c == 3", "c < 3 and exists(x)", "x == 'a'", "True"]
contents = st.sampled_from(CONTENTS).map(parse)


@given(
    st.lists(
        st.tuples(st.sampled_from(["filter", "publisher", "look"]), st.integers(0, 4), contents), max_size=60
    )
)
def test_news_are_the_difference_to_the_last_report(steps: list[tuple[str, int, Filter]]) -> None:
    demand = Demand()
    filters: dict[Filter, None] = {}
    publishers: dict[str, Filter] = {}
    reported: dict[str, bool] = {}
    for verb, number, content in [*steps, ("look", 0, parse("True"))]:
        name = f"p{number}"
        if verb == "filter" and content in filters:
            del filters[content]
            demand.interest_went(content)
        elif verb == "filter":
            filters[content] = None
            demand.interest_came(content)
        elif verb == "publisher" and name in publishers:
            del publishers[name]
            reported.pop(name, None)
            demand.withdrawn(name)
        elif verb == "publisher":
            publishers[name] = content
            demand.advertised(name, content, filters)
        else:
            for publisher, is_wanted in demand.news():
                assert reported.get(publisher, False) is not is_wanted
                reported[publisher] = is_wanted
            for publisher, advertised in publishers.items():
                is_wanted = any(advertised.overlaps(each) for each in filters)
                assert demand.is_wanted(publisher) is reported.get(publisher, False) is is_wanted
    assert demand.news() == []


def test_interest_comes_from_several_hops_away_and_ends_with_the_last_subscription() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C", "D")
    network.advertise("A", "p", "kind == 'trade'")
    network.subscribe("D", "elsewhere", "kind == 'quote'")
    network.settle()
    assert network.wanted == set()
    network.subscribe("D", "s1", "price > 5")
    network.subscribe("C", "s2", "kind in ('trade', 'quote')")
    network.settle()
    assert network.wanted == {"p"}
    network.unsubscribe("D", "s1")
    network.settle()
    assert network.wanted == {"p"}
    network.unsubscribe("C", "s2")
    network.settle()
    assert network.wanted == set()


def test_a_publisher_that_is_wanted_already_learns_it_when_the_barrier_is_passed() -> None:
    network = Network(Fifo)
    network.chain("A", "B", "C")
    network.subscribe("C", "s", "kind == 'trade'")
    network.settle()
    network.advertise("A", "p", "True")
    while "p" not in network.advertised:
        network.step_any()
    assert network.wanted == {"p"}


def test_a_lost_link_takes_the_interest_behind_it_away() -> None:
    network = Network(Fifo)
    network.chain("A", "B")
    network.advertise("A", "p", "True")
    network.subscribe("B", "s", "True")
    network.settle()
    assert network.wanted == {"p"}
    network.cut("B", "A")
    assert network.wanted == set()


def test_what_comes_and_goes_within_one_step_is_not_reported() -> None:
    network = Network(Fifo)
    network.add("A")
    core = network.cores["A"]
    core.advertise("p", parse("True"))
    core.take()
    core.subscribe("s", parse("c == 1"), ordered=True)
    core.unsubscribe("s")
    assert core.take().wanted == []
