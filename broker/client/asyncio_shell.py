"""Drives a client's machine over asyncio, and `connect` for programs that run on it.

Laws:

* All decisions are in `broker.client.machine`; this shell carries them out.
* Bytes go from the transport to the machine and back in callbacks of a `Protocol`: no task wakes up for them.
* One task serves one connection after another for as long as the client lives; a cancelled user ends it.
* Written bytes have left: while the transport keeps some, no more are taken from the machine.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from math import inf
from random import Random
from typing import Any

from attrs import define, field

from broker.client.client import LIMITS, Client, ignore_change, machine_of
from broker.client.driver import ALONE_BYTES, Driver, address_of, explain_error
from broker.client.life import ClientLife, StateChange, Wants
from broker.client.limits import Limits
from broker.exception_groups import leaves


@define(eq=False)
class _FutureLot:
    """Where coroutines wait until they are woken."""

    _waiting: deque[asyncio.Future[None]] = field(factory=deque)

    async def park(self) -> None:
        """Wait until `unpark_all` is called."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def unpark_all(self) -> None:
        """Wake all who wait now."""
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)


@define(eq=False)
class _Wire(asyncio.Protocol):
    """One connection: passes the transport's callbacks to the shell, as long as it is the shell's wire."""

    _shell: "AsyncioShell"
    ended: asyncio.Future[None]
    transport: asyncio.Transport | None = None
    is_full: bool = False
    cause: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep nothing in the transport: `pause_writing` comes as soon as the system takes no more."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=0)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to the shell."""
        self._shell.received(data)

    def pause_writing(self) -> None:
        """Pause writing: the system takes no more bytes."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Resume writing: all bytes have left."""
        self.is_full = False
        self._shell.write()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self.cause = exc
        if not self.ended.done():
            self.ended.set_result(None)


@define(eq=False)
class AsyncioShell:
    """Moves the bytes of one machine over transports to its addresses."""

    tls: ssl.SSLContext | None
    loop: asyncio.AbstractEventLoop
    driver: Driver = field(init=False)
    wire: _Wire | None = field(default=None, init=False)
    _attempt: asyncio.Task[None] | None = field(default=None, init=False)
    _written_bytes: int = field(default=0, init=False)
    _alarm: asyncio.TimerHandle | None = field(default=None, init=False)
    _alarm_s: float = field(default=inf, init=False)

    # --- for the driver ---

    def now_s(self) -> float:
        """Return the loop's time."""
        return self.loop.time()

    def lot(self) -> _FutureLot:
        """Return a lot where coroutines wait."""
        return _FutureLot()

    async def pause(self) -> None:
        """Let other tasks run."""
        await asyncio.sleep(0)

    async def run_until(self, work: Callable[[], Awaitable[object]], deadline_s: Callable[[], float]) -> None:
        """Run `work`, and cancel it when the deadline is over, which may change whenever something does."""
        watchers = self.driver.watchers
        timeout = asyncio.timeout_at(_when(deadline_s()))

        def watch() -> None:
            if not timeout.expired():
                timeout.reschedule(_when(deadline_s()))

        try:
            async with timeout:
                watchers.append(watch)
                try:
                    await work()
                finally:
                    watchers.remove(watch)
        except TimeoutError:
            if not timeout.expired():
                raise

    @asynccontextmanager
    async def crew(self) -> AsyncIterator[Callable[[Callable[[], Coroutine[Any, Any, object]]], object]]:
        """Give a function that starts work beside the block; what one raises ends all and is raised there."""
        try:
            async with asyncio.TaskGroup() as group:
                yield lambda work: group.create_task(work())
        except BaseExceptionGroup as errors:
            raise next(leaves(errors)) from None

    def send_soon(self) -> None:
        """Send what comes alone here and now; what comes in floods waits, to leave together."""
        if self.wire is not None and self._written_bytes < ALONE_BYTES and not self.wire.is_full:
            self._send(self.driver.machine.take_output())
        self.loop.call_soon(self.write)

    def set_alarm(self, deadline_s: float) -> None:
        """Wake earlier, if this is earlier."""
        if deadline_s < self._alarm_s:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_s = deadline_s
            self._alarm = self.loop.call_at(deadline_s, self._ring)

    def hang_up(self) -> None:
        """End the attempt; if nothing is half written, send what the machine has left."""
        if self.wire is None:
            if self._attempt is not None:
                self._attempt.cancel()
        elif self.wire.transport is not None:
            if self.driver.is_idle:
                self._send(self.driver.machine.take_output())
            self.wire.transport.abort()

    # --- bytes and time ---

    def received(self, data: bytes) -> None:
        """Feed the machine."""
        self.driver.machine.received(data, self.loop.time())
        self.driver.settle()

    def write(self) -> None:
        """Send everything that the machine has, as far as the system takes it."""
        driver, wire = self.driver, self.wire
        if wire is None or wire.transport is None or driver.is_idle:
            return
        machine = driver.machine
        while not wire.is_full and (output := machine.take_output()):
            self._send(output)
            self._written_bytes = len(output)
        if not wire.is_full:
            driver.is_idle = True
            machine.written(self.loop.time())
            if machine.is_changed:
                driver.settle()

    def _send(self, output: bytes) -> None:
        if output and self.wire is not None and self.wire.transport is not None:
            self.wire.transport.write(output)

    def _ring(self) -> None:
        """The next deadline is over, or was put off."""
        machine = self.driver.machine
        self._alarm, self._alarm_s = None, inf
        machine.tick(self.loop.time())
        self.driver.settle()
        self.set_alarm(machine.next_deadline())

    # --- what the machine wants ---

    async def run(self, *, retry: bool) -> None:
        """Serve one connection after another, until the machine is closed or this is cancelled."""
        driver, machine = self.driver, self.driver.machine
        try:
            machine.start(self.loop.time(), retry=retry)
            while machine.life is not ClientLife.CLOSED:
                if machine.wants is Wants.DIAL:
                    await self._serve_once()
                else:
                    self.set_alarm(machine.next_deadline())
                    await driver.changed()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user's next call raises it
            machine.fail(error, self.loop.time())
        finally:
            driver.close()
            if self._alarm is not None:
                self._alarm.cancel()

    async def _serve_once(self) -> None:
        """Open a transport and use it until it ends, or until the machine does not want it any more."""
        driver, machine = self.driver, self.driver.machine
        machine.dialling(self.loop.time())
        self.set_alarm(machine.next_deadline())
        wire = _Wire(self, self.loop.create_future())
        self._attempt = self.loop.create_task(self._dial(wire))
        try:
            await asyncio.wait([self._attempt])
            if not self._attempt.cancelled() and (error := self._attempt.exception()) is not None:
                if not isinstance(error, OSError):
                    raise error
                wire.cause = error
            elif not self._attempt.cancelled():
                self.wire = wire
                machine.connected(self.loop.time())
                driver.is_idle = False
                self.loop.call_soon(self.write)
                if machine.wants is Wants.CLOSE:
                    self.hang_up()
                await wire.ended
        finally:
            self._attempt.cancel()
            self._attempt = self.wire = None
            driver.is_idle = False
            if wire.transport is not None:
                wire.transport.abort()
        driver.lost(None if wire.cause is None else _explain(wire.cause), wire.cause)

    async def _dial(self, wire: _Wire) -> None:
        where = address_of(self.driver.machine.address)
        server = where.host if self.tls is not None else None
        await self.loop.create_connection(
            lambda: wire, where.host, where.port, ssl=self.tls, server_hostname=server
        )


def _when(deadline_s: float) -> float | None:
    """Return a deadline as asyncio has it."""
    return None if deadline_s == inf else max(deadline_s, 0.0)


def _explain(error: BaseException) -> str:
    """Return the cause in words; asyncio has its own for attempts that failed."""
    if isinstance(error, OSError) and error.errno is None and isinstance(error.__context__, OSError):
        return explain_error(error.__context__)
    return explain_error(error)


@asynccontextmanager
async def connect(  # noqa: PLR0913 - every option but the first is named and may be left out
    address: str | Sequence[str],
    *,
    name: str = "client",
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
    retry: bool = False,
    learn: bool = False,
    limits: Limits = LIMITS,
    on_state: Callable[[StateChange], None] | None = None,
    random: Random | None = None,
) -> AsyncIterator[Client]:
    """Connect to a broker; the client reconnects by itself until the block is left.

    Args:
        address: HOST:PORT of the broker, or of several: when one is lost for good, another one is dialled.
        name: what the broker calls this client; it need not be unique.
        token: proves to the broker who this client is, where the broker asks for that.
        tls: how to check the broker's certificate (and show one's own); None connects without TLS.
        retry: keep trying if no first connection can be made, instead of raising.
        learn: go to any broker of the overlay too, when all of `address` are lost for good.
        limits: the client's bounds.
        on_state: called with each `StateChange`: connected, reconnecting, closed.
        random: where the spread of the waits between attempts comes from.

    Raises:
        ConnectionFailedError: no connection could be made; the message names address and cause.
        BrokerFaultError: the broker refuses this client.
    """
    machine = machine_of(address, name, token, limits, random, learn=learn)
    shell = AsyncioShell(tls, asyncio.get_running_loop())
    shell.driver = driver = Driver(machine, shell, on_state or ignore_change)
    running = shell.loop.create_task(shell.run(retry=retry))
    try:
        await driver.opened()
        yield Client(name, driver)
        await driver.left()
    finally:
        driver.close()
        running.cancel()
        await asyncio.wait([running])
