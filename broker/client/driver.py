"""The part that all shells of a client's machine share: it wakes waiting callers and reports changes.

A `Driver` stands between a machine and a shell. The shell moves bytes and keeps time, in its own way;
`Client`, `Publisher` and `Deliveries` wait here and nowhere else. So they are the same under every shell.

Laws:

* Nothing here knows Trio, asyncio or threads. Waiting callers are parked in a `Lot` of the shell.
* After every input to the machine the shell calls `settle`.
* Output leaves through the shell alone: `wake` notifies it that there may be some.
"""

import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import structlog
from attrs import define, field

from broker.addresses import Address, parse_address
from broker.client.inbox import Inbox
from broker.client.life import RECONNECTING, ClientLife, StateChange, Wants
from broker.client.machine import ClientMachine
from broker.errors import ConnectionFailedError

ALONE_BYTES: Final = 4096
"""A write of less was no flood: what comes next may come alone too."""

_OWN_WORDS: Final = (ssl.SSLError, socket.gaierror)
"""Errors whose number is not the system's, and whose own text gives the reason."""

_log = structlog.wrap_logger(
    logging.getLogger("concord.client"),
    processors=[structlog.stdlib.filter_by_level, structlog.processors.KeyValueRenderer(key_order=["event"])],
)


class Lot(Protocol):
    """Where callers wait until they are woken."""

    async def park(self) -> None:
        """Wait until `unpark_all` is called. May wake for no reason."""
        ...

    def unpark_all(self) -> object:
        """Wake all who wait now."""
        ...


class Shell(Protocol):
    """A shell: moves bytes and keeps time for one machine."""

    def now_s(self) -> float:
        """Return the time that the machine is driven by; it never goes back."""
        ...

    def lot(self) -> Lot:
        """Return a new lot."""
        ...

    async def pause(self) -> None:
        """Let other tasks run."""
        ...

    async def run_until(self, work: Callable[[], Awaitable[object]], deadline_s: Callable[[], float]) -> None:
        """Run `work`, and cancel it at the deadline, which may be another whenever something changes."""
        ...

    def send_soon(self) -> None:
        """Send output now or soon; set `Driver.is_idle` when all is sent."""
        ...

    def set_alarm(self, deadline_s: float) -> None:
        """The next tick of the machine is due then, and not later."""
        ...

    def hang_up(self) -> None:
        """Close the transport, or stop opening it; write what the machine has left if that needs no wait."""
        ...


@define(eq=False)
class Driver:
    """A machine with its shell. `is_idle` says that the shell waits for output: `wake` sends it."""

    machine: ClientMachine
    shell: Shell
    on_state: Callable[[StateChange], None]
    is_idle: bool = field(default=False, init=False)
    watchers: list[Callable[[], None]] = field(factory=list, init=False)
    _changed: Lot = field(init=False)
    _arrivals: dict[Inbox, Lot] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._changed = self.shell.lot()

    # --- for the user's calls ---

    def wake(self) -> None:
        """There may be something to write; what the shell has not sent yet goes with it."""
        if self.is_idle:
            self.is_idle = False
            self.shell.send_soon()

    def wake_if_due(self) -> None:
        """Let the shell write if it waits and there is something to write."""
        if self.is_idle and self.machine.has_output:
            self.wake()

    async def until(self, is_done: Callable[[], bool]) -> None:
        """Wait for something that a frame of the broker brings about."""
        self.wake()
        while not is_done():
            self.machine.check()
            await self._changed.park()

    async def changed(self) -> None:
        """Wait until the machine has changed."""
        await self._changed.park()

    def await_arrivals(self, inbox: Inbox) -> None:
        """Begin to wake those who wait for this inbox."""
        self._arrivals[inbox] = self.shell.lot()

    async def arrival(self, inbox: Inbox) -> None:
        """Wait until something has arrived in this inbox, or never will."""
        await self._arrivals[inbox].park()

    def end_arrivals(self, inbox: Inbox) -> None:
        """Wake those who wait for this inbox for the last time."""
        self._arrivals.pop(inbox).unpark_all()

    async def opened(self) -> None:
        """Wait for the first connection; raise why there is none."""
        machine = self.machine
        while machine.failure is None:
            if machine.was_connected:
                return
            await self._changed.park()
        raise machine.failure

    async def left(self) -> None:
        """Leave in order, as far as the machine has time for it."""
        self.machine.leave(self.shell.now_s())
        self.settle()
        while self.machine.life is not ClientLife.CLOSED:
            await self._changed.park()

    def close(self) -> None:
        """Leave without waiting."""
        self.machine.close(self.shell.now_s())
        self.settle()

    # --- for the shell ---

    def lost(self, reason: str | None, cause: BaseException | None) -> None:
        """The transport is gone; None: the broker closed it."""
        machine = self.machine
        machine.lost(reason, self.shell.now_s())
        if isinstance(machine.failure, ConnectionFailedError) and machine.failure.__cause__ is None:
            machine.failure.__cause__ = cause
        if machine.life is ClientLife.WAITING:
            pause_s = round(machine.next_deadline() - self.shell.now_s(), 3)
            _log.debug("waiting before the next attempt", reason=machine.reason, pause_s=pause_s)
        self.settle()

    def settle(self) -> None:
        """Wake those who wait for what the machine has got, and the shell if there is an answer."""
        machine = self.machine
        for inbox in machine.touched:
            if lot := self._arrivals.get(inbox):
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
            self.shell.hang_up()
        if machine.life is ClientLife.CLOSED:
            for lot in self._arrivals.values():
                lot.unpark_all()
        self.shell.set_alarm(machine.next_deadline())
        self.announce_change()

    def announce_change(self) -> None:
        """Something is not as it was: wake those who wait for it."""
        self._changed.unpark_all()
        for watcher in self.watchers:
            watcher()

    def _report(self, change: StateChange) -> None:
        """Say to the log and to the user's function that the state has changed."""
        log = _log.warning if change.state == RECONNECTING else _log.debug
        log(f"client {change.state}", address=change.address, reason=change.reason)
        try:
            self.on_state(change)
        except Exception as error:  # noqa: BLE001 - it is the user's, and the user's next call raises it
            self.machine.fail(error, self.shell.now_s())


def address_of(text: str) -> Address:
    """Read the address of a broker.

    Raises:
        ConnectionFailedError: the text is no address.
    """
    try:
        return parse_address(text)
    except ValueError as error:
        raise ConnectionFailedError(f"cannot connect: {error}", text) from None


def explain_error(error: BaseException) -> str:
    """Return the cause in words, as the system or TLS have it."""
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, _OWN_WORDS):
        return os.strerror(error.errno).lower()
    if isinstance(error, _OWN_WORDS) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
