"""Which tree is advised: the best one, and no move that gains nothing."""

from collections.abc import Iterator
from itertools import product

import pytest
from attrs import evolve

from broker.advice import CHILDREN, TrafficError, WaitingModel, advise
from broker.advice.search import DELIVERIES_MIN, TreeSearch
from broker.advice.waiting import ROOT
from tests.broker.advice.overlays import drawn, everybody, traffic_of

STAR = {"B1": "", "B2": "B1", "B3": "B1", "B4": "B1"}
CHAIN = {"B1": "", "B2": "B1", "B3": "B2", "B4": "B3"}


def every_tree(brokers: int) -> Iterator[list[int]]:
    for uplinks in product(range(ROOT, brokers), repeat=brokers):
        if uplinks.count(ROOT) == 1 and all(_is_rooted(place, uplinks) for place in range(brokers)):
            yield list(uplinks)


def _is_rooted(place: int, uplinks: tuple[int, ...]) -> bool:
    for _ in uplinks:
        place = uplinks[place] if place != ROOT else ROOT
    return place == ROOT


TREES = list(every_tree(4))


def test_small_overlays_have_as_many_trees_as_there_are() -> None:
    assert len(TREES) == 4**3


@pytest.mark.parametrize("seed", range(12))
def test_no_tree_of_a_small_overlay_is_better_than_the_one_that_is_advised(seed: int) -> None:
    traffic = drawn(4, seed)
    model = WaitingModel.of(traffic)
    names = {name: place for place, name in enumerate(model.names)} | {"": ROOT}
    present = [names[each.uplink] for each in traffic]
    search = TreeSearch(model, present, model.cost(present).total, CHILDREN, keeps_root=False)
    assert search.value(search.best()) == pytest.approx(min(map(search.value, TREES)))


def test_who_all_read_each_other_are_best_below_one() -> None:
    advice = advise(everybody(CHAIN))
    assert advice.uplinks == STAR
    assert [(each.verb, each.broker, each.uplink) for each in advice.steps] == [
        ("move", "B3", "B1"),
        ("move", "B4", "B1"),
    ]
    assert advice.after.waited < advice.before.waited
    assert 0 < advice.gain < 1


def test_nothing_is_advised_where_nothing_gains() -> None:
    advice = advise(everybody(STAR))
    assert (advice.uplinks, advice.steps, advice.gain) == (STAR, [], 0)


def test_another_root_has_to_gain_more_than_a_move() -> None:
    read = {name: {"a": (1, 1000)} for name in CHAIN}
    one = traffic_of(STAR, {"B4": {"a": 1000}, "B1": {"a": 0}}, read)
    assert advise(one).uplinks["B4"] == ""
    assert advise(one, keeps_root=True).uplinks["B1"] == ""
    slightly = traffic_of(STAR, {name: {"a": 250 + 5 * (name == "B4")} for name in STAR}, read)
    assert advise(slightly).uplinks == STAR


def test_groups_that_read_nothing_of_each_other_are_taken_apart() -> None:
    kinds = {f"B{n}": "ab"[n % 2] for n in range(1, 9)}
    chain = {f"B{n}": f"B{n - 1}" if n > 1 else "" for n in range(1, 9)}
    published = {name: {kind: 100} for name, kind in kinds.items()}
    advice = advise(traffic_of(chain, published, {name: {kind: (1, 400)} for name, kind in kinds.items()}))
    assert advice.uplinks == {
        **dict.fromkeys(("B3", "B5", "B7", "B2"), "B1"),
        **dict.fromkeys(("B4", "B6", "B8"), "B2"),
        "B1": "",
    }


def test_no_broker_gets_more_children_than_allowed() -> None:
    uplinks = advise(everybody(CHAIN), children_max=2).uplinks
    assert max(map(list(uplinks.values()).count, uplinks)) == 2


def test_how_long_a_link_takes_follows_from_what_has_waited() -> None:
    traffic = everybody(STAR)
    held = advise(traffic).before.held
    assert advise([evolve(each, waiting_s=held / 4 * 0.002) for each in traffic]).link_s == pytest.approx(
        0.002
    )
    assert advise(traffic).link_s is None


def test_few_deliveries_are_no_reason_to_move() -> None:
    with pytest.raises(TrafficError, match=rf"16 deliveries.*at least {DELIVERIES_MIN}"):
        advise(everybody(CHAIN, events=1))


def test_brokers_of_two_trees_get_no_advice() -> None:
    with pytest.raises(TrafficError, match="no one tree"):
        advise(everybody({"B1": "", "B2": ""}))


def test_a_search_that_would_take_too_long_ends_with_what_it_has() -> None:
    model = WaitingModel.of(everybody(CHAIN))
    present = [ROOT, 0, 1, 2]
    search = TreeSearch(model, present, 1.0, CHILDREN, keeps_root=False, work_left=100)
    assert model.cost(search.best()).total <= model.cost(present).total
    assert search.work_left <= 0
