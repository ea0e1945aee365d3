"""Many replays at a time: what they cost, how many there may be, and what one input can cause."""

import tracemalloc
from collections.abc import Callable
from typing import Final

import pytest
from attrs import define, field

from broker.core import BrokerCore, Hop, replays
from broker.filters import Filter, parse
from broker.filters.values import Attributes
from broker.messages import Publication
from broker.replay import Bounds, ReplayWindow
from broker.replay.playback import ITEM_BYTES
from broker.replay_messages import ReplayAsked, ReplayCut, ReplayMore, ReplayPart, ReplayReady
from broker.wire import encode_publication, publication_prefix
from ordering.pairwise import Pairwise

RUN: Final = 50
SOME: Final = 1024
CONTENT: Final = parse("x >= 0")
OPEN_BYTES_MAX: Final = 4 * 1024 * 1024
"""What 300 open replays may take over 60,000 events: the index, 28 bytes for each event, and 5 KiB each."""


def publications(publisher: str, first: int, count: int) -> list[Publication]:
    prefix, made = publication_prefix(publisher), []
    for number in range(first, first + count):
        frame = encode_publication(prefix, number, number, {"x": number}, b"", ordered=True)
        made.append(Publication(publisher, number, {"x": number}, True, frame, 0, number))
    return made


def broker(name: str, kept: int, step_count: int = 4096) -> BrokerCore:
    """One that has kept so many events."""
    core, publisher = BrokerCore(name, Pairwise), f"alice@{name}.k3f9/1"
    core.bound_replays(Bounds(64 * SOME * SOME, 10**6, 256, step_count))
    core.advertise(publisher, CONTENT)
    core.take()
    for first in range(1, kept + 1, RUN):
        core.publish(publisher, publications(publisher, first, min(RUN, kept + 1 - first)))
        core.take()
    return core


def replay(core: BrokerCore, name: str, count: int = 0, bound_bytes: int = SOME * SOME) -> Hop:
    return core.subscribe(name, CONTENT, ordered=True, window=ReplayWindow(0, count, bound_bytes))


@define(eq=False)
class Pair:
    """Two brokers, and what came to local subscriptions of each."""

    near: BrokerCore
    far: BrokerCore
    near_link: Hop = field(init=False)
    far_link: Hop = field(init=False)
    came: dict[str, list[object]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.near_link = self.near.open_link(self.far.name, uplink=False)
        self.far_link = self.far.open_link(self.near.name, uplink=True)
        self.settle()

    def settle(self, room_bytes: int = 10**6) -> None:
        """Let everything arrive, and give those that replay so much room."""
        is_moving = True
        while is_moving:
            is_moving = False
            for core, peer, link in (
                (self.near, self.far, self.far_link),
                (self.far, self.near, self.near_link),
            ):
                effects = core.take()
                for hop, messages in effects.outgoing:
                    is_moving = True
                    if hop.is_link:
                        peer.receive(link, messages)
                    else:
                        self.came.setdefault(hop.name, []).extend(messages)
                for name in effects.replaying if room_bytes else ():
                    is_moving = True
                    core.replay_more(name, room_bytes)


def sequences(messages: list[object]) -> list[int]:
    return [each.sequence for each in messages if isinstance(each, Publication)]


def test_three_hundred_open_replays_take_a_few_megabytes() -> None:
    core = broker("B1", 60_000)
    tracemalloc.start()
    before_bytes, _ = tracemalloc.get_traced_memory()
    for number in range(300):
        replay(core, f"S{number}")
        names = core.take().replaying
        # Each has begun, and then reads no more.
        while names:
            core.replay_more(names[0], 1)
            effects = core.take()
            names = effects.replaying if not effects.outgoing else []
    taken_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    tracemalloc.stop()
    assert core.cache.retention.indexed_count == 60_000
    assert len(core.cache.retention) == 300
    assert taken_bytes < OPEN_BYTES_MAX
    for number in range(300):
        core.unsubscribe(f"S{number}")
    assert len(core.cache.retention) == 0


def test_subscriptions_that_ask_for_a_number_collect_no_more_than_a_bound_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame_bytes = len(publications("alice@B1.k3f9/1", 1, 1)[0].frame)
    monkeypatch.setattr(replays, "COLLECTED_BYTES_MAX", 250 * (frame_bytes + ITEM_BYTES))
    core = broker("B1", 200)
    came: dict[str, list[object]] = {"one": [], "two": []}
    for name, messages in came.items():
        replay(core, name, 200)
        # It collects, and takes the first event: what is left stays where it is.
        while not messages:
            effects = core.take()
            for hop, delivered in effects.outgoing:
                came[hop.name] += delivered
            if name in effects.replaying:
                core.replay_more(name, 1)
    assert sequences(came["one"]) == [1, 2]
    assert isinstance(came["two"][0], ReplayCut)
    assert 200 - 60 < sequences(came["two"])[0] <= 200 - 50


def test_no_more_questions_of_a_link_are_open_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "QUESTIONS_MAX", 2)
    pair = Pair(broker("B1", 5), broker("B2", 0))
    for name in ("one", "two", "three"):
        replay(pair.far, name)
    pair.settle(0)
    assert pair.near.counts()["replays"] == 2
    pair.settle()
    for name in ("one", "two", "three"):
        pair.far.replay_more(name, 10**6)
    pair.settle()
    got = {name: [type(each) for each in messages] for name, messages in pair.came.items()}
    assert [got[name] for name in ("one", "two")] == [[Publication] * 5] * 2
    assert got["three"] == [ReplayCut]
    # Room again: the next one gets everything.
    replay(pair.far, "four")
    pair.settle()
    pair.far.replay_more("four", 10**6)
    pair.settle()
    assert sequences(pair.came["four"]) == [1, 2, 3, 4, 5]


def test_a_question_beyond_the_limit_is_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "QUESTIONS_MAX", 0)
    pair = Pair(broker("B1", 5), broker("B2", 0))
    core, link = pair.near, pair.near_link
    core.receive(link, [ReplayAsked("S", CONTENT, 0, newest_first=False, position="")])
    core.receive(link, [ReplayMore("S")])
    sent = [message for hop, messages in core.take().outgoing if hop is link for message in messages]
    assert sent == [ReplayReady("S"), ReplayPart("S", (), (), is_over=True, is_whole=False)]


def test_a_broker_knows_whether_another_replay_may_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "REPLAYS_MAX", 2)
    core = broker("B1", 5)
    sent = []
    for name in ("one", "two"):
        sent.append(core.replays.can_replay)
        replay(core, name)
    sent.append(core.replays.can_replay)
    core.unsubscribe("one")
    sent.append(core.replays.can_replay)
    assert sent == [True, True, False, True]


def test_one_input_looks_at_a_bounded_number_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    compiled = Filter.compiled

    def watched(self: Filter) -> Callable[[Attributes], bool]:
        def matches(event: Attributes) -> bool:
            looked.append(event)
            return compiled(self)(event)

        return matches

    monkeypatch.setattr(Filter, "compiled", watched)
    pair = Pair(broker("B1", 100, step_count=10), broker("B2", 5))
    names = [f"S{number}" for number in range(20)]
    for name in names:
        pair.near.subscribe(name, parse("x in (1, 100)"), ordered=True, window=ReplayWindow(0, 0, SOME))
    pair.settle(0)
    for name in names:
        # It looks until it has found one here; then it waits for the neighbour, which is silent.
        replaying, steps = [name], 0
        while replaying:
            looked.clear()
            pair.near.replay_more(name, 10**6)
            replaying, steps = pair.near.take().replaying, steps + 1
            assert len(looked) <= 10
            assert steps < 20
    looked.clear()
    pair.near.close_link(pair.near_link)
    assert len(looked) <= 10
    pair.settle()
    assert [sequences(pair.came[name]) for name in names] == [[1, 100]] * 20
    assert all(ReplayCut() in pair.came[name] for name in names)


def test_what_comes_live_and_is_too_much_ends_the_past_at_once() -> None:
    core = broker("B1", 5)
    frame_bytes = len(publications("alice@B1.k3f9/1", 1, 1)[0].frame)
    hop = replay(core, "S", bound_bytes=2 * frame_bytes)
    core.take()
    came: list[object] = []
    for first in range(6, 10):
        core.publish("alice@B1.k3f9/1", publications("alice@B1.k3f9/1", first, 1))
        came += [each for to, messages in core.take().outgoing if to is hop for each in messages]
        assert bool(came) == (first >= 8)
    assert isinstance(came[0], ReplayCut)
    assert sequences(came) == [6, 7, 8, 9]
