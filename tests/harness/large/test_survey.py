"""A small survey of a large overlay: what it counts is what follows from its shape."""

import json
from collections import Counter
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from broker.commands import concord
from harness.large.lockstep import lockstep
from harness.large.shape import LargeShape
from harness.large.survey import LargeSurvey, TickSpread, survey

SMALL = LargeShape(
    brokers=22, fanout=3, subscriptions=120, publishers=4, stocks=12, events=40, changes=4, seed=3
)


def measured(shape: LargeShape, jobs: int = 1) -> LargeSurvey:
    found = survey(shape, jobs, lambda _: None)
    return attrs.evolve(found, memory_bytes=0, core_us_for_event_at_broker=0.0)


@pytest.fixture(scope="module")
def found() -> LargeSurvey:
    return measured(SMALL)


def ways(shape: LargeShape) -> Counter[int]:
    """By brute force: the distances of all deliveries."""
    wanted = [(shape.broker_of(each), shape.wanted(each)) for each in range(shape.subscriptions)]
    owed = Counter[int]()
    for number in range(shape.events):
        event, origin = shape.event(number), shape.broker_of_publisher(number % shape.publishers)
        owed.update(shape.distance(origin, broker) for broker, each in wanted if each.match(event))
    return owed


def test_results_do_not_depend_on_the_number_of_processes(found: LargeSurvey) -> None:
    assert measured(SMALL, jobs=2) == found


def test_everything_that_is_wanted_is_delivered_over_its_own_way(found: LargeSurvey) -> None:
    owed = ways(SMALL)
    assert found.deliveries == owed.total() > SMALL.events
    assert found.hops == TickSpread.of(owed)


def test_order_costs_waiting_that_publisher_order_does_not(found: LargeSurvey) -> None:
    alone = measured(attrs.evolve(SMALL, ordering="fifo"))
    assert (alone.waiting.most, alone.acknowledgements_for_event) == (0, 0)
    assert found.waiting.most > 0 < found.acknowledgements_for_event
    assert attrs.evolve(alone, shape=SMALL).hops == found.hops


def test_with_simple_routing_a_subscription_has_an_entry_wherever_an_event_may_come_by() -> None:
    shape = attrs.evolve(SMALL, routing="simple+simple", events=0, changes=0)
    expected = 0
    for subscription in range(shape.subscriptions):
        chain = set(shape.chain(shape.broker_of(subscription)))
        brokers = set[int]()
        for publisher in range(shape.publishers):
            other = set(shape.chain(shape.broker_of_publisher(publisher)))
            meeting = max(chain & other, key=shape.level)
            brokers |= (chain ^ other) | {meeting}
        expected += len(brokers - {shape.broker_of(subscription)})
    assert measured(shape).entries == expected


def test_something_is_under_way_until_it_has_settled() -> None:
    with lockstep(SMALL, 1) as overlay:
        overlay.order("open", 1)
        assert overlay.settle() > 1
        assert overlay.settle() == 1


def test_the_command_prints_levels_and_writes_everything(tmp_path: Path) -> None:
    out = tmp_path / "large.json"
    words = "harness large --brokers 13 --fanout 3 --subscriptions 60 --publishers 2 --events 6 --changes 2"
    result = CliRunner().invoke(concord, [*words.split(), "--out", str(out)], catch_exceptions=False)
    assert "60 subscriptions: set up with" in result.stdout
    assert [each["brokers"] for each in json.loads(out.read_text())["levels"]] == [1, 3, 9]
