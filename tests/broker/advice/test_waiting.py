"""What a tree costs, worked out by hand."""

import pytest
from attrs import evolve

from broker.advice import TrafficError, TreeCost, WaitingModel
from broker.advice.traffic import Readership
from tests.broker.advice.overlays import traffic_of

CHAIN = {"B1": "", "B2": "B1", "B3": "B2"}


def test_an_event_waits_at_its_broker_for_the_way_to_the_root_and_back() -> None:
    # B1 and B3 publish, and readers are at both ends: B3's own waits for four links, B1's for nothing.
    ends = {"B1": {"a": 10}, "B3": {"a": 10}}
    model = WaitingModel.of(traffic_of(CHAIN, ends, {"B1": {"a": (1, 20)}, "B3": {"a": (1, 20)}}))
    cost = model.cost([-1, 0, 1])
    # It is held at B3 for four links, and at B2, which has no reader, for the two of its answer.
    assert cost == TreeCost(deliveries=40, travelled=40, waited=40, held=60)
    assert cost.total == 80


def test_an_event_waits_for_the_highest_broker_that_wants_it_alone() -> None:
    published = {"B1": {"a": 0}, "B3": {"a": 10}}
    model = WaitingModel.of(traffic_of(CHAIN, published, {"B2": {"a": (1, 10)}, "B3": {"a": (1, 10)}}))
    # Exposed at B2 is only what B1 could send, and B2 is where events of B3 end: B3 alone waits.
    assert model.cost([-1, 0, 1]) == TreeCost(deliveries=20, travelled=10, waited=20, held=20)


def test_what_no_other_publisher_overlaps_waits_for_nothing() -> None:
    read = {"B1": {"a": (1, 10)}, "B3": {"a": (2, 20)}}
    model = WaitingModel.of(traffic_of(CHAIN, {"B3": {"a": 10}, "B1": {"b": 5}}, read))
    assert model.cost([-1, 0, 1]) == TreeCost(deliveries=30, travelled=20, waited=0, held=0)


def test_unordered_subscriptions_wait_for_nothing() -> None:
    ends = {"B1": {"a": 10}, "B3": {"a": 10}}
    read = {"B1": {"a": (1, 20)}, "B3": {"a": (1, 20)}}
    assert WaitingModel.of(traffic_of(CHAIN, ends, read, ordered=False)).cost([-1, 0, 1]).waited == 0


def test_an_event_climbs_as_often_as_something_above_wants_it() -> None:
    # B1 wants half of what B2 publishes, so B2's own reader waits for it half of the time.
    published = {"B1": {"a": 0}, "B2": {"a": 10}}
    model = WaitingModel.of(traffic_of(CHAIN, published, {"B1": {"a": (1, 5)}, "B2": {"a": (1, 10)}}))
    assert model.cost([-1, 0, 1]) == TreeCost(deliveries=15, travelled=5, waited=10, held=10)


def test_a_filter_that_nobody_here_can_read_is_named() -> None:
    (broken,) = traffic_of({"B1": ""}, {"B1": {"a": 10}}, {})
    broken = evolve(broken, subscribed={("orbit(x)", True): Readership(1, 1)})
    with pytest.raises(TrafficError, match="orbit"):
        WaitingModel.of([broken])
