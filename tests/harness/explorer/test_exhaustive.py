"""Small worlds, every interleaving: nothing goes wrong in any state, and a broken rule does."""

from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from attrs import evolve

from harness.explorer.exhaustive import Cores, Exploration, SmallWorld, _disagreement, _State
from harness.explorer.mutants import applied
from harness.explorer.worlds import (
    TREES,
    changing_worlds,
    moving_worlds,
    reading_worlds,
    static_worlds,
    stepping_worlds,
)
from ordering.pairwise import Pairwise

TWO = TREES[0]
BOTH = (("B1", "a", "aa"), ("B2", "a", "aa"))
WANT_BELOW = (("B2", "a"), ("B3", "a"))
WANT = (("B1", "a"), ("B2", "a"))


@pytest.mark.parametrize(
    ("worlds", "every"),
    [
        (static_worlds, 199),
        (changing_worlds, 151),
        (moving_worlds, 41),
        (stepping_worlds, 107),
        (reading_worlds, 371),
    ],
)
def test_nothing_goes_wrong_in_any_state(worlds: Callable[[], Iterator[SmallWorld]], every: int) -> None:
    cores = Cores(Pairwise)
    for world in islice(worlds(), 3, None, every):
        finding = Exploration(world, cores).run()
        assert not finding.wrong, f"{world}: {finding.wrong}"
        assert finding.states > 1


def test_a_world_has_the_states_that_interleavings_give() -> None:
    # One broker's publication has left or not, has arrived or not, and likewise the other's.
    world = SmallWorld(TWO, (("B1", "a", "a"), ("B2", "a", "a")), (("B1", "a"),))
    assert Exploration(world, Cores(Pairwise)).run().states == 7


@pytest.mark.parametrize("mutant", ["no-detection", "no-hop-order", "early-acknowledgement"])
def test_a_broken_rule_is_found_in_a_static_world(mutant: str) -> None:
    with applied(mutant):
        cores = Cores(Pairwise)
        assert any(Exploration(world, cores).run().wrong for world in islice(static_worlds(), 0, None, 50))


@pytest.mark.parametrize("mutant", ["lift-reads-at-once", "lift-interrupts"])
def test_a_broken_rule_of_lifts_is_found(mutant: str) -> None:
    with applied(mutant):
        cores = Cores(Pairwise)
        assert any(Exploration(world, cores).run().wrong for world in islice(stepping_worlds(), 3))


def test_a_broken_rule_of_lowerings_is_found() -> None:
    world = SmallWorld(TREES[2], (("B1", "a", "a"), ("B2", "a", "a")), WANT_BELOW, ("B3", ("step", "B2")))
    assert not Exploration(world, Cores(Pairwise)).run().wrong
    with applied("lower-keeps-nothing"):
        assert Exploration(world, Cores(Pairwise)).run().wrong


def test_waiting_for_a_lost_uplink_is_found() -> None:
    world = SmallWorld(TWO, BOTH, WANT, ("B1", ("crash",)))
    assert not Exploration(world, Cores(Pairwise)).run().wrong
    with applied("lost-uplink-waits"):
        assert Exploration(world, Cores(Pairwise)).run().wrong == "B2 still waits for something"


def test_a_missing_barrier_is_found() -> None:
    world = SmallWorld(TWO, (("B1", "a", "a"),), WANT, ("B2", ("advertise", "P3", "a")))
    assert not Exploration(world, Cores(Pairwise)).run().wrong
    with applied("no-barrier"):
        assert Exploration(world, Cores(Pairwise)).run().wrong


def test_an_unordered_subscription_may_disagree_and_still_keeps_causal_order() -> None:
    clients = ((("B1", "a", "a"), ("B2", "a", "a")), (("B1", "a"), ("B2", "a"), ("B1", "a")))
    everybody = frozenset(("S1", "S2", "S3"))
    world = SmallWorld(TWO, *clients, None, everybody, is_read=True)
    with applied("no-detection"):
        assert not Exploration(world, Cores(Pairwise)).run().wrong
        assert Exploration(evolve(world, unordered=frozenset()), Cores(Pairwise)).run().wrong


def test_what_comes_before_its_cause_is_found() -> None:
    first, second = ("P1", 1), ("P2", 1)
    pasts = ((first, frozenset[tuple[str, int]]()), (second, frozenset((first,))))
    state = _State((), (), (("S1", (second, first)),), (1, 1), frozenset(), 0, pasts)
    assert _disagreement(state, frozenset(("S1",))).startswith(
        "S1 delivers ('P2', 1) before what came before it"
    )
