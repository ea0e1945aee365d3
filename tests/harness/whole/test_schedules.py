"""Whole brokers and clients keep every promise, whatever breaks; the same seed gives the same trace."""

import pytest

from harness.explorer.mutants import applied
from harness.whole.knobs import WHOLE_FAULTS
from harness.whole.outcomes import of_seed, trace_of
from ordering.pairwise import Pairwise

BROKERS = (2, 6)
SOME = 12


@pytest.mark.parametrize("faults", WHOLE_FAULTS)
def test_promises_are_kept(faults: str) -> None:
    for seed in range(SOME):
        assert of_seed(seed, faults, BROKERS, Pairwise).faults == (), seed


@pytest.mark.parametrize("faults", WHOLE_FAULTS)
def test_the_same_seed_gives_the_same_trace(faults: str) -> None:
    assert trace_of(1, faults, BROKERS, Pairwise) == trace_of(1, faults, BROKERS, Pairwise)


def test_another_seed_gives_another_trace() -> None:
    assert trace_of(1, "none", BROKERS, Pairwise) != trace_of(2, "none", BROKERS, Pairwise)


def test_schedules_publish_and_deliver() -> None:
    history = of_seed(0, "none", BROKERS, Pairwise).world.history
    assert history.publications
    assert history.delivery_count


def test_a_broken_rule_is_found() -> None:
    with applied("link-skips-one"):
        assert any(of_seed(seed, "churn", BROKERS, Pairwise).faults for seed in range(SOME))


def test_credit_that_does_not_add_up_is_found() -> None:
    with applied("credit-twice"):
        kinds = {kind for seed in range(SOME) for kind, _ in of_seed(seed, "none", BROKERS, Pairwise).faults}
    assert "memory" in kinds
