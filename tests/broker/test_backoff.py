from random import Random

from hypothesis import given
from hypothesis import strategies as st

from broker.backoff import FIRST_S, LONGEST_S, Backoff


@given(seed=st.integers())
def test_waits_double_up_to_the_longest_and_half_is_drawn(seed: int) -> None:
    backoff = Backoff(Random(seed))
    longest_s = FIRST_S
    for _ in range(12):
        assert longest_s / 2 <= backoff.next_s() <= longest_s
        longest_s = min(LONGEST_S, longest_s * 2)
    assert longest_s == LONGEST_S


def test_after_a_success_the_first_wait_is_short_again() -> None:
    backoff = Backoff(Random(1))
    for _ in range(9):
        backoff.next_s()
    backoff.reset()
    assert backoff.next_s() <= FIRST_S
