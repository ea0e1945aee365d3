"""Drives a client's machine over Trio: dials, reads, writes, closes, keeps time, wakes those who wait.

Laws:

* Everything that decides is in `broker.client.machine`; this does what the machine wants.
* One task keeps time for as long as the client lives; one reads and one writes, and neither outlives its
  connection.
"""

import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Final

import structlog
import trio
from attrs import define, field

from broker.client.dialling import LOST, Dial, explain
from broker.client.direct import DirectSocket
from broker.client.inbox import Inbox
from broker.client.life import RECONNECTING, Life, StateChange, Wants
from broker.client.machine import ClientMachine
from broker.errors import ConnectionFailedError
from broker.exception_groups import leaves

__all__ = ["Connection"]

ALONE_BYTES: Final = 4096
"""A write of less was no flood: what comes next may come alone too."""

ALONE_S: Final = 0.00005
"""What comes later than this after a write is not of the same burst: ten times what a program needs between
two publications that it makes in a row."""

_log = structlog.wrap_logger(
    logging.getLogger("concord.client"),
    processors=[structlog.stdlib.filter_by_level, structlog.processors.KeyValueRenderer(key_order=["event"])],
)


@define(eq=False)
class Connection:
    """The Trio shell of a machine. `is_idle` says that the writer waits to be woken by `wake`."""

    machine: ClientMachine
    dial: Dial
    on_state: Callable[[StateChange], None]
    is_idle: bool = False
    changed: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot)
    arrivals: dict[Inbox, trio.lowlevel.ParkingLot] = field(factory=dict)
    watchers: list[Callable[[], None]] = field(factory=list)
    _output: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot)
    _stream: trio.abc.Stream | None = None
    _direct: DirectSocket | None = None
    _rest: bytes = b""
    _written_bytes: int = 0
    _written_s: float = 0.0
    _scope: trio.CancelScope = field(factory=trio.CancelScope)
    _alarm: trio.CancelScope = field(factory=trio.CancelScope)
    _end: str | None = None
    _cause: BaseException | None = None

    # --- for the user's calls ---

    def wake(self) -> None:
        """There may be something to write.

        What comes alone is sent here and now, and the writer sleeps on. What comes in a burst waits for the
        writer, to leave together.
        """
        if not self.is_idle:
            return
        now_s = perf_counter()
        is_alone = self._written_bytes < ALONE_BYTES and now_s - self._written_s > ALONE_S
        self._written_s = now_s
        if not (is_alone and self._sent_whole()):
            self.is_idle = False
            self._output.unpark()

    def _sent_whole(self) -> bool:
        """Send past the writer what the system takes; return whether there is nothing left for the writer."""
        machine = self.machine
        if self._direct is None or machine.life is not Life.CONNECTED:
            return False
        output = machine.take_output()
        self._rest = output[self._direct.send(output) :]
        if self._rest or machine.has_output:
            return False
        machine.written(trio.current_time())
        return True

    def wake_if_due(self) -> None:
        """Let the writer run if it waits and there is something for it."""
        if self.is_idle and self.machine.has_output:
            self.wake()

    async def until(self, is_done: Callable[[], bool]) -> None:
        """Wait for something that a frame of the broker brings about."""
        self.wake()
        while not is_done():
            self.machine.check()
            await self.changed.park()

    async def opened(self) -> None:
        """Wait for the first connection; raise why there is none."""
        machine = self.machine
        while machine.failure is None:
            if machine.was_connected:
                return
            await self.changed.park()
        if isinstance(machine.failure, ConnectionFailedError):
            raise machine.failure from self._cause
        raise machine.failure

    async def left(self) -> None:
        """Leave in order, as far as the machine has time for it."""
        self.machine.leave(trio.current_time())
        self.settle()
        while self.machine.life is not Life.CLOSED:
            await self.changed.park()

    def close(self) -> None:
        """Leave without waiting."""
        self.machine.close(trio.current_time())
        self.settle()

    # --- what the machine wants ---

    @trio.lowlevel.enable_ki_protection
    async def run(self, *, retry: bool) -> None:
        """Serve one connection after another, until the machine is closed or this is cancelled."""
        machine = self.machine
        try:
            machine.start(trio.current_time(), retry=retry)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_time)
                while machine.life is not Life.CLOSED:
                    if machine.wants is Wants.DIAL:
                        await self._attempt()
                    else:
                        await self.changed.park()
                nursery.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user's next call raises it
            first = next(leaves(error))
            assert isinstance(first, Exception)
            machine.fail(first, trio.current_time())
        finally:
            self.close()

    async def _attempt(self) -> None:
        """Open a transport and use it until it ends, or until the machine does not want it any more."""
        machine = self.machine
        machine.dialling(trio.current_time())
        self._end = self._cause = None
        with trio.CancelScope() as self._scope:
            try:
                stream = await self.dial()
            except LOST as error:
                self._cause, self._end = error, explain(error)
            else:
                await self._serve(stream)
        machine.lost(self._end, trio.current_time())
        if machine.life is Life.WAITING:
            pause_s = round(machine.next_deadline() - trio.current_time(), 3)
            _log.debug("waiting before the next attempt", reason=machine.reason, pause_s=pause_s)
        self.settle()

    async def _serve(self, stream: trio.abc.Stream) -> None:
        """Read and write until the connection is lost."""
        try:
            self._rest, self._written_bytes = b"", 0
            self._direct = DirectSocket.of(stream)
            self._stream = stream
            self.machine.connected(trio.current_time())
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read, self._direct.receive if self._direct else stream.receive_some)
                nursery.start_soon(self._write, stream)
        finally:
            self.is_idle = False
            self._stream = None
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
    async def _read(self, receive: Callable[[int], Awaitable[bytes | bytearray]]) -> None:
        machine = self.machine
        size_bytes = machine.session.limits.read_bytes
        try:
            while received := await receive(size_bytes):
                machine.received(received, trio.current_time())
                self.settle()
        except LOST as error:
            self._lose(error)
        else:
            self._lose(None)

    @trio.lowlevel.enable_ki_protection
    async def _write(self, stream: trio.abc.Stream) -> None:
        machine = self.machine
        try:
            while True:
                if output := self._rest + machine.take_output():
                    self._rest = b""
                    self._written_bytes = len(output)
                    await stream.send_all(output)
                    continue
                self.is_idle = True
                machine.written(trio.current_time())
                if machine.is_changed:
                    self.settle()
                if self.is_idle:
                    await self._output.park()
        except LOST as error:
            self._lose(error)

    @trio.lowlevel.enable_ki_protection
    async def _keep_time(self) -> None:
        machine = self.machine
        while True:
            with trio.CancelScope(deadline=machine.next_deadline()) as self._alarm:
                await trio.sleep_forever()
            machine.tick(trio.current_time())
            self.settle()

    # --- telling ---

    def settle(self) -> None:
        """Wake those who wait for what the machine has got, and the writer if there is an answer."""
        machine = self.machine
        for inbox in machine.touched:
            if lot := self.arrivals.get(inbox):
                lot.unpark_all()
        machine.touched.clear()
        if machine.is_changed:
            machine.is_changed = False
            self._follow()
        self.wake_if_due()

    def _follow(self) -> None:
        """The machine has changed: do what it wants now, and let everybody look."""
        machine = self.machine
        while machine.changes:
            self._report(machine.changes.pop(0))
        if machine.wants is Wants.CLOSE:
            if self.is_idle and self._direct is not None:
                self._direct.send(machine.take_output())
            self._scope.cancel()
        if machine.life is Life.CLOSED:
            for lot in self.arrivals.values():
                lot.unpark_all()
        if (deadline_s := machine.next_deadline()) < self._alarm.deadline:
            self._alarm.deadline = deadline_s
        self.tell_change()

    def tell_change(self) -> None:
        """Something is not as it was: wake those who wait for it."""
        self.changed.unpark_all()
        for watcher in self.watchers:
            watcher()

    def _report(self, change: StateChange) -> None:
        """Say to the log and to the user's function that the state has changed."""
        log = _log.warning if change.state == RECONNECTING else _log.debug
        log(f"client {change.state}", address=change.address, reason=change.reason)
        try:
            self.on_state(change)
        except Exception as error:  # noqa: BLE001 - it is the user's, and the user's next call raises it
            self.machine.fail(error, trio.current_time())
