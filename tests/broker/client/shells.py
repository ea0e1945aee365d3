"""The shells of the client, each with a way to run a test that is written as a coroutine.

A test of a behaviour is a coroutine function, and runs under Trio, under asyncio, and in a thread without a
loop, where it never suspends.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import trio
from attrs import frozen

import concord
import concord.asyncio
import concord.sync
from broker.client.client import Client
from tests.broker.server.overlay import WAIT_S

Connect = Callable[..., AbstractAsyncContextManager[Client]]
Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


@frozen
class ShellUnderTest:
    """How clients of one kind are made, and how a test of them runs."""

    connect: Connect
    run: Run
    has_tasks: bool
    """Whether work can be cancelled where it waits."""

    def __repr__(self) -> str:
        return self.run.__name__.strip("_")


def _trio(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        with trio.fail_after(WAIT_S):
            await test()

    trio.run(limited)


def _asyncio(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(WAIT_S):
            await test()

    asyncio.run(limited(), debug=True)


def _threads(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    coroutine = test()
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("the test waited for something that is not of the client")


class Blocking:
    """An object of the blocking client, in the form of the others: calls that wait can be awaited.

    What it awaits is done by then, so a test that uses nothing else never suspends.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        return lambda *arguments, **options: _Call(lambda: found(*arguments, **options))

    def __aiter__(self) -> "_Items":
        return _Items(iter(self._inner))

    async def __anext__(self) -> Any:
        return self._inner.next()


class _Items:
    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    def __aiter__(self) -> "_Items":
        return self

    async def __anext__(self) -> Any:
        return next(self._items)


class _Call:
    """What a call gives: something to await, a block to enter, or something to iterate over."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._made: Any = None

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        return self._call()

    async def __aenter__(self) -> Any:
        self._made = self._call()
        return Blocking(self._made.__enter__())

    async def __aexit__(self, *error: object) -> Any:
        return self._made.__exit__(*error)

    async def __anext__(self) -> Any:
        self._made = self._made or self._call()
        return next(self._made)


@asynccontextmanager
async def _connect_threads(address: str, **options: Any) -> AsyncIterator[Any]:
    with concord.sync.connect(address, **options) as client:
        yield Blocking(client)


SHELLS = [
    ShellUnderTest(concord.connect, _trio, has_tasks=True),
    ShellUnderTest(concord.asyncio.connect, _asyncio, has_tasks=True),
    ShellUnderTest(_connect_threads, _threads, has_tasks=False),
]

__all__ = ["SHELLS", "ShellUnderTest"]
