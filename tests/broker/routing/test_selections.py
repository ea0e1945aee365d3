"""The laws of every selection, over random histories of candidates."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.routing import Change, RouteFilter, Selection, Strategy, parse
from broker.routing.strategy import MERGER_MARK
from tests.broker.routing.worlds import Step, meaning, routes, steps

EXACT = ("simple", "identity", "covering")
ANNOUNCING = (*EXACT, "merging", "merging:1.5")

by_name = pytest.mark.parametrize("name", ANNOUNCING)


def strategy_named(name: str) -> Strategy:
    return parse(name).subscriptions


def is_within(inner: list[bool], outer: list[bool]) -> bool:
    return all(wide or not narrow for narrow, wide in zip(inner, outer, strict=True))


class History:
    """A selection, its candidates, and the neighbour's view of it."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.selection: Selection = strategy.selection()
        self.candidates: dict[str, RouteFilter] = {}
        self.neighbour: dict[str, RouteFilter] = {}

    def take(self, step: Step) -> Change:
        if isinstance(step, RouteFilter):
            self.candidates[step.id] = step
            change = self.selection.add(step)
        else:
            self.candidates.pop(step, None)
            change = self.selection.remove(step)
        self.receive(change)
        return change

    def receive(self, change: Change) -> None:
        for each in change.removed:
            del self.neighbour[each]
        for route in change.added:
            assert route.id not in self.neighbour
            self.neighbour[route.id] = route


def histories(name: str, several: list[Step]) -> History:
    history = History(strategy_named(name))
    for step in several:
        history.take(step)
    return history


@by_name
@given(several=steps)
@settings(deadline=None)
def test_the_neighbour_knows_what_was_announced(name: str, several: list[Step]) -> None:
    history = History(strategy_named(name))
    for step in several:
        change = history.take(step)
        assert list(change.removed) == sorted(set(change.removed))
        assert [route.id for route in change.added] == sorted({route.id for route in change.added})
        assert history.neighbour == dict(history.selection.announced)


@by_name
@given(several=steps, route=routes)
@settings(deadline=None)
def test_a_selection_knows_all_its_candidates_announced_or_not(
    name: str, several: list[Step], route: RouteFilter
) -> None:
    history = histories(name, several)
    others = history.candidates | {route.id: route}
    assert history.selection.chooses_from(history.candidates)
    assert history.selection.chooses_from(others) is (others == history.candidates)


@by_name
@given(several=steps, route=routes)
@settings(deadline=None)
def test_covers_of_names_all_announced_items_that_cover_it(
    name: str, several: list[Step], route: RouteFilter
) -> None:
    history = histories(name, several)
    announced, strategy = history.selection.announced, history.strategy
    for each in (*history.candidates.values(), route):
        covers = list(history.selection.covers_of(each))
        assert covers == sorted(
            known.id
            for known in announced.values()
            if strategy.covers_item(known.item, each.item) and (name != "simple" or known.id == each.id)
        )
        assert covers or each is route


@by_name
@given(several=steps)
@settings(deadline=None)
def test_no_announced_item_covers_another(name: str, several: list[Step]) -> None:
    history = histories(name, several)
    if name != "simple":
        for route in history.selection.announced.values():
            assert list(history.selection.covers_of(route)) == [route.id]


@pytest.mark.parametrize("name", EXACT)
@given(several=steps)
@settings(deadline=None)
def test_the_announced_items_are_those_computed_from_scratch(name: str, several: list[Step]) -> None:
    history = History(strategy_named(name))
    for step in several:
        history.take(step)
        reduced = history.strategy.reduce(history.candidates.values())
        announced = [route.item for route in history.selection.announced.values()]
        assert {route.item for route in reduced} == set(announced)
        if name != "simple":
            assert len(announced) == len(set(announced))


@by_name
@given(several=steps)
@settings(deadline=None)
def test_what_is_announced_matches_what_candidates_match(name: str, several: list[Step]) -> None:
    history = histories(name, several)
    for ordered in (True, False):
        wanted = meaning(
            route.filter for route in history.candidates.values() if route.ordered or not ordered
        )
        announced = meaning(
            route.filter for route in history.selection.announced.values() if route.ordered or not ordered
        )
        assert announced == wanted if ":" not in name else is_within(wanted, announced)


@given(several=steps)
@settings(deadline=None)
def test_a_merger_matches_what_the_candidates_match_that_it_covers(several: list[Step]) -> None:
    history = histories("merging", several)
    for announced in history.selection.announced.values():
        parts = [
            route.filter
            for route in history.candidates.values()
            if history.strategy.covers_item(announced.item, route.item)
        ]
        assert meaning([announced.filter]) == meaning(parts)


@by_name
@given(several=steps, rest=steps, choice=st.randoms(use_true_random=False))
@settings(deadline=None)
def test_a_selection_made_again_goes_on_in_the_same_way(
    name: str, several: list[Step], rest: list[Step], choice: Random
) -> None:
    history = histories(name, several)
    shuffled = list(history.candidates.values())
    choice.shuffle(shuffled)
    again = History(history.strategy)
    again.selection = history.strategy.selection(history.selection.snapshot(), shuffled)
    again.candidates, again.neighbour = dict(history.candidates), dict(history.neighbour)
    assert again.selection.snapshot() == history.selection.snapshot()
    for step in rest:
        assert again.take(step) == history.take(step)
    assert again.selection.snapshot() == history.selection.snapshot()


@by_name
@given(several=steps, rest=steps)
@settings(deadline=None)
def test_several_changes_are_announced_as_one(name: str, several: list[Step], rest: list[Step]) -> None:
    history = histories(name, several)
    coming = [step for step in rest if isinstance(step, RouteFilter)]
    going = [step for step in rest if isinstance(step, str)]
    history.candidates.update((route.id, route) for route in coming)
    for each in going:
        history.candidates.pop(each, None)
    history.receive(history.selection.edit(coming, going))
    assert history.neighbour == dict(history.selection.announced)
    announced = [route.filter for route in history.neighbour.values()]
    for route in history.candidates.values():
        assert list(history.selection.covers_of(route))
    wanted = [route.filter for route in history.candidates.values()]
    assert (
        meaning(announced) == meaning(wanted)
        if ":" not in name
        else is_within(meaning(wanted), meaning(announced))
    )
    if name in EXACT:
        reduced = history.strategy.reduce(history.candidates.values())
        assert {route.item for route in reduced} == {route.item for route in history.neighbour.values()}


@by_name
@given(several=steps, choice=st.randoms(use_true_random=False))
@settings(deadline=None)
def test_nothing_is_left_when_all_candidates_have_gone(
    name: str, several: list[Step], choice: Random
) -> None:
    history = histories(name, several)
    ids = list(history.candidates)
    choice.shuffle(ids)
    for each in ids:
        history.take(each)
    assert not history.neighbour
    assert not history.selection.announced


@by_name
@given(several=steps)
@settings(deadline=None)
def test_an_announced_id_is_that_of_a_candidate_or_outlives_one(name: str, several: list[Step]) -> None:
    history = histories(name, several)
    for route in history.selection.announced.values():
        assert route in several or route.id.startswith(MERGER_MARK)
