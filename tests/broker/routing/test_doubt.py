"""Selections stay sound where `Filter.covers` is in doubt, so that covering is not transitive."""

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.filters import Filter, parse
from broker.routing import RouteFilter, Selection, merging, unions
from broker.routing import parse as routing

EQUALS = [parse(f"0 <= x <= {high}") for high in range(1, 6)]
"""These represent filters of so different forms that covering is found only for some pairs."""

pairs = st.sampled_from([pair for pair in product(range(len(EQUALS)), repeat=2) if pair[0] != pair[1]])


Seen = frozenset[tuple[int, int]]

doubts = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
histories = st.lists(st.integers(0, len(EQUALS) - 1), max_size=20)


def see(monkeypatch: pytest.MonkeyPatch, seen: Seen) -> None:
    """Let only these pairs be seen to cover."""
    numbers = {each: number for number, each in enumerate(EQUALS)}

    def covers(one: Filter, other: Filter) -> bool:
        return (numbers.get(one, -1), numbers.get(other, -1)) in seen

    monkeypatch.setattr(Filter, "covers", covers)
    monkeypatch.setattr(merging, "covers_transitively", lambda _: False)
    monkeypatch.setattr(unions, "covers_transitively", lambda _: False)


def took(selection: Selection, known: dict[str, RouteFilter], step: int) -> None:
    """A candidate goes if it is known, else it comes."""
    route = RouteFilter(str(step), EQUALS[step])
    if known.pop(route.id, None):
        selection.remove(route.id)
    else:
        known[route.id] = route
        selection.add(route)


@pytest.mark.parametrize("name", ["covering", "merging"])
@given(seen=st.frozensets(pairs), steps=histories)
@doubts
def test_rings_of_doubt_end_and_leave_no_item_without_a_cover(
    name: str, seen: Seen, steps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, seen)
    selection, known = routing(name).subscriptions.selection(), dict[str, RouteFilter]()
    for step in steps:
        took(selection, known, step)
        assert all(list(selection.covers_of(route)) for route in known.values())


@given(seen=st.frozensets(pairs), steps=histories)
@doubts
def test_without_rings_covering_announces_what_is_computed_from_scratch(
    seen: Seen, steps: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    see(monkeypatch, frozenset(pair for pair in seen if pair[0] > pair[1]))
    covering = routing("covering").subscriptions
    selection, known = covering.selection(), dict[str, RouteFilter]()
    for step in steps:
        took(selection, known, step)
        assert {route.item for route in selection.announced.values()} == {
            route.item for route in covering.reduce(known.values())
        }
