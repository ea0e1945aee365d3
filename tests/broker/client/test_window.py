from hypothesis import given
from hypothesis import strategies as st

from broker.client.limits import Limits
from broker.client.window import SEGMENT_BYTES, PendingFlush, SendWindow, Source
from broker.wire import decode_delivery, encode_publication

LIMITS = Limits(window_bytes=100_000, flush_bytes=1000)
ALL = 1_000_000


def source(name: str = "alice@B1/1") -> Source:
    made = Source("True")
    made.name(name)
    return made


def publish(window: SendWindow, publisher: Source, size_bytes: int = 0) -> None:
    frame = encode_publication(publisher.prefix, publisher.sequence + 1, 0, {}, bytes(size_bytes), True)
    window.append(publisher, frame)


def taken(window: SendWindow, size_bytes: int = ALL) -> tuple[list[tuple[str, int]], list[PendingFlush]]:
    """The publications that leave, and the flushes between them."""
    publications: list[tuple[str, int]] = []
    flushes: list[PendingFlush] = []
    for item in window.take(size_bytes):
        if isinstance(item, PendingFlush):
            flushes.append(item)
        else:
            publications += [decode_delivery(frame)[:2] for frame in item]
    return publications, flushes


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, int]]:
    """What happens to a window: publications of three publishers, credit, writes, answers, losses."""
    kinds = st.sampled_from(
        ["publish", "publish", "publish", "grant", "take", "flush", "answer", "lose", "lose-sent"]
    )
    return draw(st.lists(st.tuples(kinds, st.integers(0, 400)), max_size=60))


class Broker:
    """Takes what is sent, as a broker does: each publication once, in sequence; some answers are lost."""

    def __init__(self, window: SendWindow) -> None:
        self.window = window
        self.log: list[tuple[str, int]] = []
        self.last: dict[str, int] = {}
        self.unanswered: list[PendingFlush] = []

    def read(self, size_bytes: int) -> None:
        before_bytes = self.window.credit_bytes
        sent_bytes = last_bytes = 0
        for item in self.window.take(size_bytes):
            if isinstance(item, PendingFlush):
                self.unanswered.append(item)
                continue
            for frame in item:
                last_bytes = len(frame)
                sent_bytes += last_bytes
                publisher, sequence = decode_delivery(frame)[:2]
                if sequence > self.last.get(publisher, 0):
                    assert sequence == self.last.get(publisher, 0) + 1
                    self.last[publisher] = sequence
                    self.log.append((publisher, sequence))
        assert sent_bytes == 0 or sent_bytes - last_bytes < before_bytes
        assert self.window.credit_bytes == before_bytes - sent_bytes

    def answer(self) -> None:
        if self.unanswered:
            self.window.flushed(self.unanswered.pop(0))

    def lose(self, sources: list[Source]) -> None:
        self.unanswered.clear()
        self.window.rewind()
        for each in sources:
            self.window.taken(each, self.last.get(each.id, 0))


@given(steps())
def test_every_publication_is_taken_once_and_in_order_whatever_breaks(
    schedule: list[tuple[str, int]],
) -> None:
    window = SendWindow(LIMITS)
    sources = [source(f"p{number}") for number in range(3)]
    broker = Broker(window)
    expected: list[tuple[str, int]] = []
    for kind, number in schedule:
        match kind:
            case "publish":
                chosen = sources[number % 3]
                publish(window, chosen, number)
                expected.append((chosen.id, chosen.sequence))
            case "grant":
                window.credit_bytes += number * 10
            case "take":
                broker.read(number * 10)
            case "flush":
                window.flush()
            case "answer":
                broker.answer()
            case "lose":
                broker.lose(sources)
            case "lose-sent":
                taken(window, number * 10)
                broker.lose(sources)
    window.flush()
    window.credit_bytes += ALL
    broker.read(ALL)
    while broker.unanswered:
        broker.answer()
    assert broker.log == expected
    assert window.is_empty
    assert window.size_bytes == 0
    assert [each.pending_count for each in sources] == [0, 0, 0]


def test_publications_of_two_publishers_leave_in_the_order_they_came() -> None:
    window, one, two = SendWindow(LIMITS, credit_bytes=ALL), source("one"), source("two")
    for publisher in (one, two, two, one):
        publish(window, publisher)
    assert taken(window)[0] == [("one", 1), ("two", 1), ("two", 2), ("one", 2)]


def test_nothing_begins_without_credit_and_the_last_may_overdraw_it() -> None:
    window, publisher = SendWindow(LIMITS), source()
    for _ in range(3):
        publish(window, publisher, 50)
    window.credit_bytes = window.size_bytes // 3 + 1
    assert len(taken(window)[0]) == 2
    assert window.credit_bytes < 0
    assert taken(window)[0] == []
    window.credit_bytes += 1000
    assert taken(window)[0] == [("alice@B1/1", 3)]


def test_the_window_asks_for_a_flush_by_itself_after_enough_bytes() -> None:
    window, publisher = SendWindow(LIMITS, credit_bytes=ALL), source()
    publish(window, publisher, SEGMENT_BYTES)
    publications, flushes = taken(window)
    assert (len(publications), len(flushes)) == (1, 1)
    window.flushed(flushes[0])
    assert window.is_empty


def test_a_slow_publisher_is_flushed_when_it_is_time_and_only_once() -> None:
    window, publisher = SendWindow(LIMITS, credit_bytes=ALL), source()
    publish(window, publisher)
    taken(window)
    window.flush_if_due()
    assert len(taken(window)[1]) == 1
    window.flush_if_due()
    assert taken(window)[1] == []


def test_after_a_loss_what_was_sent_goes_out_before_what_was_not() -> None:
    window, one, two = SendWindow(LIMITS, credit_bytes=60), source("one"), source("two")
    for publisher in (one, two, one):
        publish(window, publisher)
    assert taken(window)[0] == [("one", 1), ("two", 1)]
    window.rewind()
    window.credit_bytes = ALL
    assert taken(window)[0] == [("one", 1), ("two", 1), ("one", 2)]


def test_after_a_loss_there_is_no_credit_and_nothing_unflushed() -> None:
    window, publisher = SendWindow(LIMITS, credit_bytes=ALL), source()
    publish(window, publisher, LIMITS.flush_bytes - 200)
    assert taken(window)[1] == []
    window.rewind()
    assert taken(window) == ([], [])
    window.credit_bytes = ALL
    window.taken(publisher, 1)
    publish(window, publisher, 200)
    assert taken(window) == ([("alice@B1/1", 2)], [])


def test_callers_that_flush_at_the_same_place_share_one() -> None:
    window, publisher = SendWindow(LIMITS, credit_bytes=ALL), source()
    publish(window, publisher)
    first = window.flush()
    assert window.flush() is first
    publish(window, publisher)
    assert window.flush() is not first


def test_a_flush_of_an_empty_window_is_done() -> None:
    assert SendWindow(LIMITS).flush().is_done


@given(st.integers(0, 5), st.integers(0, 5))
def test_a_forgotten_publisher_goes_on_under_a_new_id_from_one(before: int, after: int) -> None:
    window, publisher = SendWindow(LIMITS, credit_bytes=ALL), source("old")
    for _ in range(before):
        publish(window, publisher)
    window.flush()
    for flush in taken(window)[1]:
        window.flushed(flush)
    for number in range(after):
        publish(window, publisher, number * 100)
    window.rewind()
    window.rename(publisher, "new")
    publish(window, publisher)
    window.credit_bytes = ALL
    assert taken(window)[0] == [("new", number) for number in range(1, after + 2)]


def test_what_an_ended_publisher_had_not_sent_is_dropped_and_the_others_go_on() -> None:
    window, ended, other = SendWindow(LIMITS, credit_bytes=ALL), source("ended"), source("other")
    for publisher in (ended, other, ended):
        publish(window, publisher)
    window.forget(ended)
    assert taken(window)[0] == [("other", 1)]
    assert ended.pending_count == 0


def test_the_window_is_full_at_its_bound_and_says_how_much_fits_before() -> None:
    window, publisher = SendWindow(Limits(window_bytes=1000, checkpoint_bytes=600)), source()
    window.refill()
    assert window.quota_bytes == 600
    publish(window, publisher, 700)
    window.refill()
    assert 0 < window.quota_bytes < 300
    assert not window.is_full
    publish(window, publisher, 300)
    assert window.is_full
