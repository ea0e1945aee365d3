"""When publications are due."""

from itertools import islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runs.performance import common_routing
from harness.runs.plan import due_times
from harness.scenarios.scenario import Publishers, Scenario

RATES = ("steady", "random", "bursts", "flood")


@given(st.sampled_from(RATES), st.floats(0.1, 1000), st.integers(1, 20), st.integers())
def test_times_never_go_back(rate: str, per_second: float, burst: int, seed: int) -> None:
    publishers = Publishers(rate=rate, per_second=per_second, burst=burst)
    times = list(islice(due_times(publishers, Random(seed)), 50))
    assert times == sorted(times)
    assert times[0] >= 0


@pytest.mark.parametrize("rate", ["steady", "random", "bursts"])
def test_the_rate_is_the_one_asked_for(rate: str) -> None:
    publishers = Publishers(rate=rate, per_second=50, burst=10)
    (last,) = islice(due_times(publishers, Random(3)), 9999, 10000)
    assert last == pytest.approx(10000 / 50, rel=0.05)


def test_a_burst_comes_at_once() -> None:
    times = list(islice(due_times(Publishers(rate="bursts", per_second=5, burst=10), Random(1)), 20))
    assert len(set(times)) == 2
    assert times[10] - times[9] == pytest.approx(2.0)


def test_orderings_that_are_compared_have_one_routing() -> None:
    assert common_routing(Scenario(), ["pairwise", "fifo"]) == "covering+simple"
    assert common_routing(Scenario(), ["pairwise", "published"]) == "simple+simple"
    assert common_routing(Scenario(routing="merging"), ["pairwise", "published"]) == "merging+covering"
