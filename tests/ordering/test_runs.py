"""A run is taken as its events would be in turn, whatever happens before and after."""

from collections.abc import Callable, Sequence

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from ordering.fifo import Fifo
from ordering.interface import Emission, Note, Route
from ordering.pairwise import REQUEST, Pairwise


@frozen
class Event:
    sequence: int
    ordered: bool
    publisher: str = "p"


HOPS = 4
UP = 1
sets = st.integers(0, 2**HOPS - 1)
runs = st.tuples(
    st.just("run"),
    st.integers(1, 4),
    st.booleans(),
    st.integers(0, HOPS - 1),
    st.sampled_from([0, REQUEST]),
    sets,
    sets,
)
others = st.tuples(st.sampled_from(["acknowledged", "lost", "control", "root"]), st.integers(1, 5))


def sent(emissions: Sequence[Emission]) -> dict[int, list[tuple[object, int]]]:
    """Return what every hop gets, in order, with acknowledgements one by one."""
    found: dict[int, list[tuple[object, int]]] = {hop: [] for hop in range(HOPS)}
    for item, targets, mark in emissions:
        several = item if isinstance(item, tuple) else [item]
        if isinstance(item, Note):
            several = [Note((1,))] * item.content[0]
        for hop in range(HOPS):
            if targets >> hop & 1:
                found[hop] += [(each, mark) for each in several]
    return found


def feed(ordering: Pairwise, kind: str, number: int) -> Sequence[Emission]:
    """Let something else happen than a publication."""
    if kind == "acknowledged":
        is_open = ordering._open_requests >= number
        return ordering.note(UP, (number,)) if is_open else ()
    if kind == "lost":
        return ordering.hop_lost(1 << number % (HOPS - 1) + 1)
    if kind == "control":
        return ordering.control(f"message {number}", 1 << number % HOPS)
    return ordering.uplink_changed(0)


@given(st.lists(runs | others, max_size=12))
def test_pairwise_takes_a_run_as_its_events_in_turn(steps: list[tuple[object, ...]]) -> None:
    together, alone = Pairwise(), Pairwise()
    together.uplink_changed(UP)
    alone.uplink_changed(UP)
    sequence = 0
    for kind, *values in steps:
        if kind != "run":
            assert isinstance(kind, str)
            assert isinstance(values[0], int)
            assert sent(feed(together, kind, values[0])) == sent(feed(alone, kind, values[0]))
        else:
            count, ordered, hop, mark, targets, exposed = values
            events = [Event(sequence + number, bool(ordered)) for number in range(int(str(count)))]
            sequence += len(events)
            origin = 1 << int(str(hop))
            reached = int(str(targets)) & ~origin
            asked = (origin, int(str(mark)), Route(reached, int(str(exposed)) & reached & ~UP))
            taken = together.run(events, *asked)
            in_turn = [each for event in events for each in alone.publication(event, *asked)]
            assert sent(taken) == sent(in_turn)
        assert together.waiting_count == alone.waiting_count
        assert together.measures == alone.measures
        assert sorted(repr(each.item) for each in together.blocked()) == sorted(
            repr(each.item) for each in alone.blocked()
        )


@pytest.mark.parametrize("make", [Pairwise, Fifo])
def test_a_run_that_nothing_holds_back_leaves_at_once(make: Callable[[], Pairwise | Fifo]) -> None:
    events = [Event(1, ordered=True), Event(2, ordered=True)]
    assert list(make().run(events, 2, 0, Route(12, 4))) == [Emission(tuple(events), 12, 0)]
