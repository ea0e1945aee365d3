"""What follows from a neighbour that comes or goes is done in parts, and the world goes on between them."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from attrs import evolve

from broker.core import BrokerCore, CoreEffects, Hop
from broker.filters import parse
from broker.messages import LinkMessage, Publication, PublicationsLost
from broker.routing import DEFAULT, SIMPLE, Routing
from broker.station import Station, SubscriptionTerms, recover, snapshot_of
from harness.benchmarks.pair import Pair
from ordering.pairwise import Pairwise

COUNT = 20


@pytest.fixture(params=[DEFAULT, SIMPLE], ids=str)
def routing(request: pytest.FixtureRequest) -> Routing:
    base: Routing = request.param
    return evolve(base, part_count=3)


def large_core(routing: Routing, name: str = "L") -> BrokerCore:
    core = BrokerCore(name, Pairwise, routing=routing)
    for number in range(COUNT):
        core.subscribe(f"s{number}", parse(f"x == {number}"), ordered=True)
    core.take()
    return core


def steps_of(pair: Pair) -> Iterator[int]:
    """Let everything arrive; yield how many subscriptions the upper one knows, before each further part."""
    is_busy = True
    while is_busy:
        effects = pair.lower.take()
        sent = _sent(effects, pair.up)
        pair.upper.receive(pair.down, sent)
        answers = _sent(pair.upper.take(), pair.down)
        pair.lower.receive(pair.up, answers)
        is_busy = bool(sent or answers or effects.is_unfinished)
        yield pair.upper.counts()["subscriptions"]
        pair.lower.continue_crossing()


def _sent(effects: CoreEffects, link: Hop) -> list[LinkMessage]:
    return [each for hop, messages in effects.outgoing if hop is link for each in messages]


def joined(routing: Routing, lower: BrokerCore | None = None) -> Pair:
    upper, lower = BrokerCore("U", Pairwise, routing=routing), lower or large_core(routing)
    upper.advertise("p", parse("True"))
    return Pair(lower, upper, lower.open_link("U", uplink=True), upper.open_link("L", uplink=False))


def test_a_new_neighbour_learns_a_part_at_a_time_and_everything_in_the_end(routing: Routing) -> None:
    known = list(steps_of(joined(routing)))
    assert known[-1] == COUNT
    assert max(later - earlier for earlier, later in pairwise(known)) <= routing.part_count


def test_what_comes_and_goes_between_two_parts_is_neither_lost_nor_left(routing: Routing) -> None:
    pair, rounds = joined(routing), 0
    for rounds, _ in enumerate(steps_of(pair)):
        if rounds < COUNT // 2:
            pair.lower.unsubscribe(f"s{rounds}")
            pair.lower.subscribe(f"t{rounds}", parse(f"x == {100 + rounds}"), ordered=True)
    assert rounds > COUNT
    known = {str(entry.filter) for entry in pair.upper.tables.entries()}
    assert known == {str(entry.filter) for entry in pair.lower.tables.entries()}
    assert not pair.lower.counts()["closed_gates"]


def test_a_neighbour_without_advertisements_learns_in_parts_when_it_has_one(routing: Routing) -> None:
    upper, lower = BrokerCore("U", Pairwise, routing=routing), large_core(routing)
    pair = Pair(lower, upper, lower.open_link("U", uplink=True), upper.open_link("L", uplink=False))
    assert set(steps_of(pair)) == {0}
    upper.advertise("p", parse("True"))
    pair.lower.receive(pair.up, _sent(upper.take(), pair.down))
    known = list(steps_of(pair))
    assert (known[0], known[-1]) == (0, COUNT)
    assert len(known) > COUNT


def test_no_gate_opens_before_everything_is_sent(routing: Routing) -> None:
    pair = joined(routing)
    for known in steps_of(pair):
        is_open = [not entry.closed & pair.up.bit for entry in pair.lower.tables.entries()]
        if 0 < known < COUNT:
            assert not any(is_open)
    assert all(not entry.closed for entry in pair.lower.tables.entries())


def test_what_overlaps_one_more_advertisement_is_offered_in_parts_and_awaited(routing: Routing) -> None:
    upper, lower = BrokerCore("U", Pairwise, routing=routing), large_core(routing)
    pair = Pair(lower, upper, lower.open_link("U", uplink=True), upper.open_link("L", uplink=False))
    upper.advertise("p", parse("x == 0"))
    assert list(steps_of(pair))[-1] == 1
    for publisher in ("q", "r"):
        upper.advertise(publisher, parse("True"))
    shown = [1]
    for known in steps_of(pair):
        assert known == COUNT or upper.counts()["open_barriers"] == 2
        shown.append(known)
    assert shown[-1] == COUNT
    assert max(later - earlier for earlier, later in pairwise(shown)) <= routing.part_count
    assert not upper.counts()["open_barriers"]


def gaps_in(effects: CoreEffects) -> dict[str, list[type]]:
    return {hop.name: list(map(type, messages)) for hop, messages in effects.outgoing if not hop.is_link}


def with_lost_publisher(routing: Routing, core: BrokerCore | None = None) -> BrokerCore:
    """Return a core that has just lost the link to a publisher of everything."""
    pair = joined(routing, core)
    pair.lower.advertise("local", parse("True"))
    assert list(steps_of(pair))[-1] == COUNT
    while pair.lower.take().is_unfinished:
        pair.lower.continue_crossing()
    pair.lower.close_link(pair.up)
    return pair.lower


def test_gaps_are_sent_in_parts_each_once(routing: Routing) -> None:
    lower = with_lost_publisher(routing)
    sent: list[str] = []
    effects = lower.take()
    while effects.is_unfinished:
        lower.continue_crossing()
        effects = lower.take()
        part = gaps_in(effects)
        assert len(part) <= routing.part_count
        assert all(messages == [PublicationsLost] for messages in part.values())
        sent += part
    assert sorted(sent) == sorted(f"s{number}" for number in range(COUNT))


def test_a_restart_forgets_no_gap_that_is_owed(routing: Routing) -> None:
    station = Station("L", Pairwise, "i", ordering_name="pairwise", routing=routing)
    for number in range(COUNT):
        station.subscribe(f"s{number}", SubscriptionTerms(parse(f"x == {number}"), ordered=True))
    station.take()
    sent = gaps_in(with_lost_publisher(routing, station.core).take())
    assert not sent
    again = recover("L", Pairwise, "pairwise", snapshot_of(station), (), routing)
    assert again is not None
    while again.core.take().is_unfinished:
        again.core.continue_crossing()
        sent |= gaps_in(again.core.take())
    assert set(sent) == {f"s{number}" for number in range(COUNT)}


def test_an_owed_gap_comes_before_what_is_published_next(routing: Routing) -> None:
    lower = with_lost_publisher(routing)
    lower.publish("local", [Publication("local", 1, {"x": 7}, True, b"")])
    assert gaps_in(lower.take()) == {"s7": [PublicationsLost, Publication]}


def test_who_has_come_since_or_has_gone_is_owed_nothing(routing: Routing) -> None:
    lower = with_lost_publisher(routing)
    lower.take()
    lower.unsubscribe("s7")
    lower.subscribe("new", parse("x == 7"), ordered=True)
    lower.publish("local", [Publication("local", 1, {"x": 7}, True, b"")])
    assert gaps_in(lower.take()) == {"new": [Publication]}


def test_what_the_uplink_advertises_exposes_a_subscription_before_its_part_comes(routing: Routing) -> None:
    core = large_core(routing)
    link = core.open_link("U", uplink=True)
    core.tables.open_link(link)
    core.tables.set_uplink(link)
    assert not core.tables.route({"x": 7}, 0).exposed
    core.tables.add_advertisement(link, "p", parse("x == 7"))
    assert core.tables.changes
    assert core.tables.route({"x": 7}, 0).exposed == core.tables.route({"x": 7}, 0).targets
    assert not core.tables.route({"x": 8}, 0).exposed
    core.tables.remove_advertisement(link, "p")
    assert not core.tables.route({"x": 7}, 0).exposed
    while core.tables.changes:
        core.tables.count_changes()
    assert core.tables.exposures() == {}
