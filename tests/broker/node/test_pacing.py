from hypothesis import given
from hypothesis import strategies as st

from broker.node.pacing import PATIENCE_S, PROGRESS_BYTES, Pace

BOUND_BYTES = 4 * 1024 * 1024
SOFT_BYTES = BOUND_BYTES // 4


def test_nobody_waits_for_a_queue_below_its_soft_mark() -> None:
    assert not Pace(BOUND_BYTES).queued(SOFT_BYTES, now_s=0)


def test_publishers_wait_while_a_long_queue_moves_fast_enough() -> None:
    pace = Pace(BOUND_BYTES)
    queued_bytes = BOUND_BYTES
    assert pace.queued(queued_bytes, now_s=0)
    now_s = 0.0
    while queued_bytes - PROGRESS_BYTES > SOFT_BYTES:
        queued_bytes -= PROGRESS_BYTES
        assert not pace.freed(PROGRESS_BYTES, queued_bytes)
        now_s += PATIENCE_S
        assert not pace.judge(now_s)
        assert pace.waiting
    assert pace.freed(PROGRESS_BYTES, SOFT_BYTES)
    assert not pace.waiting


def test_a_queue_that_moves_too_little_is_slow_and_nobody_waits_for_it() -> None:
    pace = Pace(BOUND_BYTES)
    pace.queued(SOFT_BYTES + 1, now_s=10)
    pace.freed(PROGRESS_BYTES - 1, BOUND_BYTES)
    assert not pace.judge(10 + PATIENCE_S * 0.99)
    assert pace.judge(10 + PATIENCE_S)
    assert pace.slow
    assert not pace.queued(BOUND_BYTES, now_s=11)


def test_a_slow_subscription_is_waited_for_again_once_it_has_caught_up() -> None:
    pace = Pace(BOUND_BYTES)
    pace.queued(SOFT_BYTES + 1, now_s=0)
    assert pace.judge(PATIENCE_S)
    pace.freed(1, SOFT_BYTES)
    assert not pace.slow
    assert pace.queued(SOFT_BYTES + 1, now_s=1)


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["queue", "free", "judge"]), st.integers(0, BOUND_BYTES), st.floats(0, PATIENCE_S)
        ),
        max_size=50,
    )
)
def test_nobody_waits_longer_than_the_patience_without_progress(steps: list[tuple[str, int, float]]) -> None:
    pace = Pace(BOUND_BYTES)
    now_s = waits_since_s = 0.0
    queued_bytes = freed_bytes = 0
    for kind, size_bytes, passed_s in steps:
        now_s += passed_s
        was_waiting = pace.waiting
        if kind == "queue":
            queued_bytes += size_bytes
            pace.queued(queued_bytes, now_s)
        elif kind == "free":
            left_bytes = max(0, queued_bytes - size_bytes)
            freed_bytes += queued_bytes - left_bytes
            pace.freed(queued_bytes - left_bytes, left_bytes)
            queued_bytes = left_bytes
        else:
            pace.judge(now_s)
            if pace.waiting and now_s - waits_since_s >= PATIENCE_S:
                assert freed_bytes >= PROGRESS_BYTES
                waits_since_s, freed_bytes = now_s, 0
        if pace.waiting and not was_waiting:
            waits_since_s, freed_bytes = now_s, 0
        assert not (pace.waiting and pace.slow)
        assert not pace.waiting or queued_bytes > SOFT_BYTES
