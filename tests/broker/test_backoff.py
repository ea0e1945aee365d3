from random import Random

from hypothesis import given
from hypothesis import strategies as st

from broker.backoff import FIRST_S, LONGEST_S, TRIES_WHILE_KEPT, Backoff, longest_while_kept_s


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


@given(kept_s=st.floats(TRIES_WHILE_KEPT * FIRST_S, 3600), seed=st.integers())
def test_what_is_kept_for_a_time_is_tried_many_times_within_it(kept_s: float, seed: int) -> None:
    backoff = Backoff(Random(seed))
    waits_s = [backoff.next_s(longest_while_kept_s(kept_s)) for _ in range(TRIES_WHILE_KEPT)]
    assert sum(waits_s) <= kept_s
    assert min(waits_s) >= FIRST_S / 2
    assert max(waits_s) <= LONGEST_S
