"""Drives a client's machine over Trio, and `connect` for programs that run on it.

Laws:

* All decisions are in `broker.client.machine`; this shell carries them out.
* One task keeps time for as long as the client lives; one reads and one writes, and neither outlives its
  connection.
* A user sees plain errors: nothing that is raised inside a block is wrapped into a group by the nursery that
  keeps the connection, and nothing that happens in the background is raised anywhere but in the user's calls.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from time import perf_counter
from typing import Final

import trio
from attrs import define, field

from broker.client.arrivals import HAS_EPOLL, arrivals
from broker.client.client import LIMITS, Client, ignore_change, machine_of
from broker.client.dialling import LOST, Dial, dialler, explain
from broker.client.direct import DirectSocket
from broker.client.driver import ALONE_BYTES, Driver
from broker.client.life import ClientLife, StateChange, Wants
from broker.client.limits import Limits
from broker.exception_groups import leaves

ALONE_S: Final = 0.00005
"""What comes later than this after a write is not of the same burst: ten times what a program needs between
two publications that it makes in a row."""


@define(eq=False)
class TrioShell:
    """Moves the bytes of one machine over streams that `dial` opens."""

    dial: Dial
    driver: Driver = field(init=False)
    stream: trio.abc.Stream | None = field(default=None, init=False)
    _output: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot, init=False)
    _direct: DirectSocket | None = field(default=None, init=False)
    _rest: bytes = field(default=b"", init=False)
    _written_bytes: int = field(default=0, init=False)
    _written_s: float = field(default=0.0, init=False)
    _scope: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _alarm: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _end: str | None = field(default=None, init=False)
    _cause: BaseException | None = field(default=None, init=False)
    _failed: trio.Event = field(factory=trio.Event, init=False)
    _failure: Exception | None = field(default=None, init=False)

    # --- for the driver ---

    def now_s(self) -> float:
        """Return Trio's time."""
        return trio.current_time()

    def lot(self) -> trio.lowlevel.ParkingLot:
        """Return a lot where tasks wait."""
        return trio.lowlevel.ParkingLot()

    async def pause(self) -> None:
        """Let other tasks run."""
        await trio.lowlevel.checkpoint()

    async def run_until(self, work: Callable[[], Awaitable[object]], deadline_s: Callable[[], float]) -> None:
        """Run `work`, and cancel it when the deadline is over, which may change whenever something does."""
        watchers = self.driver.watchers
        with trio.CancelScope(deadline=deadline_s()) as scope:

            def watch() -> None:
                scope.deadline = deadline_s()

            watchers.append(watch)
            try:
                await work()
            finally:
                watchers.remove(watch)

    @asynccontextmanager
    async def crew(self) -> AsyncIterator[Callable[[Callable[[], Awaitable[object]]], object]]:
        """Give a function that starts work beside the block; what one raises ends all and is raised there."""
        try:
            async with trio.open_nursery() as nursery:
                yield nursery.start_soon
        except BaseExceptionGroup as group:
            # Cancellations are those of scopes around, which raise them again.
            defects = group.split(trio.Cancelled)[1]
            if defects is None:
                raise
            raise next(leaves(defects)) from None

    def send_soon(self) -> None:
        """Send what comes alone here and now; what comes in a burst leaves together, by the writer."""
        now_s = perf_counter()
        is_alone = self._written_bytes < ALONE_BYTES and now_s - self._written_s > ALONE_S
        self._written_s = now_s
        if is_alone and self._sent_whole():
            self.driver.is_idle = True
        else:
            self._output.unpark()

    def _sent_whole(self) -> bool:
        """Send what the system takes at once; return whether there is nothing left for the writer."""
        machine = self.driver.machine
        if self._direct is None or machine.life is not ClientLife.CONNECTED:
            return False
        output = machine.take_output()
        self._rest = output[self._direct.send(output) :]
        if self._rest or machine.has_output:
            return False
        machine.written(trio.current_time())
        return True

    def set_alarm(self, deadline_s: float) -> None:
        """Wake the task that keeps time earlier, if this is earlier."""
        self._alarm.deadline = min(self._alarm.deadline, deadline_s)

    def hang_up(self) -> None:
        """End the attempt; if nothing is half written, send what the machine has left."""
        if self.driver.is_idle and self._direct is not None:
            self._direct.send(self.driver.machine.take_output())
        self._scope.cancel()

    # --- what the machine wants ---

    @trio.lowlevel.enable_ki_protection
    async def run(self, *, retry: bool) -> None:
        """Serve one connection after another, until the machine is closed or this is cancelled."""
        driver, machine = self.driver, self.driver.machine
        try:
            machine.start(trio.current_time(), retry=retry)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_time)
                while machine.life is not ClientLife.CLOSED:
                    if machine.wants is Wants.DIAL:
                        await self._attempt()
                    else:
                        await driver.changed()
                nursery.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user's next call raises it
            first = next(leaves(error))
            assert isinstance(first, Exception)
            machine.fail(first, trio.current_time())
        finally:
            driver.close()

    async def _attempt(self) -> None:
        """Open a transport and use it until it ends, or until the machine does not want it any more."""
        self.driver.machine.dialling(trio.current_time())
        self._end = self._cause = None
        with trio.CancelScope() as self._scope:
            try:
                stream = await self.dial(self.driver.machine.address)
            except LOST as error:
                self._cause, self._end = error, explain(error)
            else:
                await self._serve(stream)
        self.driver.lost(self._end, self._cause)

    async def _serve(self, stream: trio.abc.Stream) -> None:
        """Read and write until the connection is lost."""
        try:
            self._rest, self._written_bytes = b"", 0
            self._direct = DirectSocket.of(stream)
            self.stream = stream
            self.driver.machine.connected(trio.current_time())
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read, stream)
                nursery.start_soon(self._write, stream)
        finally:
            self.driver.is_idle = False
            self.stream = None
            if self._direct is not None:
                self._direct.close()
                self._direct = None
            await trio.aclose_forcefully(stream)

    def _lose(self, error: BaseException | None) -> None:
        """End the connection; the first reason is the one that counts."""
        if not self._scope.cancel_called:
            self._cause, self._end = error, None if error is None else explain(error)
            self._scope.cancel()

    @trio.lowlevel.enable_ki_protection
    async def _read(self, stream: trio.abc.Stream) -> None:
        if self._direct is not None and HAS_EPOLL:
            await self._read_as_it_arrives(self._direct)
            return
        size_bytes = self.driver.machine.session.limits.read_bytes
        try:
            while received := await stream.receive_some(size_bytes):
                self._feed(received)
        except LOST as error:
            self._lose(error)
        else:
            self._lose(None)

    async def _read_as_it_arrives(self, direct: DirectSocket) -> None:
        """Let the task that waits for all connections read this one, until it fails."""
        self._failed = trio.Event()
        waiting = arrivals()
        waiting.watch(direct.fileno(), self._arrived)
        try:
            await self._failed.wait()
        finally:
            waiting.unwatch(direct.fileno())
        assert self._failure is not None
        raise self._failure

    def _arrived(self) -> None:
        """Read once. Whatever is wrong is raised by the task that asked for it."""
        assert self._direct is not None
        try:
            received = self._direct.receive(self.driver.machine.session.limits.read_bytes)
            if received:
                self._feed(received)
            elif received is not None:
                self._lose(None)
        except LOST as error:
            self._lose(error)
        except Exception as error:  # noqa: BLE001 - see above
            self._failure = error
            self._failed.set()

    def _feed(self, received: bytes | bytearray) -> None:
        self.driver.machine.received(received, trio.current_time())
        self.driver.settle()

    @trio.lowlevel.enable_ki_protection
    async def _write(self, stream: trio.abc.Stream) -> None:
        driver, machine = self.driver, self.driver.machine
        try:
            while True:
                if output := self._rest + machine.take_output():
                    self._rest = b""
                    self._written_bytes = len(output)
                    await stream.send_all(output)
                    continue
                driver.is_idle = True
                machine.written(trio.current_time())
                if machine.is_changed:
                    driver.settle()
                if driver.is_idle:
                    await self._output.park()
        except LOST as error:
            self._lose(error)

    @trio.lowlevel.enable_ki_protection
    async def _keep_time(self) -> None:
        driver, machine = self.driver, self.driver.machine
        while True:
            with trio.CancelScope(deadline=machine.next_deadline()) as self._alarm:
                await trio.sleep_forever()
            machine.tick(trio.current_time())
            driver.settle()


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
    shell = TrioShell(dialler(tls))
    machine = machine_of(address, name, token, limits, random, learn=learn)
    shell.driver = Driver(machine, shell, on_state or ignore_change)
    async with open_client(shell, retry=retry) as client:
        yield client


@asynccontextmanager
async def open_client(shell: TrioShell, *, retry: bool) -> AsyncIterator[Client]:
    """Do what `connect` does with a shell that is ready to dial."""
    driver = shell.driver
    client = Client(driver.machine.session.name, driver)
    escaped: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(shell.run, retry=retry))
            try:
                await driver.opened()
                yield client
                await driver.left()
            except BaseException as error:  # noqa: BLE001 - raised again below, outside the nursery
                escaped = error
            finally:
                driver.close()
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        # The user's own error comes first; cancellations are those of scopes around, which raise them again.
        defects = group.split(trio.Cancelled)[1]
        if defects is not None:
            raise defects.exceptions[0] from None
        if escaped is None:
            raise
    if escaped is not None:
        raise escaped
