"""A publisher: publishes events, which the connection sends in batches.

`publish` is the hot path. It puts the publication into the outbox, without a checkpoint unless the window's
quota is used up; everything else is done once per batch.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from time import time_ns
from typing import TYPE_CHECKING

from attrs import define

from broker.client.driver import Driver
from broker.client.interest_changes import InterestChange, InterestChanges
from broker.client.linger import Linger
from broker.client.on_demand import OnDemand
from broker.client.outbox import Outbox
from broker.filters import Filter, parse
from broker.filters.values import Scalar

if TYPE_CHECKING:
    from broker.client.objects import EventObject
    from broker.filters.constraints import Value


@define(eq=False)
class Publisher:
    """Publishes what its advertisement matches. Made by `Client.advertise`; ends with that block."""

    _outbox: Outbox
    _driver: Driver

    @property
    def id(self) -> str:
        """The id by which subscribers know it. It changes if the broker has forgotten it while away."""
        return self._outbox.source.id

    @property
    def sequence(self) -> int:
        """The number of its last event."""
        return self._outbox.source.sequence

    async def publish(
        self,
        attributes: "Mapping[str, Value] | EventObject",
        payload: bytes | bytearray | memoryview = b"",
        *,
        ordered: bool = True,
        confirm: bool = False,
    ) -> int:
        """Put a publication into the window; returns its sequence number.

        An event is a mapping of names to values, or an object of a class that `concord.events` knows.
        Waits while the window is full. If it is cancelled then, nothing has been published. With `confirm`
        it also waits until the broker has taken the publication over, as `flush` does.

        Raises:
            NotAdvertisedError: the advertisement does not match; the message shows what fails.
            InvalidPublicationError: an attribute or the payload cannot be published.
            PublisherEndedError: the broker has ended this publisher.
            ConcordError: the client is closed or has failed.
        """
        sequence = self._outbox.put(attributes, payload, time_ns(), ordered)
        while not sequence:
            await self._room()
            sequence = self._outbox.put(attributes, payload, time_ns(), ordered)
        if self._driver.is_idle:
            self._driver.wake()
        if confirm:
            await self.flush()
        return sequence

    async def flush(self) -> None:
        """Wait until the broker has acknowledged everything published so far."""
        await self._driver.shell.pause()
        outbox = self._outbox
        outbox.check()
        flush = self._driver.machine.session.flush()
        await self._driver.until(lambda: flush.is_done or outbox.source.ended is not None)
        outbox.check()

    @property
    def is_wanted(self) -> bool:
        """Whether a subscription, at any broker, overlaps the advertisement.

        While there is no connection, what was so last.
        """
        return self._outbox.source.is_wanted

    async def wanted(self) -> None:
        """Wait until a subscriber is interested."""
        await self._until(lambda: self.is_wanted)

    async def unwanted(self) -> None:
        """Wait until no subscriber is interested."""
        await self._until(lambda: not self.is_wanted)

    def interest(self) -> AsyncIterator[bool]:
        """Yield whether it is wanted: the present value, then each change.

        Only the last state counts: what came and went while nobody was looking is left out.
        """
        return _Interest(self)

    @property
    def interests(self) -> tuple[Filter, ...]:
        """The filters that overlap the advertisement, as `interest_changes` gave them last."""
        followed = self._driver.machine.session.followed(self._outbox.source)
        return () if followed is None else tuple(map(parse, followed.filters))

    def interest_changes(self) -> AsyncIterator[InterestChange]:
        """Yield the filters that overlap the advertisement: all present ones, then each change.

        They are what the broker's routing tables have: a neighbour's are aggregated as its routing strategy
        announced them, and more than 64 KiB of them are given as the advertisement itself.

        Raises:
            RefusedError: the broker does not let this client see the filters of others.
        """
        return InterestChanges(self._outbox, self._driver)

    async def serve_on_demand(
        self,
        key: str,
        make: Callable[[Scalar | None], Awaitable[object]],
        *,
        linger_s: float = 0,
    ) -> None:
        """Run a producer for each wanted value of an attribute, for as long as it is wanted; for ever.

        If one returns by itself, it is run again when its value is wanted anew. What one raises ends all the
        others and is raised here.

        Args:
            key: the attribute. Its wanted values are those that the filters of subscriptions and the
                advertisement both name, by `==` or `in`.
            make: the producer of a value; that of None serves filters that leave the value open.
            linger_s: how long a producer goes on without a subscriber to its value.

        Raises:
            RefusedError: the broker does not let this client see the filters of others.
        """
        await OnDemand(self._outbox, self._driver, key, make, linger_s).run()

    async def while_wanted(self, produce: Callable[[], Awaitable[object]], *, linger_s: float = 0) -> None:
        """Run `produce` while a subscriber is interested, and cancel it when none is any more; for ever.

        If it returns by itself, it is run again when interest comes anew. What it raises is raised here.

        Args:
            produce: what to run, for example something that measures and publishes.
            linger_s: how long it goes on without a subscriber, so that short gaps do not interrupt it.
        """

        async def produce_once() -> None:
            await produce()
            await self.unwanted()

        while True:
            await self.wanted()
            linger = Linger(
                lambda: self.is_wanted, lambda: self.has_ended, self._driver.shell.now_s, linger_s
            )
            await self._driver.shell.run_until(produce_once, linger.deadline_s)

    @property
    def has_ended(self) -> bool:
        """Whether nothing can be published here any more."""
        return self._outbox.is_over or self._driver.machine.failure is not None

    async def _until(self, is_so: Callable[[], bool]) -> None:
        await self._driver.shell.pause()
        outbox = self._outbox
        outbox.check()
        await self._driver.until(lambda: is_so() or outbox.is_over)
        outbox.check()

    async def settle(self) -> None:
        """Wait until the window is empty; raise the error that ended the publisher, if not raised before."""
        if self._outbox.is_unsettled:
            await self.flush()

    async def _room(self) -> None:
        """Let others run; then wait until the window has room."""
        await self._driver.shell.pause()
        outbox = self._outbox
        outbox.check()
        await self._driver.until(lambda: outbox.has_room)
        outbox.refill()

    def close(self) -> None:
        """Leave: what is in the window is still sent, then the advertisement is withdrawn."""
        if not self._outbox.is_closed:
            self._outbox.close()
            self._driver.wake()
            self._driver.announce_change()


@define(eq=False)
class _Interest(AsyncIterator[bool]):
    """Whether a publisher is wanted, each time it is something else than it was last time."""

    _publisher: Publisher
    _last: bool | None = None

    async def __anext__(self) -> bool:
        publisher = self._publisher
        await publisher._until(lambda: publisher.is_wanted is not self._last)  # noqa: SLF001 - its own module
        self._last = publisher.is_wanted
        return self._last
