"""The past that a history keeps, pulled page by page, for one subscription. What asks is ordinary events.

Laws:

* Pages come in the order of the history, which is that of its deliveries. What comes behind its last page is
  for the caches of brokers, then live.
* A page is asked for when the one before it was taken: the reader's pace is the history's.
* A question that is not answered in time is asked again under another number, from the same place. Nothing
  depends on how often.
* The history that answers first goes on: another one has other numbers.
"""

import secrets
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final, Literal, Protocol

from attrs import define, field

from broker import history_events as h
from broker.client.deliveries import Deliveries
from broker.client.delivery import REPLAY, Delivery, Gap
from broker.client.driver import Driver
from broker.client.publisher import Publisher
from broker.errors import BrokerFaultError, RefusedError
from broker.filters.constraints import Value
from broker.wire.header import HEADER, LENGTH_BYTES

FIRST_ANSWER_S: Final = 3.0
"""How long the first answer is waited for. A history answers within milliseconds if it has anything, and else
when it has stored what is on its way. A program that demands a history waits for `ANSWER_S`."""

ANSWER_S: Final = 10.0
ATTEMPTS: Final = 3
"""So often a page is asked for before the rest of the history is given up."""

_TOKEN_BYTES: Final = 16


@define(eq=False)
class HistoryPast:
    """The past of one subscription. `name` is the history that answers, once one has."""

    _driver: Driver
    _filter: str
    _since_ns: int
    _token: str
    _publisher: Publisher | None
    _answers: Deliveries | None
    stack: AsyncExitStack = field(factory=AsyncExitStack, init=False)
    name: str = field(default="", init=False)
    _ready: deque[list[bytes] | Gap] = field(factory=deque, init=False)
    _after: int = field(default=0, init=False)
    _number: int = field(default=0, init=False)
    _is_over: bool = field(default=False, init=False)

    @classmethod
    def missing(cls, driver: Driver) -> "HistoryPast":
        """Return the past of a history that does not answer: a gap."""
        past = cls(driver, "", 0, "", None, None)
        past._give_up()
        return past

    def _give_up(self) -> None:
        self._ready.append(Gap(None, REPLAY))
        self._is_over = True

    async def begin(self, timeout_s: float) -> bool:
        """Ask for the first page, and return whether a history has answered in time."""
        answer = await self._asked(timeout_s)
        if answer is None:
            return False
        self._take(answer)
        return True

    async def next(self) -> list[bytes] | Gap | None:
        """Return the next events, a gap, or None when the history has no more."""
        while not self._ready:
            if self._is_over:
                return None
            await self._fetch()
        return self._ready.popleft()

    async def _fetch(self) -> None:
        for _ in range(ATTEMPTS):
            if (answer := await self._asked(ANSWER_S)) is not None:
                self._take(answer)
                return
        self._give_up()

    async def _asked(self, timeout_s: float) -> "HistoryAnswer | None":
        self._number += 1
        answer = HistoryAnswer(self._number, self.name)
        shell, publisher, answers = self._driver.shell, self._publisher, self._answers
        assert publisher is not None, "nobody is asked behind the end"
        assert answers is not None, "as above"
        deadline_s = shell.now_s() + timeout_s

        async def ask() -> None:
            await publisher.publish(self._question(), ordered=False)
            while not answer.is_whole:
                item = await anext(answers.with_gaps())
                if isinstance(item, Delivery):
                    answer.take(item)

        await shell.run_until(ask, lambda: deadline_s)
        return answer if answer.is_whole else None

    def _question(self) -> dict[str, Value]:
        return {
            h.ASK: self._token,
            h.NUMBER: self._number,
            h.NAME: self.name,
            h.FILTER: self._filter,
            h.SINCE_NS: self._since_ns,
            h.AFTER: self._after,
        }

    def _take(self, answer: "HistoryAnswer") -> None:
        if answer.error:
            raise RefusedError(
                f"the history {answer.name} does not replay that: {answer.error}", "not-allowed"
            )
        self.name, self._after, self._is_over = answer.name, answer.next, answer.is_last
        self._ready += answer.items()

    async def close(self) -> None:
        """Ask no more."""
        await self.stack.aclose()


@define(eq=False)
class HistoryAnswer:
    """The answer to one question, in parts; the history that sends the first one sends all."""

    _number: int
    name: str
    error: str = ""
    next: int = 0
    is_last: bool = False
    _parts: list[bytes] = field(factory=list)
    _count: int = 0
    _gaps: list[list[object]] = field(factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether every part has come, or an error."""
        return bool(self.error) or 0 < self._count == len(self._parts)

    def take(self, delivery: Delivery) -> None:
        """Take a part, if it is of this answer."""
        part = delivery.attributes
        if part.get(h.NUMBER) != self._number or (self.name and part.get(h.NAME) != self.name):
            return
        try:
            self._read(part, delivery.payload)
        except (KeyError, TypeError, ValueError) as error:
            raise BrokerFaultError("a history answered what is no answer", "malformed") from error

    def _read(self, part: Mapping[str, object], payload: bytes) -> None:
        self.name = str(part[h.NAME])
        if (text := part.get(h.ERROR)) is not None:
            self.error = str(text) or "no reason is given"
            return
        place, count, behind, gaps = part[h.PART], part[h.PARTS], part[h.NEXT], part[h.GAPS]
        if not (isinstance(count, int) and isinstance(behind, int) and isinstance(gaps, list)):
            raise TypeError
        if place == len(self._parts):
            self._parts.append(payload)
        self._count, self.next, self.is_last, self._gaps = count, behind, bool(part[h.IS_LAST]), gaps

    def items(self) -> list[list[bytes] | Gap]:
        """Return the events of the page, with its gaps between them."""
        frames, items, begin = _frames(b"".join(self._parts)), list[list[bytes] | Gap](), 0
        for place, count, reason in self._gaps:
            if not (isinstance(place, int) and isinstance(count, int)):
                raise BrokerFaultError("a history answered what is no gap", "malformed")
            if place > begin:
                items.append(frames[begin:place])
            items.append(Gap(count or None, str(reason)))
            begin = place
        if begin < len(frames):
            items.append(frames[begin:])
        return items


def _frames(content: bytes) -> list[bytes]:
    """Cut the frames of a page apart."""
    frames: list[bytes] = []
    begin = 0
    while begin < len(content):
        end = begin + LENGTH_BYTES + HEADER.unpack_from(content, begin)[0]
        frames.append(content[begin:end])
        begin = end
    return frames


class HistoryAsker(Protocol):
    """The client that asks; as `broker.client.client` has it."""

    def advertise(self, content: str, /) -> AbstractAsyncContextManager[Publisher]:
        """Become a publisher."""
        ...

    def subscribe(
        self,
        content: str,
        /,
        *,
        ordered: bool,
        policy: Literal["drop"],
    ) -> AbstractAsyncContextManager[Deliveries]:
        """Subscribe."""
        ...


async def opened_history(
    client: HistoryAsker, driver: Driver, filter_text: str, since_ns: int, *, is_due: bool
) -> HistoryPast | None:
    """Return the past that a history has, behind its first page; None if none answers.

    If it `is_due`, none that answers is a gap, and a refusal is raised.

    Raises:
        RefusedError: the history does not let this user have that.
    """
    async with AsyncExitStack() as stack:
        past = await _asked_past(client, driver, filter_text, since_ns, stack, is_due=is_due)
        timeout_s = ANSWER_S if is_due else FIRST_ANSWER_S
        if past is not None and await past.begin(timeout_s):
            past.stack = stack.pop_all()
            return past
    return HistoryPast.missing(driver) if is_due else None


async def _asked_past(  # noqa: PLR0913 - as its caller
    client: HistoryAsker,
    driver: Driver,
    filter_text: str,
    since_ns: int,
    stack: AsyncExitStack,
    *,
    is_due: bool,
) -> HistoryPast | None:
    """Return the past before its first question; None if nobody would get that."""
    try:
        publisher = await stack.enter_async_context(client.advertise(h.QUESTIONS))
        if not publisher.is_wanted:
            return None
        token = secrets.token_hex(_TOKEN_BYTES)
        wanted = f"{h.USER} == {h.user_of(publisher.id)!r} and {h.TO} == {token!r}"
        answers = await stack.enter_async_context(client.subscribe(wanted, ordered=False, policy="drop"))
    except RefusedError:
        if is_due:
            raise
        return None
    return HistoryPast(driver, filter_text, since_ns, token, publisher, answers)
