"""What a plugin says that it forwards is what it would let through, and asking changes nothing."""

from copy import deepcopy

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from ordering.fifo import Fifo
from ordering.interface import Emission, Route
from ordering.pairwise import REQUEST, Pairwise


@frozen
class Event:
    sequence: int
    ordered: bool
    publisher: str = "p"


HOPS = 4
sets = st.integers(0, 2**HOPS - 1)
events = st.builds(Event, st.integers(1, 9), st.booleans())
publications = st.tuples(events, st.integers(0, HOPS - 1), st.sampled_from([0, REQUEST]), sets, sets)


@pytest.mark.parametrize("plugin", [Pairwise, Fifo])
@given(st.booleans(), st.lists(publications, max_size=8))
def test_what_is_forwarded_would_leave_at_once_for_all_targets(
    plugin: type[Pairwise | Fifo],
    has_uplink: bool,  # noqa: FBT001 - hypothesis passes arguments by place
    several: list[tuple[Event, int, int, int, int]],
) -> None:
    ordering = plugin()
    ordering.uplink_changed(1 if has_uplink else 0)
    for event, hop, mark, targets, exposed in several:
        origin = 1 << hop
        reached = targets & ~origin
        route = Route(reached, exposed & reached & ~1)
        if ordering.forwards(event, origin, route):
            unmarked = deepcopy(ordering)
            assert list(unmarked.publication(event, origin, 0, route)) == [Emission(event, reached, 0)]
            assert unmarked.measures == ordering.measures
            assert unmarked.waiting_count == ordering.waiting_count
        ordering.publication(event, origin, mark, route)
