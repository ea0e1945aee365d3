"""What `client.advertise` gives: publishes events, sent in batches by the connection.

`publish` is the hot path. It puts the publication into the outbox, without a checkpoint unless the window's
quota is used up; everything else is done once per batch.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from math import inf
from time import time_ns

import trio
from attrs import define

from broker.client.connection import Connection
from broker.client.outbox import Outbox
from broker.filters.constraints import Value


@define(eq=False)
class Publisher:
    """Publishes what its advertisement matches. Made by `Client.advertise`; ends with that block."""

    _outbox: Outbox
    _connection: Connection

    @property
    def id(self) -> str:
        """The id by which subscribers know it. It changes if the broker has forgotten it while away."""
        return self._outbox.source.id

    async def publish(
        self,
        attributes: Mapping[str, Value],
        payload: bytes | bytearray | memoryview = b"",
        *,
        ordered: bool = True,
        confirm: bool = False,
    ) -> int:
        """Put a publication into the window; returns its sequence number.

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
        if self._connection.is_idle:
            self._connection.wake()
        if confirm:
            await self.flush()
        return sequence

    async def flush(self) -> None:
        """Wait until the broker has taken over everything published so far."""
        await trio.lowlevel.checkpoint()
        outbox = self._outbox
        outbox.check()
        place = self._connection.machine.session.flush()
        await self._connection.until(lambda: place.is_done or outbox.source.ended is not None)
        outbox.check()

    @property
    def is_wanted(self) -> bool:
        """Whether anybody, anywhere, has subscribed to something that may be published here.

        While there is no connection, what was so last.
        """
        return self._outbox.source.is_wanted

    async def wanted(self) -> None:
        """Wait until somebody is interested."""
        await self._until(lambda: self.is_wanted)

    async def unwanted(self) -> None:
        """Wait until nobody is interested."""
        await self._until(lambda: not self.is_wanted)

    def interest(self) -> AsyncIterator[bool]:
        """Iterate over whether it is wanted: what is so now, then each change.

        Only the last state counts: what came and went while nobody was looking is left out.
        """
        return _Interest(self)

    async def while_wanted(self, produce: Callable[[], Awaitable[object]], *, linger_s: float = 0) -> None:
        """Run `produce` whenever somebody is interested, and cancel it when nobody is any more; for ever.

        If it returns by itself, it is run again when interest comes anew. What it raises is raised here.

        Args:
            produce: what to run, for example something that measures and publishes.
            linger_s: how long it goes on without anybody, so that short absences do not interrupt it.
        """
        while True:
            await self.wanted()
            with trio.CancelScope() as production:
                watcher = self._watcher(production, linger_s)
                self._connection.watchers.append(watcher)
                watcher()
                try:
                    await produce()
                    await self.unwanted()
                finally:
                    self._connection.watchers.remove(watcher)

    def _watcher(self, production: trio.CancelScope, linger_s: float) -> Callable[[], None]:
        def watch() -> None:
            if self._outbox.is_over or self._connection.machine.failure is not None:
                production.cancel()
            elif self.is_wanted:
                production.deadline = inf
            elif production.deadline == inf:
                production.deadline = trio.current_time() + linger_s

        return watch

    async def _until(self, is_so: Callable[[], bool]) -> None:
        await trio.lowlevel.checkpoint()
        outbox = self._outbox
        outbox.check()
        await self._connection.until(lambda: is_so() or outbox.is_over)
        outbox.check()

    async def settle(self) -> None:
        """Wait for what is still in the window; raise what ended the publisher, if nobody has been told."""
        if self._outbox.is_unsettled:
            await self.flush()

    async def _room(self) -> None:
        """Let others run; then wait until the window has room."""
        await trio.lowlevel.checkpoint()
        outbox = self._outbox
        outbox.check()
        await self._connection.until(lambda: outbox.has_room)
        outbox.refill()

    def close(self) -> None:
        """Leave: what is in the window is still sent, then the advertisement is withdrawn."""
        if not self._outbox.is_closed:
            self._outbox.close()
            self._connection.wake()
            self._connection.tell_change()


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
