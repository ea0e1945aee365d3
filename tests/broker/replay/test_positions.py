"""Marks of positions: what was cached behind them is asked for, whatever its time, and nothing more."""

from hypothesis import given
from hypothesis import strategies as st

from broker.filters import parse
from broker.replay import Cache, CachePosition, Excerpt, Positions
from broker.replay.positions import POSITIONS_MAX
from tests.broker.replay.past import Filler

_events = st.lists(st.tuples(st.integers(0, 20), st.just("a")), min_size=1, max_size=3)
_runs = st.lists(st.none() | st.tuples(st.sampled_from("PQ"), _events), max_size=20)


@given(_runs, st.data(), st.integers(0, 25), st.booleans())
def test_what_is_behind_a_position_comes_whatever_its_time(
    runs: list[tuple[str, list[tuple[int, str]]] | None],
    data: st.DataObject,
    since_ns: int,
    newest_first: bool,  # noqa: FBT001 - drawn
) -> None:
    cache, positions = Cache(10**6, 10**6), Positions("B1/1")
    filler = Filler(cache)
    kept = []
    for run in runs:
        if run is None:
            positions.mark(cache, ["B2"])
        else:
            kept.append(filler.keep(run))
    position = positions.at(data.draw(st.sampled_from([*positions._kept, ""])))
    excerpt = Excerpt.of(
        cache,
        parse("kind == 'a'"),
        since_ns,
        newest_first=newest_first,
        first=position.number,
        low_ns=positions.low_ns(position, cache),
    )
    items = []
    while not excerpt.is_over:
        reading = excerpt.read(4)
        if reading.head is not None:
            items.append(reading.take())
    wanted = [
        item
        for number, run in enumerate(kept)
        for item in run
        if number >= position.number or item[0] >= since_ns
    ]
    assert items == sorted(wanted, reverse=newest_first)


def test_a_mark_goes_where_something_is_new() -> None:
    cache, positions = Cache(10**6, 10**6), Positions("B1/1")
    assert positions.mark(cache, ["B2", "B3"]) == []
    positions.take("B2/1:1", "B2")
    assert positions.mark(cache, ["B2", "B3"]) == ["B3"]
    assert positions.mark(cache, ["B2", "B3"]) == []
    Filler(cache).keep(("P", [(1, "a")]))
    assert positions.mark(cache, ["B2", "B3"]) == ["B2", "B3"]
    assert positions.mark(cache, ["B2", "B3", "B4"]) == ["B4"]
    assert positions.at(positions.last).marks == {"B2": "B2/1:1"}


def test_a_mark_of_another_broker_or_of_long_ago_means_the_beginning() -> None:
    cache, positions = Cache(10**6, 10**6), Positions("B1/1")
    filler = Filler(cache)
    for number in range(POSITIONS_MAX + 1):
        filler.keep(("P", [(number, "a")]))
        positions.mark(cache, ["B2"])
    for mark in ("", "B9/1:3", "B1/1:1"):
        position = positions.at(mark)
        assert (position.number, position.marks) == (0, {})
    assert positions.at("B1/1:2").number == 2
    assert positions.low_ns(CachePosition(1), cache) == 0
    assert positions.low_ns(CachePosition(3), cache) == 3
