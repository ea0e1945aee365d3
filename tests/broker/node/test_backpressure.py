from hypothesis import given
from hypothesis import strategies as st

from broker.node.backpressure import PROGRESS_BYTES, SLOW_AFTER_S, Backpressure

BOUND_BYTES = 4 * 1024 * 1024
SOFT_BYTES = BOUND_BYTES // 4


def test_no_publisher_waits_for_a_queue_below_its_soft_mark() -> None:
    assert not Backpressure(BOUND_BYTES).queued(SOFT_BYTES, now_s=0)


def test_publishers_wait_while_a_long_queue_moves_fast_enough() -> None:
    backpressure = Backpressure(BOUND_BYTES)
    queued_bytes = BOUND_BYTES
    assert backpressure.queued(queued_bytes, now_s=0)
    now_s = 0.0
    while queued_bytes - PROGRESS_BYTES > SOFT_BYTES:
        queued_bytes -= PROGRESS_BYTES
        assert not backpressure.freed(PROGRESS_BYTES, queued_bytes)
        now_s += SLOW_AFTER_S
        assert not backpressure.judge(now_s)
        assert backpressure.waiting
    assert backpressure.freed(PROGRESS_BYTES, SOFT_BYTES)
    assert not backpressure.waiting


def test_a_queue_that_moves_too_little_is_slow_and_blocks_no_publisher() -> None:
    backpressure = Backpressure(BOUND_BYTES)
    backpressure.queued(SOFT_BYTES + 1, now_s=10)
    backpressure.freed(PROGRESS_BYTES - 1, BOUND_BYTES)
    assert not backpressure.judge(10 + SLOW_AFTER_S * 0.99)
    assert backpressure.judge(10 + SLOW_AFTER_S)
    assert backpressure.slow
    assert not backpressure.queued(BOUND_BYTES, now_s=11)


def test_a_slow_subscription_is_waited_for_again_once_it_has_caught_up() -> None:
    backpressure = Backpressure(BOUND_BYTES)
    backpressure.queued(SOFT_BYTES + 1, now_s=0)
    assert backpressure.judge(SLOW_AFTER_S)
    backpressure.freed(1, SOFT_BYTES)
    assert not backpressure.slow
    assert backpressure.queued(SOFT_BYTES + 1, now_s=1)


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["queue", "free", "judge"]),
            st.integers(0, BOUND_BYTES),
            st.floats(0, SLOW_AFTER_S),
        ),
        max_size=50,
    )
)
def test_no_publisher_waits_longer_than_the_limit_without_progress(
    steps: list[tuple[str, int, float]],
) -> None:
    backpressure = Backpressure(BOUND_BYTES)
    now_s = waits_since_s = 0.0
    queued_bytes = freed_bytes = 0
    for kind, size_bytes, passed_s in steps:
        now_s += passed_s
        was_waiting = backpressure.waiting
        if kind == "queue":
            queued_bytes += size_bytes
            backpressure.queued(queued_bytes, now_s)
        elif kind == "free":
            left_bytes = max(0, queued_bytes - size_bytes)
            freed_bytes += queued_bytes - left_bytes
            backpressure.freed(queued_bytes - left_bytes, left_bytes)
            queued_bytes = left_bytes
        else:
            backpressure.judge(now_s)
            if backpressure.waiting and now_s - waits_since_s >= SLOW_AFTER_S:
                assert freed_bytes >= PROGRESS_BYTES
                waits_since_s, freed_bytes = now_s, 0
        if backpressure.waiting and not was_waiting:
            waits_since_s, freed_bytes = now_s, 0
        assert not (backpressure.waiting and backpressure.slow)
        assert not backpressure.waiting or queued_bytes > SOFT_BYTES
