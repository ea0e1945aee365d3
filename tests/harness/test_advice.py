"""Advice about routing, checked against what the thesis has in closed form."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import pytest

from broker.filters import parse
from broker.routing import RouteFilter
from harness.advice import ROUTINGS, AdvisedLoad, AdvisedOverlay, RoutingCost, advised, costs
from harness.evaluation.routing.expected import expected_tables
from harness.evaluation.routing.thesis import ROOT, Crowd, Want, thesis_tree

TREE = thesis_tree(levels=2)
UPLINKS = {place.name: place.uplink for place in TREE.places}
LINKS = len(UPLINKS) - 1


def wants(kind: str, consumers: int) -> Mapping[str, Sequence[Want]]:
    crowd = Crowd(kind)
    return {
        place.name: [want for consumer in range(consumers) for want in crowd.wants(place, consumer)]
        for place in TREE.locals
    }


@lru_cache
def overlay(kind: str, consumers: int) -> AdvisedOverlay:
    wanted = {
        name: [RouteFilter(want.id, want.filter) for want in some]
        for name, some in wants(kind, consumers).items()
    }
    return AdvisedOverlay(UPLINKS, wanted, {ROOT: [parse("True")]})


@lru_cache
def by_routing(kind: str, load: AdvisedLoad) -> Mapping[str, RoutingCost]:
    return {each.routing: each for each in costs(overlay(kind, 1), load)}


CALM = AdvisedLoad(events_per_s=100.0, changes_per_s=0.1, links_for_event=2.0)


@pytest.mark.parametrize("name", [each for each in ROUTINGS if not each.startswith("flooding")])
def test_tables_are_those_that_are_worked_out_for_the_thesis(name: str) -> None:
    strategy, _, advertising = name.partition("+")
    source = ROOT if advertising == "simple" else None
    expected = sum(expected_tables(TREE, strategy, wants("intervals", 1), source).values())
    assert by_routing("intervals", CALM)[name].entries == expected


def test_a_change_under_simple_routing_costs_every_link_or_the_mean_way_to_the_source() -> None:
    found = by_routing("intervals", CALM)
    assert found["simple+flooding"].messages_for_change == LINKS
    ways = [len(TREE.chain(place.name)) for place in TREE.locals]
    assert found["simple+simple"].messages_for_change == pytest.approx(sum(ways) / len(ways), rel=0.1)


def test_break_even_is_what_a_change_costs_for_what_an_event_saves() -> None:
    found = by_routing("intervals", CALM)["simple+flooding"]
    assert found.break_even == pytest.approx(LINKS / (LINKS - 2.0))
    assert found.messages_per_s == pytest.approx(100 * 2.0 + 0.1 * LINKS)


def test_filtering_is_advised_above_break_even_and_flooding_below() -> None:
    found = [*by_routing("intervals", CALM).values()]
    filtering = [each.entries for each in found if not each.routing.startswith("flooding")]
    assert advised(found).entries == min(filtering) > 0
    restless = AdvisedLoad(events_per_s=0.01, changes_per_s=100.0, links_for_event=2.0)
    assert advised(costs(overlay("intervals", 1), restless)).routing == "flooding+simple"


def test_where_every_event_goes_everywhere_no_filter_pays() -> None:
    everywhere = AdvisedLoad(events_per_s=1.0, changes_per_s=1.0, links_for_event=float(LINKS))
    found = costs(overlay("intervals", 1), everywhere)
    assert {each.break_even for each in found} == {None}
    assert advised(found).routing == "flooding+simple"
