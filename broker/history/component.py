"""The program around a store: records what its filter matches, answers questions, tidies up.

Laws.

1. Deliveries are acknowledged when the store has them on disk, and not before. While the disk takes nothing
   they wait at the broker, within the bound of the durable subscription.
2. An event is stored once: one that comes again, after a crash or from another broker, is known by its
   publisher and its number.
3. The store is in the order of deliveries, and a gap stands where events are missing.
4. A page is the last one only if the store has all that had come to the broker of the history when it was
   asked. What it lacks then was published a moment ago, and brokers have it.
5. A question is answered if the filter of the history covers the one that is asked for, and the user who asks
   may subscribe to that. Users are those that the broker of the question has proven.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import trio
from attrs import define, evolve, field

from broker import history_events as h
from broker.client.client import Client
from broker.client.deliveries import Deliveries
from broker.client.delivery import FORGOTTEN, Delivery, Gap
from broker.client.publisher import Publisher
from broker.client.seen import SeenEvents
from broker.errors import GapError
from broker.filters import Filter, FilterError, parse
from broker.filters.constraints import Value
from broker.history.rows import Row, gap_row, row_of
from broker.history.store import HistoryPage, HistoryStore
from broker.node.access import Access

BATCH_COUNT: Final = 10_000
"""Events of one file at most, until it is compacted."""

RETRY_S: Final = 5.0
"""How long it waits before it tries again to write what the disk did not take."""

TIDY_S: Final = 60.0

CATCH_UP_S: Final = 2.0
"""How long an empty page waits for what is on its way to the store; it is asked for again then."""

DURABLE_AGE_S: Final = 7 * 86400.0
"""How long its broker keeps what comes while it is away; the broker's own limit may be less."""

Result = TypeVar("Result")


@define(eq=False)
class HistoryComponent:
    """One history. `notice` gets a line for the operator; without users in `access` everybody may ask."""

    store: HistoryStore
    filter: Filter
    keep_s: float
    flush_s: float
    bound_bytes: int
    access: Access
    notice: Callable[[str], None]
    wall_ns: Callable[[], int] = time.time_ns
    _seen: SeenEvents = field(factory=SeenEvents, init=False)
    _turn: trio.Lock = field(factory=trio.Lock, init=False)
    _position: int = field(default=0, init=False)
    """The position of the last delivery that was stored."""
    _advanced: trio.Event = field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        for publisher, ordered, sequence in self.store.origins():
            self._seen.note(publisher, ordered=ordered, sequence=sequence)

    async def run(self, client: Client, durable: str, is_ready: Callable[[], None] = lambda: None) -> None:
        """Record, answer and tidy up, until this is cancelled."""
        async with (
            client.advertise(h.ANSWERS) as answers,
            client.subscribe(h.QUESTIONS, ordered=False, policy="drop") as questions,
            client.subscribe(
                str(self.filter),
                durable=durable,
                age_s=DURABLE_AGE_S,
                bound_bytes=self.bound_bytes,
                ack="manual",
                max_open=2 * BATCH_COUNT,
            ) as deliveries,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(self._record, deliveries)
            nursery.start_soon(self._answer_all, questions, answers, partial(self._emitted, client, durable))
            nursery.start_soon(self._tidy)
            is_ready()

    async def _with_store(self, work: Callable[[], Result]) -> Result:
        """Let a thread work with the store, one after the other."""
        async with self._turn:
            return await trio.to_thread.run_sync(work)

    # --- recording ---

    async def _record(self, deliveries: Deliveries) -> None:
        if self.store.last and not deliveries.is_resumed:
            await self._append([gap_row(Gap(None, FORGOTTEN), self.wall_ns())])
        batches = deliveries.batches(BATCH_COUNT, self.flush_s)
        self._position = deliveries.position
        while True:
            try:
                batch = await anext(batches)
            except GapError as gap:
                self.notice(str(gap))
                rows, position = [gap_row(Gap(gap.count, gap.reason), self.wall_ns())], deliveries.position
            else:
                rows, position = [row_of(each) for each in batch if self._is_new(each)], batch[-1].position
            await self._append(rows)
            deliveries.ack(position)
            self._position = position
            self._advanced.set()
            self._advanced = trio.Event()

    def _is_new(self, delivery: Delivery) -> bool:
        if h.TO in delivery.attributes or h.ASK in delivery.attributes:
            return False
        return self._seen.is_new(delivery.frame)

    async def _append(self, rows: Sequence[Row]) -> None:
        """Write rows; try again until the disk takes them (law 1)."""
        is_failing = False
        while rows:
            try:
                await self._with_store(partial(self.store.append, rows, self.wall_ns()))
            except OSError as error:
                if not is_failing:
                    self.notice(
                        f"{self.store.folder}: {error.strerror or error}: {len(rows)} events are not stored, "
                        f"and nothing is acknowledged; it tries again every {RETRY_S:g} s"
                    )
                is_failing = True
                await trio.sleep(RETRY_S)
            else:
                if is_failing:
                    self.notice(f"{self.store.folder}: the disk takes events again")
                return

    # --- answering ---

    @staticmethod
    async def _emitted(client: Client, durable: str) -> int:
        """Return the position of the last delivery that the broker has for this history."""
        kept = await client.durable_subscriptions()
        return next((int(str(each["emitted"])) for each in kept if each["durable"] == durable), 0)

    async def _answer_all(
        self, questions: Deliveries, answers: Publisher, emitted: Callable[[], Awaitable[int]]
    ) -> None:
        async for question in questions.with_gaps():
            if isinstance(question, Delivery):
                await self._answer(question, answers, emitted)

    async def _answer(
        self, question: Delivery, answers: Publisher, emitted: Callable[[], Awaitable[int]]
    ) -> None:
        """Answer a question that is for this history; others are for others, or nobody's."""
        asked = question.attributes
        token, number, since_ns = asked.get(h.ASK), asked.get(h.NUMBER), asked.get(h.SINCE_NS)
        after, name = asked.get(h.AFTER), asked.get(h.NAME)
        if name not in {"", self.store.name} or not isinstance(token, str):
            return
        if not (isinstance(number, int) and isinstance(since_ns, int) and isinstance(after, int)):
            return
        try:
            wanted = parse(str(asked.get(h.FILTER)))
        except FilterError:
            return
        if not self.filter.covers(wanted):
            return
        user = h.user_of(question.publisher)
        head: dict[str, Value] = {h.TO: token, h.USER: user, h.NUMBER: number, h.NAME: self.store.name}
        if text := self._objection(user, wanted):
            await answers.publish({**head, h.ERROR: text}, ordered=False)
            return
        read = partial(self.store.page, after, since_ns, _matcher(wanted))
        page = await self._with_store(read)
        if page.is_last:
            position = await emitted()
            if not page.events:
                await self._caught_up(position)
                page = await self._with_store(read)
            page = evolve(page, is_last=page.is_last and self._position >= position)
        for attributes, payload in answer_parts(page):
            await answers.publish({**head, **attributes}, payload, ordered=False)

    async def _caught_up(self, position: int) -> None:
        """Wait until what was delivered up to this position is stored, or for a while."""
        with trio.move_on_after(CATCH_UP_S):
            while self._position < position:
                await self._advanced.wait()

    def _objection(self, user: str, wanted: Filter) -> str:
        """Return why the user may not have that, or nothing."""
        users = self.access.users
        if users is None:
            return ""
        known = next((each for each in users if each.name == user), None)
        if known is None:
            return f"the history does not know user {user!r}"
        return known.objection("subscribe", wanted) or ""

    # --- keeping ---

    async def _tidy(self) -> None:
        while True:
            now_ns = self.wall_ns()
            try:
                await self._with_store(partial(self.store.expire, now_ns - round(self.keep_s * 1e9)))
                await self._with_store(partial(self.store.compact, now_ns))
            except OSError as error:
                self.notice(f"{self.store.folder}: {error.strerror or error}: it is not tidied up")
            await trio.sleep(TIDY_S)


def _matcher(wanted: Filter) -> Callable[[Mapping[str, object]], bool]:
    matches: Callable[[Mapping[str, object]], bool] = wanted.compiled()  # type: ignore[assignment]  # as stored
    return matches


def answer_parts(page: HistoryPage) -> list[tuple[dict[str, Value], bytes]]:
    """Return the attributes and payloads of the answers that carry a page."""
    frames: list[bytes] = []
    gaps: list[list[Value]] = []
    for event in page.events:
        if isinstance(event.content, Gap):
            gaps.append([len(frames), event.content.count or 0, event.content.reason])
        else:
            frames.append(event.content)
    content = b"".join(frames)
    parts = [content[at : at + h.PART_BYTES] for at in range(0, len(content), h.PART_BYTES)] or [b""]
    whole: dict[str, Value] = {h.NEXT: page.next, h.IS_LAST: page.is_last, h.PARTS: len(parts), h.GAPS: gaps}
    return [({**whole, h.PART: place}, part) for place, part in enumerate(parts)]
