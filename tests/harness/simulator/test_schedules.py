"""Order as a property: whatever a seed makes happen, every promise is kept; one seed, one trace."""

import os
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.explorer.history import second_opinion
from harness.simulator.knobs import CLOCKS, FAULTS, MEMORY, draw
from harness.simulator.outcome import of_actions, of_seed, trace_of
from ordering.fifo import Fifo
from ordering.pairwise import Pairwise

SMALL = (2, 6)

SEEDS = 150
"""An example is a seed and nothing else, so campaigns look at any number of further ones: `make explore`."""


@pytest.mark.timeout(300)  # hundreds of schedules
@pytest.mark.parametrize("faults", [each for each in FAULTS if not each.endswith((CLOCKS, MEMORY))])
@settings(max_examples=SEEDS, deadline=None)
@given(seed=st.integers(0, 2**48))
def test_every_promise_is_kept(faults: str, seed: int) -> None:
    assert of_seed(seed, faults, SMALL, Pairwise).faults == ()


@pytest.mark.parametrize("faults", FAULTS)
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**48))
def test_the_checker_finds_nothing_either(faults: str, seed: int) -> None:
    assert second_opinion(of_seed(seed, faults, SMALL, Pairwise)) == []


@pytest.mark.parametrize("faults", FAULTS)
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**48))
def test_a_schedule_is_its_actions(faults: str, seed: int) -> None:
    first = of_seed(seed, faults, SMALL, Pairwise)
    again = of_actions(first.actions, Pairwise)
    assert again.actions == first.actions
    for name, stream in first.world.record.streams.items():
        assert again.world.record.streams[name].delivered == stream.delivered


@pytest.mark.parametrize("faults", FAULTS)
def test_the_same_seed_leaves_the_same_trace(faults: str) -> None:
    for seed in range(20):
        assert trace_of(seed, faults, SMALL, Pairwise) == trace_of(seed, faults, SMALL, Pairwise)


PRINT_TRACES = f"""
from harness.simulator.outcome import trace_of
from ordering.pairwise import Pairwise
for faults in {FAULTS}:
    for seed in range(10):
        print(trace_of(seed, faults, {SMALL}, Pairwise))
"""


def test_traces_do_not_depend_on_the_order_of_hashes() -> None:
    runs = {
        subprocess.run(  # noqa: S603 - it runs this interpreter
            [sys.executable, "-c", PRINT_TRACES],
            env={**os.environ, "PYTHONHASHSEED": hashing},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hashing in ("1", "2", "3")
    }
    assert len(runs) == 1


def test_different_seeds_make_different_schedules() -> None:
    assert len({trace_of(seed, "crash", SMALL, Pairwise) for seed in range(20)}) == 20


def test_a_hundred_brokers_keep_order() -> None:
    outcome = of_seed(7, "none", (100, 100), Pairwise)
    assert len(outcome.world.sites) == 100
    assert outcome.world.record.delivery_count > 20
    assert outcome.faults == ()


def test_fifo_does_not_keep_pairwise_order() -> None:
    kinds = {kind for seed in range(50) for kind, _ in of_seed(seed, "none", SMALL, Fifo).faults}
    assert "pairwise" in kinds


@given(seed=st.integers(0, 2**48), faults=st.sampled_from(FAULTS))
def test_knobs_stay_within_the_brokers_asked_for(seed: int, faults: str) -> None:
    assert 2 <= draw(Random(seed), faults, (2, 3)).brokers <= 3
