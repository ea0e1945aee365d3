"""What `client.subscribe` gives: an async iterator of deliveries that shows gaps in their places.

Laws:

* Deliveries that have arrived are handed out without a checkpoint; there is one whenever nothing is left.
  Credit bounds how many that can be.
* Iterating may be left at any point (by `break`, an error, a cancellation) and taken up again: nothing is
  lost or repeated.
* Nothing is missing silently: a gap is raised as `GapError`, or handed out by `with_gaps`.
"""

from collections.abc import AsyncGenerator, AsyncIterator

import trio
from attrs import define, field

from broker.client.connection import Connection
from broker.client.delivery import Delivery, Gap
from broker.client.reading import Reading
from broker.errors import GapError


@define(eq=False)
class Deliveries:
    """The deliveries of one subscription, for one task at a time. Made by `Client.subscribe`."""

    _reading: Reading
    _connection: Connection
    _arrived: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)
    _steps: AsyncGenerator[Delivery, None] | None = field(default=None, init=False)
    _is_waiting: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._connection.arrivals[self._reading.inbox] = self._arrived

    def __aiter__(self) -> AsyncIterator[Delivery]:
        """Hand out deliveries; a gap is raised as `GapError`, and iterating again goes on behind it."""
        if self._steps is None:
            self._steps = self._iterate()
        return self._steps

    async def __anext__(self) -> Delivery:
        """The next delivery, as `async for` would give it."""
        return await anext(aiter(self))

    @property
    def is_resumed(self) -> bool:
        """Whether the broker knew this durable subscription, and went on with it."""
        return self._reading.inbox.is_resumed

    def with_gaps(self) -> AsyncIterator[Delivery | Gap]:
        """Hand out deliveries, and each gap as a `Gap` in its place."""
        return _WithGaps(self)

    async def _iterate(self) -> AsyncGenerator[Delivery, None]:
        """One step per delivery. What is begun is kept in the object, so that another iteration can go on."""
        try:
            while True:
                for delivery in self._reading.batch:
                    yield delivery
                gap = await self._next_batch()
                if gap is not None:
                    text = f"subscription {self._reading.inbox.filter!r}: {gap}"
                    raise GapError(text, gap.count, gap.reason)
        finally:
            self._steps = None

    async def _next_batch(self) -> Gap | None:
        """Wait for more deliveries; or return the gap that comes first."""
        connection, reading = self._connection, self._reading
        while not (arrived := reading.advance()):
            connection.wake_if_due()
            self._is_waiting = True
            try:
                await self._arrived.park()
            finally:
                self._is_waiting = False
        connection.wake_if_due()
        return arrived if isinstance(arrived, Gap) else None

    async def aclose(self) -> None:
        """Leave: the subscription is withdrawn, and what has not been handed out is dropped.

        A durable one is let go: it stays at the broker, behind the last delivery that was handed out.
        """
        await self.leave(had_last=True)

    async def leave(self, *, had_last: bool) -> None:
        """Leave; `had_last` says whether the program is done with the delivery that it got last."""
        if self._reading.is_closed:
            return
        self._reading.close(had_last=had_last)
        del self._connection.arrivals[self._reading.inbox]
        self._connection.wake()
        self._arrived.unpark_all()
        if self._steps is not None and not self._is_waiting:
            await self._steps.aclose()


@define(eq=False)
class _WithGaps(AsyncIterator[Delivery | Gap]):
    """The same deliveries, with gaps handed out instead of raised."""

    _deliveries: Deliveries

    async def __anext__(self) -> Delivery | Gap:
        try:
            return await anext(self._deliveries)
        except GapError as error:
            return Gap(error.count, error.reason)
