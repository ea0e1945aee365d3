from broker.client.delivery import FORGOTTEN, Gap
from broker.spark.held import HeldEvents, HeldItem, StreamMark

START = StreamMark("A", 10)


def held(*positions: int, until: StreamMark | None = None) -> HeldEvents:
    made = HeldEvents(START)
    for position in positions:
        made.deliver(position, f"{position}".encode(), until)
    return made


def frames(events: HeldEvents, start: StreamMark, end: StreamMark) -> list[bytes]:
    return [each.frame for each in events.between(start, end)]


def test_items_between_two_marks_are_the_same_until_they_are_released() -> None:
    events = held(11, 12, 13)
    for _ in range(2):
        assert frames(events, START, StreamMark("A", 12)) == [b"11", b"12"]
        assert frames(events, StreamMark("A", 12), events.end) == [b"13"]
        assert frames(events, StreamMark("A", 12), StreamMark("A", 12)) == []
    events.release(StreamMark("A", 12))
    assert not events.knows(START)
    assert events.start == StreamMark("A", 12)
    assert frames(events, events.start, events.end) == [b"13"]


def test_a_batch_ends_at_its_limits_and_has_something_all_the_same() -> None:
    events = held(11, 12, 13)
    assert events.batch_end(2, 100, None, stops=False) == StreamMark("A", 12)
    assert events.batch_end(9, 5, None, stops=False) == StreamMark("A", 12)
    assert events.batch_end(9, 1, None, stops=False) == StreamMark("A", 11)
    assert events.batch_end(9, 100, StreamMark("A", 12), stops=False) == StreamMark("A", 12)
    assert events.batch_end(9, 100, START, stops=False) == START


def test_a_gap_takes_positions_and_ends_a_batch_if_the_query_is_to_fail() -> None:
    events = held(11)
    events.miss(Gap(4, "bound"), START)
    events.miss(Gap(None, "lost"), START)
    events.deliver(17, b"17")
    assert [each.mark.position for each in events.between(START, events.end)] == [11, 15, 16, 17]
    assert events.batch_end(9, 100, None, stops=True) == StreamMark("A", 11)
    assert events.first_gap(START, events.end) == Gap(4, "bound")
    assert events.first_gap(START, StreamMark("A", 11)) is None


def test_behind_a_broker_that_has_forgotten_everything_positions_are_of_another_subscription() -> None:
    events = held(11)
    events.miss(Gap(None, FORGOTTEN), StreamMark("B", 0))
    events.deliver(1, b"1")
    assert events.end == StreamMark("B", 1)
    events.release(StreamMark("B", 0))
    assert frames(events, events.start, events.end) == [b"1"]


def test_a_gap_that_reaches_beyond_a_batch_that_is_read_again_is_cut() -> None:
    until = StreamMark("A", 13)
    events = held(11, until=until)
    events.miss(Gap(7, "bound"), START, until)
    assert [*events.between(StreamMark("A", 11), until)] == [HeldItem(until, gap=Gap(2, "bound"))]
    assert [*events.between(until, events.end)] == [HeldItem(StreamMark("A", 18), gap=Gap(5, "bound"))]


def test_a_batch_that_is_read_again_ends_where_it_did_though_positions_are_left_out() -> None:
    until = StreamMark("A", 13)
    events = held(11, 16, until=until)
    assert frames(events, START, until) == [b"11", b""]
    assert frames(events, until, events.end) == [b"16"]


def test_what_cannot_be_read_again_is_a_gap_that_fills_the_batch() -> None:
    until = StreamMark("A", 13)
    events = held()
    events.miss(Gap(None, FORGOTTEN), StreamMark("B", 0), until)
    events.deliver(1, b"1", until)
    assert [each.gap for each in events.between(START, until)] == [Gap(None, FORGOTTEN)]
    assert frames(events, until, events.end) == [b"", b"1"]


def test_a_batch_across_the_loss_can_be_read_again_behind_it() -> None:
    until = StreamMark("B", 2)
    events = held()
    events.miss(Gap(None, FORGOTTEN), StreamMark("B", 0), until)
    events.deliver(1, b"1", until)
    events.deliver(2, b"2", until)
    assert frames(events, START, until) == [b"", b"1", b"2"]


def test_a_mark_comes_through_a_checkpoint() -> None:
    assert StreamMark.of(START.content()) == START
