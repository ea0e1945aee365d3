from hypothesis import given
from hypothesis import strategies as st

from broker.client.delivery import Gap
from broker.client.inbox import Inbox
from broker.client.limits import Limits

LIMITS = Limits(inbox_bytes=10_000, credit_first=50, credit_min=2, credit_max=100)


def inbox() -> Inbox:
    made = Inbox("True", ordered=True, bound_bytes=1, policy="drop", limits=LIMITS)
    made.open(1)
    return made


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 2000), st.integers(0, 3)), max_size=60))
def test_deliveries_come_in_order_and_credit_never_dries_up(bursts: list[tuple[int, int, int]]) -> None:
    box = inbox()
    credit_count = LIMITS.credit_first
    sent: list[bytes] = []
    had: list[bytes] = []
    for wanted_count, size_bytes, reads in bursts:
        count = min(wanted_count, credit_count)
        assert box.outstanding_count == credit_count
        if count:
            frames = [len(sent).to_bytes(4) + bytes(size_bytes) for _ in range(count)]
            sent += frames
            box.put(frames, sum(map(len, frames)))
            credit_count -= count
        for _ in range(reads):
            if isinstance(batch := box.take(), list):
                had += batch
                credit_count += box.handed_out(len(batch))
        assert credit_count + len(sent) - len(had) <= LIMITS.credit_max
    while isinstance(batch := box.take(), list):
        had += batch
        credit_count += box.handed_out(len(batch))
    assert had == sent
    assert credit_count > 0


def test_large_deliveries_get_less_credit_than_small_ones() -> None:
    small, large = inbox(), inbox()
    small.put([b"x"] * 40, 40)
    large.put([bytes(5000)] * 40, 200_000)
    assert small.allowance_count == LIMITS.credit_max
    assert large.allowance_count == LIMITS.credit_min


def test_credit_is_given_back_in_halves() -> None:
    box = inbox()
    box.put([bytes(200)] * 50, 10_000)
    assert box.handed_out(10) == 0
    assert box.handed_out(40) == 50


def test_gaps_with_nothing_between_them_are_one() -> None:
    box = inbox()
    for gap in (Gap(2), Gap(3)):
        box.gap(gap)
    assert box.take() == Gap(5)
    for gap in (Gap(2), Gap(None), Gap(3)):
        box.gap(gap)
    assert box.take() == Gap(None)
    assert box.take() is None


def test_a_subscription_that_was_open_has_a_gap_after_a_reconnection() -> None:
    box = inbox()
    box.open(1)
    assert box.take() is None
    box.is_ready = True
    box.put([b"x"], 1)
    box.open(1)
    assert box.take() == [b"x"]
    assert box.take() == Gap(None)


def test_what_still_waits_is_not_credited_again_on_a_new_connection() -> None:
    box = inbox()
    box.put([bytes(200)] * 20, 4000)
    assert box.open(1) == 50 - 20
