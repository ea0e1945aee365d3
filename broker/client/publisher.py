"""What `client.advertise` gives: publishes events, checked here, sent in batches by the connection.

`publish` is the hot path. It encodes the publication and appends it to the window, without a checkpoint
unless `Window.quota_bytes` is used up; everything else is done once per batch.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from math import inf
from time import time_ns

import trio
from attrs import define, field

from broker.client.connection import Connection
from broker.client.window import Source, Window
from broker.errors import ClosedError, InvalidPublicationError, NotAdvertisedError
from broker.filters import Filter
from broker.filters.constraints import Value
from broker.wire import WireError, encode_publication

__all__ = ["Publisher"]


@define(eq=False)
class Publisher:
    """Publishes what its advertisement matches. Made by `Client.advertise`; ends with that block."""

    _source: Source
    _filter: Filter
    _connection: Connection
    _matches: Callable[[Mapping[str, Value]], bool] = field(init=False)
    _window: Window = field(init=False)
    _is_closed: bool = field(default=False, init=False)
    _is_told: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._matches = self._filter.compiled()
        self._window = self._connection.session.window

    @property
    def id(self) -> str:
        """The id by which subscribers know it. It changes if the broker has forgotten it while away."""
        return self._source.id

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
        source, window = self._source, self._window
        if type(attributes) is not dict:
            attributes = _as_dict(attributes)
        if type(payload) is not bytes:
            payload = _as_bytes(payload)
        if not self._matches(attributes):
            self._refuse(attributes)
        if window.quota_bytes <= 0 or source.ended is not None or self._is_closed:
            await self._room()
        try:
            frame = encode_publication(
                source.prefix, source.sequence + 1, time_ns(), attributes, payload, ordered
            )
        except WireError as error:
            raise InvalidPublicationError(f"cannot publish this: {error.text}") from None
        window.append(source, frame)
        sequence = source.sequence
        if self._connection.is_idle:
            self._connection.wake()
        if confirm:
            await self.flush()
        return sequence

    async def flush(self) -> None:
        """Wait until the broker has taken over everything published so far."""
        await trio.lowlevel.checkpoint()
        self._check()
        source = self._source
        place = self._window.flush()
        await self._connection.until(lambda: place.is_done or source.ended is not None)
        self._check()

    @property
    def is_wanted(self) -> bool:
        """Whether anybody, anywhere, has subscribed to something that may be published here.

        While there is no connection, what was so last.
        """
        return self._source.is_wanted

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
            if self._is_closed or self._source.ended is not None or self._connection.failure is not None:
                production.cancel()
            elif self.is_wanted:
                production.deadline = inf
            elif production.deadline == inf:
                production.deadline = trio.current_time() + linger_s

        return watch

    async def _until(self, is_so: Callable[[], bool]) -> None:
        await trio.lowlevel.checkpoint()
        self._check()
        source = self._source
        await self._connection.until(lambda: is_so() or source.ended is not None or self._is_closed)
        self._check()

    async def settle(self) -> None:
        """Wait for what is still in the window; raise what ended the publisher, if nobody has been told."""
        if self._source.pending_count or (self._source.ended is not None and not self._is_told):
            await self.flush()

    async def _room(self) -> None:
        """Let others run; then wait until the window has room."""
        await trio.lowlevel.checkpoint()
        self._check()
        window, source = self._window, self._source
        await self._connection.until(
            lambda: not window.is_full or source.ended is not None or self._is_closed
        )
        self._check()
        window.refill()

    def _check(self) -> None:
        if self._is_closed:
            raise ClosedError(f"the publisher {self.id} was used after its advertise block had been left")
        if self._source.ended is not None:
            self._is_told = True
            raise self._source.ended
        self._connection.check()

    def _refuse(self, attributes: Mapping[str, Value]) -> None:
        """Say what is wrong: first with the attributes themselves, then with the advertisement."""
        try:
            encode_publication(self._source.prefix, 1, 0, attributes, b"", ordered=False)
        except WireError as error:
            raise InvalidPublicationError(f"cannot publish this: {error.text}") from None
        raise NotAdvertisedError(
            f"{dict(attributes)!r} is not covered by the advertisement {self._source.filter!r}: "
            f"{self._filter.failing(attributes)}"
        )

    def close(self) -> None:
        """Leave: what is in the window is still sent, then the advertisement is withdrawn."""
        if not self._is_closed:
            self._is_closed = True
            self._connection.session.unadvertise(self._source)
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


def _as_dict(attributes: object) -> dict[str, Value]:
    if not isinstance(attributes, Mapping):
        kind = type(attributes).__name__
        raise InvalidPublicationError(f"attributes: expected a mapping of names to values, got {kind}")
    return dict(attributes)


def _as_bytes(payload: object) -> bytes:
    if not isinstance(payload, bytes | bytearray | memoryview):
        kind = type(payload).__name__
        raise InvalidPublicationError(f"payload: expected bytes, got {kind}; encode it first")
    return bytes(payload)
