"""Real brokers in a thread of their own, behind a proxy, for clients that run on anything."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial

import attrs
import trio
from attrs import define, field

from broker.server.settings import Settings
from tests.broker.server.overlay import WAIT_S, Running, running, settings
from tests.broker.server.proxy import Proxy, proxied


@define(eq=False)
class Stage:
    """A broker that a test may stop, start again, and cut off. `address` stays."""

    wanted: Settings
    address: str = ""
    _token: trio.lowlevel.TrioToken = field(init=False)
    _nursery: trio.Nursery = field(init=False)
    _proxy: Proxy = field(init=False)
    _stopping: trio.Event = field(init=False)
    _stopped: trio.Event = field(init=False)

    async def serve(self, ready: threading.Event, over: trio.Event) -> None:
        """Run until `over`."""
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as self._nursery:
            broker = await self._start()
            async with proxied(broker.endpoint) as self._proxy:
                self.address = self._proxy.address
                ready.set()
                await over.wait()
            await self._stop()

    async def _start(self) -> Running:
        broker: Running = await self._nursery.start(self._run)
        self.wanted = attrs.evolve(self.wanted, listen=broker.endpoint)
        return broker

    async def _run(self, task_status: trio.TaskStatus[Running]) -> None:
        self._stopping, self._stopped = trio.Event(), trio.Event()
        async with running(self.wanted) as broker:
            task_status.started(broker)
            await self._stopping.wait()
        self._stopped.set()

    async def _cut(self) -> None:
        self._proxy.cut()

    async def _hang(self) -> None:
        self._proxy.hang()

    async def _stop(self) -> None:
        self._stopping.set()
        await self._stopped.wait()

    def _do(self, call: Callable[[], Awaitable[object]]) -> None:
        """Run this in the broker's thread, and wait for its end, whatever runs in the thread that waits."""
        done: Future[None] = Future()

        async def run() -> None:
            await call()
            done.set_result(None)

        self._token.run_sync_soon(self._nursery.start_soon, run)
        done.result(WAIT_S)

    # --- for tests, from their own thread ---

    def restart(self) -> None:
        """Stop the broker in order, and start it again."""
        self._do(self._stop)
        self._do(self._start)

    def stop(self) -> None:
        """Stop the broker in order."""
        self._do(self._stop)

    def cut(self) -> None:
        """Break every connection, as a network would."""
        self._do(self._cut)

    def hang(self) -> None:
        """Let every connection carry nothing more, and stay open."""
        self._do(self._hang)


@contextmanager
def stage(wanted: Settings | None = None) -> Iterator[Stage]:
    """A broker in another thread, for as long as the block lasts."""
    made = Stage(wanted or settings("B1"))
    ready, over = threading.Event(), trio.Event()
    thread = threading.Thread(target=partial(trio.run, made.serve, ready, over), daemon=True)
    thread.start()
    assert ready.wait(WAIT_S), "the broker has not started"
    try:
        yield made
    finally:
        made._token.run_sync_soon(over.set)
        thread.join(WAIT_S)
