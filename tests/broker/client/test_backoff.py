from random import Random

from hypothesis import given
from hypothesis import strategies as st

from broker.client.backoff import Backoff


@given(st.randoms(use_true_random=False), st.integers(1, 2000))
def test_waits_double_within_their_spread_up_to_the_longest(random: Random, count: int) -> None:
    backoff = Backoff(0.05, 5.0, random)
    for attempt in range(count):
        whole_s = min(0.05 * 2.0 ** min(attempt, 50), 5.0)
        assert whole_s / 2 <= backoff.next_s() <= whole_s


def test_a_connection_that_held_starts_the_waits_anew() -> None:
    backoff = Backoff(0.05, 5.0, Random(1))
    for _ in range(10):
        backoff.next_s()
    backoff.reset()
    assert backoff.next_s() <= 0.05
