"""What an open question sees while its cache goes on: what was there when asked, or less and a word."""

from typing import TYPE_CHECKING

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.filters import parse
from broker.replay import Cache, Excerpt, Item
from tests.broker.replay.past import Filler, Run, published

if TYPE_CHECKING:
    from collections.abc import Callable

RUN = st.tuples(
    st.sampled_from("PQR"),
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from("ab")), min_size=1, max_size=3),
)
STEP = st.one_of(
    st.tuples(st.just("keep"), RUN),
    st.tuples(st.just("keep"), RUN),
    st.tuples(st.just("open"), st.tuples(st.integers(0, 12), st.booleans())),
    st.tuples(st.just("read"), st.tuples(st.integers(0, 5), st.integers(1, 8))),
    st.tuples(st.just("age"), st.integers(0, 15)),
    st.tuples(st.just("close"), st.integers(0, 5)),
    st.tuples(st.just("restart"), st.none()),
)


@define(eq=False)
class Asked:
    """A question with what the cache had for it."""

    excerpt: Excerpt
    expected: list[Item]
    got: list[Item] = field(factory=list)

    def read(self, count: int, taken: int = 1000) -> None:
        reading = self.excerpt.read(count)
        while reading.head is not None and taken > 0:
            self.got.append(reading.take())
            taken -= 1
            assert len(self.got) <= 1000, "it goes round in circles"

    def finish(self) -> None:
        for _ in range(1000):
            self.read(3)
            if self.excerpt.is_over:
                return
        pytest.fail("it goes round in circles")

    def check(self) -> None:
        """Assert that the order is right, and that no event is missing unnoticed."""
        assert self.got == [item for item in self.expected if item in self.got]
        assert self.got == self.expected or not self.excerpt.is_whole


@define(eq=False)
class Course:
    """A cache, those who ask it, and what it has."""

    cache: Cache
    filler: Filler = field(init=False)
    asked: list[Asked] = field(factory=list)
    items: dict[int, list[Item]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.filler = Filler(self.cache)

    def keep(self, run: Run) -> None:
        # A publisher of whom nothing is left in the cache begins anew at any time.
        if all(each.publisher != run[0] for each in self.cache.runs):
            self.filler.latest.pop(run[0], None)
        items = self.filler.keep(run)
        self.items[self.cache.next_number - 1] = items

    def open(self, asked: tuple[int, bool]) -> None:
        since_ns, newest_first = asked
        has = [item for run in self.cache.runs for item in self.items[run.number]]
        due = [item for item in has if item[0] >= since_ns and item[3].endswith(b"dkindaa@")]
        excerpt = Excerpt.of(self.cache, parse("kind == 'a'"), since_ns, newest_first=newest_first)
        self.asked.append(Asked(excerpt, sorted(due, reverse=newest_first)))

    def read(self, asked: tuple[int, int]) -> None:
        for each in self.asked[asked[0] : asked[0] + 1]:
            each.read(asked[1])

    def age(self, before_ns: int) -> None:
        self.cache.forget_before(before_ns)

    def close(self, place: int) -> None:
        for each in self.asked[place : place + 1]:
            each.excerpt.close()
            del self.asked[place]

    def restart(self, _: None) -> None:
        """What is in no snapshot is made again."""
        self.cache.restore(self.cache.columns())


@settings(max_examples=300)
@given(st.lists(STEP, max_size=40), st.sampled_from([150, 400, 10**6]))
def test_a_question_gets_what_was_there_or_is_not_whole(
    steps: list[tuple[str, object]], size_bytes: int
) -> None:
    course = Course(Cache())
    course.cache.bound(size_bytes, 10**6)
    for verb, argument in steps:
        act: Callable[[object], None] = getattr(course, verb)
        act(argument)
        retention = course.cache.retention
        assert retention.size_bytes == sum(len(run.frames) for run in retention.runs) <= size_bytes
        assert retention.count == sum(run.count for run in retention.runs)
    for each in course.asked:
        each.finish()
        each.check()
        assert each.excerpt.is_whole or size_bytes < 10**6
    assert len(course.cache.retention) == 0
    assert not course.cache.retention.runs
    course.cache.bound(0, 0)
    assert course.cache.retention.indexed_count == 0


def filled(count: int, size_bytes: int) -> Course:
    course = Course(Cache())
    course.cache.bound(size_bytes, 10**6)
    for at_ns in range(count):
        course.keep(("P", [(at_ns, "a")]))
    return course


FRAME_BYTES = len(published("P", 1, 1, "a").frame)


def test_what_was_forgotten_meanwhile_is_retained_up_to_as_much_as_is_kept() -> None:
    course = filled(10, 10 * FRAME_BYTES)
    course.open((0, False))
    asked = course.asked[0]
    asked.read(14, 4)
    # A second question needs what comes now, so that it takes the room of what the first one needs.
    for at_ns in range(10, 20):
        course.keep(("P", [(at_ns, "a")]))
    course.open((0, False))
    assert course.cache.retention.count == 10
    wholes = []
    for at_ns in range(20, 25):
        course.keep(("P", [(at_ns, "a")]))
        wholes.append(asked.excerpt.is_whole)
    # The fourth event is the last that was looked at, and what is as old as that counts as needed.
    assert wholes == [True, True, True, False, False]
    for each in course.asked:
        each.read(100)
    assert [item[2] for item in asked.got] == [1, 2, 3, 4, *range(6, 11)]
    assert [item[2] for item in course.asked[1].got] == list(range(11, 21))
    assert course.asked[1].excerpt.is_whole


def test_nothing_is_retained_that_came_after_every_question() -> None:
    course = filled(0, 3 * FRAME_BYTES)
    course.open((0, False))
    for at_ns in range(10):
        course.keep(("P", [(at_ns, "a")]))
    assert not course.cache.retention.runs
    assert course.asked[0].excerpt.is_whole


def test_a_question_sees_nothing_that_is_retained_for_an_older_one() -> None:
    course = filled(3, 3 * FRAME_BYTES)
    course.open((0, False))
    course.keep(("P", [(3, "a")]))
    course.open((0, False))
    for each in course.asked:
        each.read(100)
    assert [[item[2] for item in each.got] for each in course.asked] == [[1, 2, 3], [2, 3, 4]]


def test_a_step_looks_at_no_more_than_its_share() -> None:
    course = filled(100, 10**6)
    course.open((200, False))
    asked = course.asked[0].excerpt
    indexed = []
    for _ in range(11):
        assert not asked.is_over
        asked.read(10)
        indexed.append(course.cache.retention.indexed_count)
    assert asked.is_over
    assert indexed == [*range(10, 101, 10), 100]


def test_a_question_goes_on_after_what_is_in_no_snapshot_was_made_again() -> None:
    course = filled(20, 10 * FRAME_BYTES)
    course.open((0, False))
    asked = course.asked[0]
    asked.read(14, 4)
    for at_ns in range(20, 25):
        course.keep(("P", [(at_ns, "a")]))
    course.restart(None)
    asked.read(100)
    assert [item[2] for item in asked.got] == list(range(11, 21))
    assert asked.excerpt.is_whole


def test_the_index_stays_for_the_next_question_until_a_part_of_it_is_forgotten() -> None:
    course = filled(80, 80 * FRAME_BYTES)
    course.open((0, False))
    course.asked[0].finish()
    indexed = []
    for at_ns in range(80, 90):
        course.keep(("P", [(at_ns, "a")]))
        indexed.append(course.cache.retention.indexed_count)
    assert indexed == [*range(79, 71, -1), 0, 0]
    course.open((0, False))
    course.asked[1].finish()
    course.asked[1].check()
    # The next one has nothing to index but what came since.
    course.open((0, True))
    course.asked[2].read(80)
    assert len(course.asked[2].got) == 80
    course.asked[2].check()


def test_large_events_count_for_more_of_a_step() -> None:
    cache = Cache(10**6, 10**6)
    cache.keep("P", [published("P", number, number, "a", bytes(5 * 1024)) for number in range(1, 9)])
    excerpt = Excerpt.of(cache, parse("kind == 'a'"), 0, newest_first=False)
    excerpt.read(1)
    reading = excerpt.read(12)
    taken = []
    while reading.head is not None:
        taken.append(reading.take()[2])
    assert taken == [1, 2]
