"""The paper's claims, each held against what really happens. Theorem 9 is in `test_counterexamples`.

Every broker knows every subscription by name, as in the paper.
"""

from itertools import combinations

import pytest
from attrs import astuple

from broker.routing import SIMPLE
from harness.simulator.outcome import of_seed
from harness.simulator.world import World
from ordering.fifo import Fifo
from ordering.interface import Measures, OrderingFactory
from ordering.plugins import configured
from ordering.published import Published
from ordering.published.detection import all_conflicts, hop_pairs
from ordering.published.plugin import FORMS
from tests.ordering.published.trees import Overlay, hop_to, overlay, path, share_a_broker

BROKERS = (2, 6)

PLUGINS: dict[str, OrderingFactory] = {
    "fifo": Fifo,
    **{form: configured(Published, {"form": form}) for form in FORMS},
}


@pytest.mark.parametrize("name", PLUGINS)
def test_theorem_2_holds_fifo_links_keep_each_publishers_order(name: str) -> None:
    for seed in range(150):
        assert not of_seed(seed, "none", BROKERS, PLUGINS[name], routing=SIMPLE).has("publisher")


def test_theorem_3_holds_two_subscribers_disagree_only_where_four_paths_share_no_broker() -> None:
    disagreements = 0
    for seed in range(120):
        world = of_seed(seed, "none", BROKERS, Fifo).world
        streams = [
            (name, [number for number in s.delivered if not s.replayed >> number & 1])
            for name, s in world.record.streams.items()
        ]
        for (one, a), (other, b) in combinations(streams, 2):
            common = [number for number in a if number in b]
            places = {number: place for place, number in enumerate(b)}
            for p, q in combinations(common, 2):
                if places[p] > places[q]:
                    disagreements += 1
                    publishers = [world.publishers[world.record.publications[n].publisher] for n in (p, q)]
                    assert not share_a_broker(
                        publishers[0], publishers[1], world.subscribers[one], world.subscribers[other]
                    )
    assert disagreements


def test_theorem_8_holds_every_potential_conflict_is_detected_where_the_paths_part() -> None:
    conflicts = 0
    for seed in range(150):
        tree = overlay(seed)
        for p, kind, one, other, q in tree.potential_conflicts():
            conflicts += 1
            both = zip(path(p.site, one.site), path(p.site, other.site), strict=False)
            at = [a for a, b in both if a is b][-1]
            matching, origin = tree.matching(at, p, kind)
            pairs = {(c.asked, c.waits) for c in all_conflicts(matching, origin, tree.lookup(at))}
            hops = [
                hop_to(at, way[1]) if len(way) > 1 else None
                for way in (path(at, one.site), path(at, other.site), path(at, q.site))
            ]
            asked = hops[2]
            assert asked is not None
            assert asked in hops[:2]
            waiting = other if hops[0] == asked else one
            (waits,) = {
                hop for hop, found in matching.items() if any(each.id == waiting.name for each in found)
            }
            assert (asked, waits) in pairs
    assert conflicts > 100


def test_the_fast_detection_finds_the_same_pairs_of_hops() -> None:
    found = 0
    for seed in range(150):
        tree: Overlay = overlay(seed)
        for publisher in tree.world.publishers.values():
            for site in tree.world.sites.values():
                matching, origin = tree.matching(site, publisher, publisher.kinds[0])
                if matching:
                    lookup = tree.lookup(site)
                    pairs = {(c.asked, c.waits) for c in all_conflicts(matching, origin, lookup)}
                    fast = [(c.asked, c.waits) for c in hop_pairs(matching, origin, lookup)]
                    assert set(fast) == pairs
                    assert len(fast) == len(pairs)
                    found += len(pairs)
    assert found


def spent(form: str, publishers: str, subscriptions: int = 1) -> Measures:
    """What a publication in the middle of a chain of three costs, with publishers at some brokers."""
    world = World(PLUGINS[form], SIMPLE)
    for broker, above in (("B1", ""), ("B2", "B1"), ("B3", "B2")):
        world.do(("start", broker))
        world.do(("dial", broker, above))
        world.do(("drain",))
        for number in range(subscriptions):
            world.do(("subscribe", f"S{number}{broker}", broker, "a"))
    for each in publishers:
        world.do(("advertise", f"P{each}", f"B{each}", "a"))
    world.do(("drain",))
    world.do(("publish", "P2", "a"))
    world.do(("drain",))
    assert all(len(stream.delivered) == 1 for stream in world.record.streams.values())
    spent = [site.core.measures for site in world.sites.values()]
    return Measures(*map(sum, zip(*map(astuple, spent), strict=True)))


@pytest.mark.parametrize("form", FORMS)
def test_ordering_costs_only_where_there_may_be_conflicts(form: str) -> None:
    assert spent(form, "2") == Measures()
    assert spent(form, "12").deferred == 2
    assert spent(form, "123").deferred == 3


def test_metadata_grows_with_the_subscriptions_and_in_the_fast_form_there_is_none() -> None:
    sizes = [spent("basic", "123", count).metadata_bytes for count in (1, 2, 8, 32)]
    assert 0 < sizes[0] < sizes[1] < sizes[2] < sizes[3]
    assert spent("progressive", "123", 32).metadata_bytes == sizes[3]
    assert spent("fast", "123", 32).metadata_bytes == 0


@pytest.mark.parametrize("form", FORMS)
def test_theorem_9_does_not_hold_order_is_violated_in_many_schedules(form: str) -> None:
    outcomes = [of_seed(seed, "none", BROKERS, PLUGINS[form], routing=SIMPLE) for seed in range(100)]
    assert sum(outcome.has("pairwise") for outcome in outcomes) > 5


@pytest.mark.parametrize("form", FORMS)
def test_everything_is_delivered_once_and_nothing_waits_for_ever_while_nobody_is_lost(form: str) -> None:
    for seed in range(150):
        kinds = {kind for kind, _ in of_seed(seed, "none", BROKERS, PLUGINS[form], routing=SIMPLE).faults}
        assert kinds <= {"pairwise", "causal"}
