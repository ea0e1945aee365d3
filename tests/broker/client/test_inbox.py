import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.client import seen
from broker.client.delivery import Gap
from broker.client.inbox import Inbox
from broker.client.limits import Limits
from broker.client.seen import SeenEvents
from broker.errors import BrokerFaultError
from broker.wire import encode_publication, publication_prefix

LIMITS = Limits(inbox_bytes=10_000, credit_first=50, credit_min=2, credit_max=100)


def inbox() -> Inbox:
    made = Inbox("True", ordered=True, bound_bytes=1, policy="drop", limits=LIMITS)
    made.open(1)
    made.placed("S", 0, goes_on=False)
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
                credit_count += box.consumed(len(batch))
        assert credit_count + len(sent) - len(had) <= LIMITS.credit_max
    while isinstance(batch := box.take(), list):
        had += batch
        credit_count += box.consumed(len(batch))
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
    assert box.consumed(10) == 0
    assert box.consumed(40) == 50


def test_gaps_with_nothing_between_them_are_one() -> None:
    box = inbox()
    for count in (2, 3):
        box.gap(count, "bound")
    assert box.take() == Gap(5)
    for count in (2, 0, 3):
        box.gap(count, "lost")
    assert box.take() == Gap(None)
    assert box.take() is None
    assert box.position == box.had == 5 + 2 + 1 + 3


def test_positions_count_deliveries_and_what_is_missing() -> None:
    box = inbox()
    box.put([b"x", b"y"], 2)
    box.gap(5, "bound")
    box.gap(0, "lost")
    box.put([b"z"], 1)
    assert box.take() == [b"x", b"y"]
    assert box.first == 1
    box.consumed(2)
    assert box.take() == Gap(None)
    assert box.take() == [b"z"]
    assert (box.first, box.position, box.had) == (9, 9, 8)


def test_after_a_reconnection_it_goes_on_behind_what_had_arrived() -> None:
    box = inbox()
    box.put([b"x", b"y"], 2)
    box.open(1)
    assert box.resume_position == (2,)
    box.placed("S", 2, goes_on=True)
    box.put([b"z"], 1)
    assert [box.take(), box.take(), box.take()] == [[b"x", b"y"], [b"z"], None]


def test_a_broker_that_goes_on_elsewhere_breaks_the_protocol() -> None:
    box = inbox()
    box.put([b"x", b"y"], 2)
    box.open(1)
    with pytest.raises(BrokerFaultError, match="behind 3 where 2"):
        box.placed("S", 3, goes_on=True)


def test_a_subscription_that_was_forgotten_has_a_gap_and_is_counted_anew() -> None:
    box = inbox()
    box.put([b"x", b"y"], 2)
    box.open(1)
    box.placed("T", 0, goes_on=False)
    box.put([b"z"], 1)
    assert box.take() == [b"x", b"y"]
    box.consumed(2)
    assert box.had == 0
    gap = box.take()
    assert isinstance(gap, Gap)
    assert (gap.count, gap.reason) == (None, "forgotten")
    assert box.take() == [b"z"]
    assert box.first == 1


def test_the_reader_knows_which_subscription_it_reads_and_how_far_it_is() -> None:
    box = inbox()
    box.put([b"x"], 1)
    box.gap(4, "bound")
    box.open(1)
    box.placed("T", 2, goes_on=False)
    assert box.take() == [b"x"]
    assert box.read_id == "S"
    assert box.take() == Gap(None, "forgotten")
    assert (box.read_id, box.yielded) == ("T", 2)
    box.gap(4, "bound")
    assert box.take() == Gap(4, "bound")
    assert (box.read_id, box.yielded) == ("T", 6)


@pytest.mark.parametrize("is_lost_first", [True, False])
def test_a_gap_says_that_positions_begin_anew_whatever_else_is_missing_there(*, is_lost_first: bool) -> None:
    box = inbox()
    box.put([b"x"], 1)
    if is_lost_first:
        box.gap(0, "lost")
    box.open(1)
    box.placed("T", 0, goes_on=False)
    if not is_lost_first:
        box.gap(0, "lost")
    assert box.take() == [b"x"]
    gap = box.take()
    assert isinstance(gap, Gap)
    assert (gap.count, gap.reason) == (None, "forgotten")


def test_a_new_subscription_has_no_gap() -> None:
    assert inbox().take() is None


@given(st.integers(0, 5), st.booleans())
def test_what_was_consumed_was_had_except_the_delivery_in_use(read_count: int, had_last: bool) -> None:  # noqa: FBT001 - hypothesis passes it
    box = inbox()
    box.put([b"x"] * 2, 2)
    box.take()
    box.consumed(2)
    box.put([b"x"] * 5, 5)
    frames = box.take()
    assert isinstance(frames, list)
    reading = box.read(iter(frames))
    for _ in range(read_count):
        next(reading)
    box.notice_progress(had_last=had_last)
    assert box.had == 2 + (read_count if had_last else max(0, read_count - 1))


def test_progress_is_confirmed_once_and_again_on_a_new_connection() -> None:
    box = inbox()
    assert (box.unconfirmed_position(), box.unconfirmed_position()) == (0, None)
    box.put([b"x"], 1)
    box.take()
    box.consumed(1)
    assert (box.unconfirmed_position(), box.unconfirmed_position()) == (1, None)
    box.open(1)
    box.placed("S", 1, goes_on=True)
    assert box.unconfirmed_position() == 1


def test_what_still_waits_is_not_credited_again_on_a_new_connection() -> None:
    box = inbox()
    box.put([bytes(200)] * 20, 4000)
    assert box.open(1) == 50 - 20


def test_what_was_had_is_confirmed_by_its_size_too() -> None:
    """A broker keeps what is not confirmed, and sends nothing more beyond its limit of that."""
    inbox = Inbox("True", True, 1, "disconnect", Limits())
    inbox.open(1)
    inbox.placed("s", 0, goes_on=False)
    large = bytes(300_000)
    owed = []
    for _ in range(3):
        inbox.put([large], len(large))
        inbox.take()
        inbox.consumed(1)
        owed.append(inbox.owes_confirmation)
        if inbox.owes_confirmation:
            inbox.unconfirmed_position()
    assert owed == [False, True, False]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=40), st.integers(1, 12))
def test_no_more_are_open_than_may_be_and_every_acknowledgement_gives_credit_in_time(
    steps: list[tuple[int, int]], max_open: int
) -> None:
    box = inbox()
    box.max_open = max_open
    credit_count = box.open(1)
    box.placed("S", 0, goes_on=True)
    arrived = 0
    for wanted_count, acknowledged_count in steps:
        if count := min(wanted_count, credit_count):
            box.put([b"x" * 30] * count, 30 * count)
            arrived, credit_count = arrived + count, credit_count - count
        while isinstance(box.take(), list):
            pass
        assert arrived - box.had <= max_open
        credit_count += box.acknowledge(min(box.had + acknowledged_count, arrived))
        assert credit_count + arrived - box.had <= max_open
        assert credit_count or arrived > box.had  # One of them has a next step.
    box.acknowledge(arrived)
    assert box.had == arrived


def test_what_was_open_when_positions_began_anew_is_open_no_more() -> None:
    box = inbox()
    box.max_open = 4
    assert box.open(1) == 4
    box.put([b"x"] * 4, 4)
    box.take()
    assert box.open(2) == 0
    box.placed("T", 7, goes_on=False)
    assert (box.era, box.had, box.credit_due()) == (1, 7, 4)
    assert box.acknowledge(7) == 0


def event(publisher: str, sequence: int, *, ordered: bool = True) -> bytes:
    return encode_publication(publication_prefix(publisher), sequence, 1, {}, b"", ordered)


def test_what_came_from_another_broker_is_left_out_and_takes_its_position() -> None:
    box = inbox()
    box.seen = SeenEvents()
    box.put([event("a@B1/1", 1), event("a@B1/1", 2)], 2)
    assert box.take() == [event("a@B1/1", 1), event("a@B1/1", 2)]
    box.consumed(2)
    box.open(2)
    box.placed("T", 0, goes_on=False)
    again = [event("a@B1/1", 1), event("b@B1/1", 1), event("a@B1/1", 1, ordered=False), event("a@B1/1", 2)]
    box.put(again, 4)
    box.put([event("a@B1/1", 3)], 1)
    assert isinstance(box.take(), Gap)
    assert (box.take(), box.first) == (again[1:3], 2)
    box.consumed(2)
    assert box.had == 3
    assert (box.take(), box.first) == ([event("a@B1/1", 3)], 5)
    box.consumed(1)
    assert (box.had, box.position) == (5, 5)


def test_credit_of_what_is_left_out_is_given_back() -> None:
    box = inbox()
    box.seen = SeenEvents()
    box.put([event("a@B1/1", 1)] * 50, 50)
    assert (box.outstanding_count, box.credit_due()) == (0, 99)
    assert (box.take(), box.first) == ([event("a@B1/1", 1)], 1)
    assert (box.consumed(1), box.take(), box.had) == (0, None, 50)


def test_as_many_publishers_are_known_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "KNOWN_COUNT", 2)
    known = SeenEvents()
    frames = [event(name, 1) for name in ("a", "b", "c")]
    assert [known.is_new(each) for each in frames] == [True, True, True]
    assert [known.is_new(each) for each in reversed(frames)] == [False, False, True]
