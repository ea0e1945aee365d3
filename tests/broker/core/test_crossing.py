"""What a new neighbour is to know is worked out in parts, and the world goes on between them."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from attrs import evolve

from broker.core import BrokerCore, CoreEffects, Hop
from broker.filters import parse
from broker.messages import LinkMessage
from broker.routing import DEFAULT, SIMPLE, Routing
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


def joined(routing: Routing) -> Pair:
    upper, lower = BrokerCore("U", Pairwise, routing=routing), large_core(routing)
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
