"""The deliveries of a subscription: an async iterator that yields deliveries and shows gaps.

Laws:

* Deliveries that have arrived are yielded without a checkpoint; there is one whenever none is left. Credit
  limits how many that can be.
* Iterating may be left at any point (by `break`, an error, a cancellation) and continued: no delivery is lost
  or repeated.
* No delivery is missing silently: a gap is raised as `GapError`, or yielded by `with_gaps`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from functools import partial
from typing import Final, Protocol

from attrs import define, field

from broker.client.delivery import Delivery, Gap
from broker.client.driver import Driver
from broker.client.life import Phase
from broker.client.reading import Reading
from broker.errors import ConcordError, GapError

BATCH_COUNT: Final = 1000
"""The default number of deliveries of a list: enough that the list costs nothing."""


class PastPages(Protocol):
    """What comes before the broker is asked for the subscription."""

    async def next(self) -> list[bytes] | Gap | None:
        """Return the next events, a gap, or None when there is no more."""
        ...

    async def close(self) -> None:
        """Ask no more."""
        ...


@define(eq=False)
class Deliveries:
    """The deliveries of one subscription, for one task at a time. Made by `Client.subscribe`."""

    _reading: Reading
    _driver: Driver
    past: PastPages | None = field(default=None, init=False)
    """What comes before the broker is asked."""
    _steps: AsyncGenerator[Delivery, None] | None = field(default=None, init=False)
    _is_waiting: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._driver.await_arrivals(self._reading.inbox)
        self.acknowledge_by(self.acknowledge)

    def __aiter__(self) -> AsyncIterator[Delivery]:
        """Yield deliveries; a gap is raised as `GapError`, and iterating again goes on behind it."""
        if self._steps is None:
            self._steps = self._iterate()
        return self._steps

    async def __anext__(self) -> Delivery:
        """The next delivery, as `async for` would give it."""
        return await anext(aiter(self))

    @property
    def is_resumed(self) -> bool:
        """Whether the broker has resumed this durable subscription."""
        return self._reading.inbox.is_resumed

    @property
    def id(self) -> str:
        """What the broker calls the subscription; another name behind a gap of reason "forgotten"."""
        return self._reading.inbox.read_id

    @property
    def position(self) -> int:
        """The position of the last delivery or gap that came out here, or where it all begins."""
        return self._reading.inbox.yielded

    def with_gaps(self) -> AsyncIterator[Delivery | Gap]:
        """Yield deliveries, and each gap as a `Gap` at its position."""
        return _WithGaps(self)

    async def _iterate(self) -> AsyncGenerator[Delivery, None]:
        """One step per delivery. What is begun is kept in the object, so that another iteration can go on."""
        try:
            while True:
                for delivery in self._reading.batch:
                    yield delivery
                gap = await self.next_batch()
                if gap is not None:
                    raise self.error_of(gap)
        finally:
            self._steps = None

    async def next_batch(self) -> Gap | None:
        """Wait for more deliveries in `batch`; or return the gap that comes first. Shells call this."""
        if self.past is not None:
            gap = await self._next_of_past(self.past)
            if gap is not None or self.past is not None:
                return gap
        driver, reading = self._driver, self._reading
        while not (arrived := await self._advance()):
            driver.wake_if_due()
            self._is_waiting = True
            try:
                await driver.arrival(reading.inbox)
            finally:
                self._is_waiting = False
        driver.wake_if_due()
        return arrived if isinstance(arrived, Gap) else None

    async def _next_of_past(self, past: PastPages) -> Gap | None:
        """Take a page of a history into `batch`; behind the last one, ask the broker for what it has."""
        self._reading.check_open()
        page = await past.next()
        if page is None:
            self.past = None
            self._ask()
            await past.close()
        elif isinstance(page, Gap):
            return page
        else:
            self._reading.begin_past(page)
        return None

    def _ask(self) -> None:
        """Ask the broker for the subscription."""
        self._driver.machine.session.subscribe(self._reading.inbox, self._driver.shell.now_s())
        self._driver.wake()

    async def begin(self) -> None:
        """Wait until everything that matches will come. Behind a history the broker is asked later."""
        inbox = self._reading.inbox
        if self.past is None:
            self._ask()
            await self._driver.until(lambda: inbox.phase is not Phase.OPENING)
            if inbox.ended is not None:
                raise inbox.ended

    async def _advance(self) -> bool | Gap:
        """Take the next run; where that fails because all of it is being cancelled, be cancelled."""
        try:
            return self._reading.advance()
        except ConcordError:
            await self._driver.shell.pause()
            raise

    def error_of(self, gap: Gap) -> GapError:
        """Return the error for a gap."""
        return GapError(f"subscription {self._reading.inbox.filter!r}: {gap}", gap.count, gap.reason)

    @property
    def batch(self) -> Iterator[Delivery]:
        """The deliveries that have arrived and were not yielded yet; `next_batch` waits for more."""
        return self._reading.batch

    def batches(self, max_count: int = BATCH_COUNT, max_s: float = 0) -> AsyncIterator[list[Delivery]]:
        """Yield lists of deliveries, up to `max_count` in each; gaps are raised between lists.

        A list has what has arrived. With `max_s` it waits for more, for so long after its first delivery. The
        deliveries of a list were had when the next list is asked for.

        Raises:
            ValueError: `max_count` is less than 1, or `max_s` less than 0.
        """
        if max_count < 1:
            raise ValueError(f"max_count: expected 1 or more, got {max_count}")
        if not max_s >= 0:
            raise ValueError(f"max_s: expected 0 or more, got {max_s}")
        return _Batches(self, max_count, max_s)

    async def next_list(self, max_count: int, max_s: float) -> list[Delivery]:
        """Wait for up to so many deliveries. Raises `GapError` if some are missing before them."""
        reading, shell = self._reading, self._driver.shell
        while not reading.gather(max_count):
            gap = await self.next_batch()
            if gap is not None:
                raise self.error_of(gap)
        if max_s and reading.may_gather(max_count):
            deadline_s = shell.now_s() + max_s
            try:
                await shell.run_until(partial(self._gather, max_count), lambda: deadline_s)
            except BaseException:
                reading.put_back()
                raise
        return reading.gathered()

    async def _gather(self, max_count: int) -> None:
        """Gather deliveries until the list is full, or would have a gap."""
        driver, reading = self._driver, self._reading
        while reading.may_gather(max_count):
            if not reading.extend():
                driver.wake_if_due()
                await driver.arrival(reading.inbox)
            reading.gather(max_count)

    def ack(self, position: int) -> None:
        """Acknowledge all deliveries up to this position: the program is done with them.

        Raises:
            ValueError: nothing was delivered at that position, or the subscription was not made with
                `ack="manual"`.
            ClosedError: the subscription's block has been left.
        """
        self.acknowledge(self._reading.inbox.read_era, position)

    def acknowledge(self, era: int, position: int) -> None:
        """Acknowledge up to a position of that era. Deliveries call this."""
        self._reading.acknowledged(era, position)
        self._driver.wake_if_due()

    def acknowledge_by(self, acknowledge: Callable[[int, int], None]) -> None:
        """Let deliveries call this function instead of `acknowledge`."""
        self._reading.acknowledge = acknowledge

    async def aclose(self) -> None:
        """Withdraw the subscription, and drop the deliveries that have not been yielded.

        A durable one is let go: it stays at the broker, behind the last delivery that was yielded.
        """
        await self.leave(had_last=True)

    async def leave(self, *, had_last: bool) -> None:
        """Leave; `had_last` says whether the program is done with the delivery that it got last."""
        if self._reading.is_closed:
            return
        self._reading.close(had_last=had_last)
        self._driver.wake()
        self._driver.end_arrivals(self._reading.inbox)
        if self._steps is not None and not self._is_waiting:
            await self._steps.aclose()
        if self.past is not None:
            await self.past.close()


@define(eq=False)
class _WithGaps(AsyncIterator[Delivery | Gap]):
    """The same deliveries, with gaps yielded instead of raised."""

    _deliveries: Deliveries

    async def __anext__(self) -> Delivery | Gap:
        try:
            return await anext(self._deliveries)
        except GapError as error:
            return Gap(error.count, error.reason)


@define(eq=False)
class _Batches(AsyncIterator[list[Delivery]]):
    """The same deliveries, in lists."""

    _deliveries: Deliveries
    _max_count: int
    _max_s: float

    async def __anext__(self) -> list[Delivery]:
        return await self._deliveries.next_list(self._max_count, self._max_s)
