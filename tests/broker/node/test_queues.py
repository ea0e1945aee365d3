from collections.abc import Sequence

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from broker.messages import (
    AdvertisementWithdrawn,
    Deliver,
    Gap,
    LinkMessage,
    OrderingMessage,
    Publication,
)
from broker.node.credit import CreditBatch, CreditWindow, Share
from broker.node.queues import FrameRun, LinkQueue, RunCache, SubscriptionQueue
from broker.wire import (
    decode_delivery,
    encode,
    encode_publication,
    marked,
    publication_prefix,
)

PREFIX = publication_prefix("p@B.1/1")


def publication(sequence: int, payload: int = 0, mark: int = 0) -> Publication:
    frame = encode_publication(PREFIX, sequence, 0, {}, bytes(payload), True)
    return Publication("p@B.1/1", sequence, {}, ordered=True, frame=frame, mark=mark)


def run_of(publications: Sequence[Publication]) -> FrameRun:
    return FrameRun(b"".join(each.frame for each in publications), len(publications))


def frames_of(content: bytes) -> list[bytes]:
    frames = []
    while content:
        stop = 4 + int.from_bytes(content[:4], "big")
        frames.append(content[:stop])
        content = content[stop:]
    return frames


def said(chunks: Sequence[bytes]) -> list[int | str]:
    """What a client reads: sequence numbers, and "gap n"; each `Deliver` must announce what follows it."""
    found: list[int | str] = []
    announced = 0
    for frame in frames_of(b"".join(chunks)):
        if frame[4] == encode(Deliver(1, 1))[4]:
            assert announced == 0
            announced = next(n for n in range(1, 10_000) if encode(Deliver(1, n)) == frame)
        elif frame[4] == encode(Gap(1, 1))[4]:
            assert announced == 0
            dropped = next(n for n in range(1, 10_000) if encode(Gap(1, n)) == frame)
            found.append(f"gap {dropped}")
        else:
            announced -= 1
            assert announced >= 0
            found.append(decode_delivery(frame)[1])
    assert announced == 0
    return found


@define
class Feed:
    """Publications numbered from 1, in runs of given lengths."""

    last: int = 0

    def run(self, count: int, payload: int) -> FrameRun:
        self.last += count
        return run_of([publication(self.last - count + 1 + n, payload) for n in range(count)])


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 6), st.integers(0, 40)),
        st.tuples(st.just("credit"), st.integers(1, 8), st.just(0)),
        st.tuples(st.just("take"), st.integers(1, 600), st.just(0)),
    ),
    max_size=40,
)


@define
class Played:
    """A subscription's queue that steps were played on."""

    queue: SubscriptionQueue
    feed: Feed = field(factory=Feed)
    delivered: list[int | str] = field(factory=list)
    granted: int = 0

    def play(self, steps: Sequence[tuple[str, int, int]]) -> None:
        for kind, number, payload in steps:
            if kind == "add":
                self.queue.add(self.feed.run(number, payload))
                if self.queue.queued_bytes > self.queue.bound_bytes:
                    self.queue.trim()
            elif kind == "credit":
                self.queue.credit += number
                self.granted += number
            else:
                self.delivered += said(self.queue.take(number))
            assert self.queue.queued_bytes <= self.queue.bound_bytes
            assert sum(isinstance(each, int) for each in self.delivered) == self.granted - self.queue.credit

    def empty(self) -> None:
        self.queue.credit = 10_000
        self.delivered += said(self.queue.take(1_000_000))
        assert (self.queue.queued_bytes, self.queue.queued_count) == (0, 0)
        assert not self.queue.ready


@given(steps=STEPS)
def test_everything_is_delivered_in_order_within_credit(steps: list[tuple[str, int, int]]) -> None:
    played = Played(SubscriptionQueue(1, 1_000_000, "drop", 0))
    played.play(steps)
    played.empty()
    assert played.delivered == list(range(1, played.feed.last + 1))


@given(steps=STEPS, bound_bytes=st.integers(50, 400))
def test_a_drop_leaves_a_gap_in_its_place(steps: list[tuple[str, int, int]], bound_bytes: int) -> None:
    played = Played(SubscriptionQueue(1, bound_bytes, "drop", 0))
    played.play(steps)
    played.empty()
    expected = 1
    for each in played.delivered:
        if isinstance(each, int):
            assert each == expected
            expected += 1
        else:
            expected += int(each.removeprefix("gap "))
    assert expected == played.feed.last + 1


def test_the_oldest_stay_and_the_newest_are_dropped() -> None:
    size_bytes = len(publication(1).frame)
    queue = SubscriptionQueue(1, 3 * size_bytes, "drop", 0)
    queue.add(Feed().run(5, 0))
    assert queue.trim() == 2
    queue.credit = 10
    assert said(queue.take(1000)) == [1, 2, 3, "gap 2"]


def test_a_gap_stays_one_until_half_of_the_queue_is_gone() -> None:
    size_bytes = len(publication(1).frame)
    feed = Feed()
    queue = SubscriptionQueue(1, 4 * size_bytes, "drop", 1)
    queue.add(feed.run(6, 0))
    queue.trim()
    delivered = said(queue.take(1))
    queue.add(feed.run(1, 0))
    queue.credit += 1
    delivered += said(queue.take(1))
    queue.add(feed.run(1, 0))
    queue.credit += 10
    delivered += said(queue.take(1000))
    assert delivered == [1, 2, 3, 4, "gap 3", 8]


def test_a_run_that_has_no_room_as_a_whole_is_sent_frame_by_frame() -> None:
    size_bytes = len(publication(1).frame)
    queue = SubscriptionQueue(1, 1_000_000, "drop", 100)
    queue.add(Feed().run(20, 0))
    assert said(queue.take(3 * size_bytes)) == [1, 2, 3]
    assert said(queue.take(2 * size_bytes + 1)) == [4, 5, 6]
    assert said(queue.take(1_000_000)) == list(range(7, 21))


def batch() -> CreditBatch:
    window = CreditWindow(Share(), 1_000_000)
    window.receive(1)
    return CreditBatch(window, 1)


MESSAGES = st.lists(
    st.one_of(
        st.builds(publication, st.integers(1, 1000), st.integers(0, 40), st.integers(0, 2)),
        st.builds(AdvertisementWithdrawn, st.text(max_size=3)),
        st.builds(OrderingMessage, st.tuples(st.integers(0, 9))),
    ),
    min_size=1,
    max_size=6,
)


def frame_of(message: LinkMessage) -> bytes:
    if isinstance(message, Publication):
        return marked(message.frame, message.mark) if message.mark else message.frame
    return encode(message)


@given(steps=st.lists(st.tuples(MESSAGES, st.integers(0, 300), st.integers(1, 400)), max_size=20))
def test_a_link_sends_everything_in_order_within_credit(
    steps: list[tuple[list[LinkMessage], int, int]],
) -> None:
    queue = LinkQueue()
    sent, count = b"", 0
    batches: list[CreditBatch] = []
    released: list[CreditBatch] = []
    for messages, credit_bytes, room_bytes in steps:
        batches.append(batch())
        queue.add(messages, RunCache().run(messages), batches[-1])
        queue.credit_bytes += credit_bytes
        before_bytes = queue.credit_bytes
        chunks, gone, taken = queue.take(room_bytes)
        sent += b"".join(chunks)
        count += taken
        released += gone
        publications = [each for each in frames_of(b"".join(chunks)) if each[4] == publication(1).frame[4]]
        assert len(publications) == taken
        # Credit is positive when a frame begins: only the last one may overdraw it.
        assert before_bytes > sum(map(len, publications[:-1])) or not publications
        assert queue.credit_bytes == before_bytes - sum(map(len, publications))
        assert released == batches[: len(released)]
    queue.credit_bytes = 1_000_000
    chunks, gone, taken = queue.take(10_000_000)
    everything = [message for messages, _, _ in steps for message in messages]
    assert sent + b"".join(chunks) == b"".join(map(frame_of, everything))
    assert count + taken == sum(isinstance(each, Publication) for each in everything)
    assert released + gone == batches
    assert (queue.queued_bytes, queue.queued_count) == (0, 0)


def test_control_waits_for_the_publication_before_it() -> None:
    queue = LinkQueue()
    messages: list[LinkMessage] = [publication(1), AdvertisementWithdrawn("x")]
    queue.add(messages, RunCache().run(messages), None)
    assert queue.take(1000) == ([], [], 0)


def test_a_lost_link_lets_go_of_the_batches_that_waited_for_it() -> None:
    queue = LinkQueue()
    waiting = batch()
    queue.add([publication(1)], None, waiting)
    assert queue.clear() == [waiting]


def test_hops_that_got_the_same_publications_share_one_run() -> None:
    runs = RunCache()
    first, second = publication(1), publication(2)
    shared = runs.run([first, second])
    assert shared is not None
    assert runs.run([first, second]) is shared
    assert runs.run([first, publication(2)]) is not shared
    assert runs.run([first, AdvertisementWithdrawn("x")]) is None


def test_marks_are_written_into_the_copies_of_a_run() -> None:
    run = RunCache().run([publication(1, mark=3), publication(2)])
    assert run is not None
    first, second = frames_of(run.frames)
    assert first == marked(publication(1).frame, 3)
    assert second == publication(2).frame
