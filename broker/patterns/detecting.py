"""Detecting a pattern in what a client subscribes to: one subscription to all that the pattern needs.

Law: there is one subscription, so there is one order, and nothing is decided that it does not show.
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from attrs import define, field

from broker.client.client import Client
from broker.client.deliveries import Deliveries
from broker.client.delivery import Delivery, Gap
from broker.client.replay import Replay
from broker.patterns.language import parse_pattern
from broker.patterns.machine import PARTIALS_LIMIT, Detector, Evicted, PatternMatch
from broker.patterns.pattern import Pattern

Found = PatternMatch[Delivery] | Gap | Evicted
"""What comes out: matches, and where events or partial matches are missing."""


@define(eq=False)
class Detection(AsyncIterator[Found]):
    """The matches of a pattern, as they are found. Made by `detect`, for one task at a time."""

    _client: Client
    _detector: Detector[Delivery]
    _replay: Replay | str | int | None = None
    _block: AbstractAsyncContextManager[Deliveries] | None = field(default=None, init=False)
    _items: AsyncIterator[Delivery | Gap] | None = field(default=None, init=False)
    _found: deque[Found] = field(factory=deque, init=False)

    async def __aenter__(self) -> Self:
        """Subscribe: entered once every event will come that the pattern needs."""
        if self._block is None:
            block = self._client.subscribe(self._detector.pattern.filter, replay=self._replay)
            deliveries = await block.__aenter__()
            self._block, self._items = block, deliveries.with_gaps()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        block, self._block, self._items = self._block, None, None
        if block is not None:
            await block.__aexit__(kind, error, traceback)

    async def aclose(self) -> None:
        """End the subscription."""
        await self.__aexit__(None, None, None)

    async def __anext__(self) -> Found:
        """Return the next match, gap or eviction; subscribe first, if that was not done."""
        while not self._found:
            await self.__aenter__()
            assert self._items is not None
            self._found.extend(self._detector.take(await anext(self._items)))
        return self._found.popleft()


def detect(
    client: Client,
    pattern: str | Pattern,
    *,
    replay: Replay | str | int | None = None,
    limit: int = PARTIALS_LIMIT,
) -> Detection:
    """Find a pattern in events, on Trio and on asyncio.

    It subscribes at the first step of the loop, or with `async with detect(...) as matches`, whose end ends
    the subscription; else the end of the client does.

    Args:
        client: a client of `concord.connect` or `concord.asyncio.connect`.
        pattern: what to find; the language is in the reference.
        replay: which part of the past comes first, as in `Client.subscribe`.
        limit: how many partial matches are kept.

    Raises:
        PatternError: the pattern cannot be read; the error has the column.
    """
    read = parse_pattern(pattern) if isinstance(pattern, str) else pattern
    return Detection(client, Detector(read, limit), replay)
