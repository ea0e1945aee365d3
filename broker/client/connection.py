"""Keeps a session connected: dials, greets, reads, writes, and dials again when the connection is lost.

Laws:

* One task reads, one writes, one listens for silence; none outlives its connection.
* A lost connection is made again until it works, with growing waits, which stay short while the broker keeps
  what is ours. What cannot get better by waiting (the broker refuses the client, or one end breaks the
  protocol) is a failure, and ends the client.
* A failure is kept, with its cause, until the user calls something; then it is raised there.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
import trio
from attrs import define, field, frozen

from broker.backoff import LONGEST_S, Backoff, longest_while_kept_s
from broker.client.dialling import LOST, Dial, explain
from broker.client.direct import DirectSocket
from broker.client.inbox import Inbox
from broker.client.session import CLOSING, RESTARTING, Session
from broker.errors import BrokerFaultError, ConcordError, ConnectionFailedError, ConnectionLostError

__all__ = ["Connection", "StateChange"]

PASSING: Final = frozenset({CLOSING, RESTARTING, "busy", "replaced", "silent"})
"""Codes of faults that waiting heals: the broker shuts down and may be back soon, or it took a connection for
dead that was not."""

GRACE_PART: Final = 0.1
"""After two silent heartbeats, such a part of one more: if this process itself was held up, what arrived
meanwhile is read first."""

KEPT_HEARTBEATS: Final = 4
"""A broker keeps the session of a client that is away for its link timeout, which is so many heartbeats."""

ALONE_BYTES: Final = 4096
"""A write of less was no flood: what comes next may come alone too."""

CONNECTED: Final = "connected"
RECONNECTING: Final = "reconnecting"
CLOSED: Final = "closed"

_CLOSED_BY_BROKER: Final = ConnectionLostError("the broker closed the connection")

_log = structlog.wrap_logger(
    logging.getLogger("concord.client"),
    processors=[structlog.stdlib.filter_by_level, structlog.processors.KeyValueRenderer(key_order=["event"])],
)


@frozen
class StateChange:
    """The client is "connected", "reconnecting" or "closed" now; `reason` says why, in one line."""

    state: str
    address: str
    reason: str


@define(eq=False)
class Connection:
    """The shell of a session. `is_idle` says that the writer waits to be woken by `wake`."""

    session: Session
    address: str
    dial: Dial
    backoff: Backoff
    on_state: Callable[[StateChange], None]
    state: str = RECONNECTING
    failure: Exception | None = None
    is_idle: bool = False
    changed: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot)
    arrivals: dict[Inbox, trio.lowlevel.ParkingLot] = field(factory=dict)
    watchers: list[Callable[[], None]] = field(factory=list)
    _output: trio.lowlevel.ParkingLot = field(factory=trio.lowlevel.ParkingLot)
    _stream: trio.abc.Stream | None = None
    _direct: DirectSocket | None = None
    _rest: bytes = b""
    _written_bytes: int = 0
    _scope: trio.CancelScope = field(factory=trio.CancelScope)
    _loss: Exception = _CLOSED_BY_BROKER
    _is_heard: bool = False
    _is_leaving: bool = False
    _since_s: float = 0.0
    _lost_s: float = 0.0
    _kept_s: float = 0.0

    # --- for the user's calls ---

    def wake(self) -> None:
        """There may be something to write.

        What comes alone is sent here and now; what comes in floods waits for the writer, to leave together.
        """
        if self.is_idle:
            self.is_idle = False
            if self._direct is not None and self._written_bytes < ALONE_BYTES:
                output = self.session.take()
                self._rest = output[self._direct.send(output) :]
            self._output.unpark()

    def check(self) -> None:
        """Raise the failure, if there is one."""
        failure = self.failure
        if isinstance(failure, BrokerFaultError):
            raise BrokerFaultError(str(failure), failure.code) from failure
        if isinstance(failure, ConcordError):
            raise ConnectionLostError(str(failure)) from failure
        if failure is not None:
            raise ConnectionLostError(f"the client stopped by an error of its own: {failure!r}") from failure

    async def until(self, is_done: Callable[[], bool]) -> None:
        """Wait for something that a frame of the broker brings about."""
        self.wake()
        while not is_done():
            self.check()
            await self.changed.park()

    async def drained(self) -> None:
        """Wait until everything is taken over and written, if there is a connection for it; say goodbye."""
        self.session.window.flush()
        self.wake()
        await self._written()
        self._is_leaving = True
        self.session.leave()
        self.wake()
        await self._written()

    def part(self) -> None:
        """Say goodbye without waiting, if that can be done and has not been done: nothing comes after it."""
        if self.is_idle and self._direct is not None and not self._is_leaving:
            self._is_leaving = True
            self.session.leave()
            self._direct.send(self.session.take())

    async def _written(self) -> None:
        """Wait until nothing is left to be said, or there is nobody to say it to."""
        while self.failure is None and self.state == CONNECTED:
            if self.is_idle and self.session.window.is_empty:
                return
            await self.changed.park()

    def credit(self, inbox: Inbox, count: int) -> None:
        """The user has had so many deliveries of a subscription."""
        self.session.credit(inbox, count)
        if self.is_idle and self.session.has_output:
            self.wake()

    def unsubscribe(self, inbox: Inbox) -> None:
        """The user has left a subscription."""
        del self.arrivals[inbox]
        self.session.unsubscribe(inbox)
        self.wake()

    # --- making connections ---

    async def open(self, *, retry: bool) -> None:
        """Make the first connection, or keep trying if `retry` says so."""
        while True:
            try:
                await self._dial()
            except ConnectionFailedError as error:
                if not retry:
                    raise
                await self._pause(error)
            else:
                return

    async def _dial(self) -> None:
        """Connect and greet, within the time for it."""
        limits = self.session.limits
        stream: trio.abc.Stream | None = None
        try:
            with trio.fail_after(limits.connect_timeout_s):
                stream = await self.dial()
                await self._greet(stream)
        except BaseException as error:
            self.session.disconnect()
            if stream is not None:
                await trio.aclose_forcefully(stream)
            if isinstance(error, trio.TooSlowError):
                raise self._failed(f"no answer within {limits.connect_timeout_s:g} s") from error
            if isinstance(error, LOST):
                raise self._failed(explain(error)) from error
            if isinstance(error, BrokerFaultError) and error.code in PASSING:
                raise self._failed(str(error)) from error
            raise
        assert self.session.welcome is not None
        self._kept_s = KEPT_HEARTBEATS * self.session.welcome.heartbeat_ms / 1000
        self._stream = stream
        self._since_s = trio.current_time()
        self._enter(CONNECTED, "the broker answered")

    async def _greet(self, stream: trio.abc.Stream) -> None:
        self.session.connect()
        await stream.send_all(self.session.take())
        while self.session.welcome is None:
            received = await stream.receive_some(self.session.limits.read_bytes)
            if not received:
                raise trio.BrokenResourceError("no answer but the end; does a broker listen there?")
            self.session.receive(bytes(received))

    def _failed(self, why: str) -> ConnectionFailedError:
        return ConnectionFailedError(f"cannot connect to {self.address}: {why}", self.address)

    async def _pause(self, error: Exception) -> None:
        is_kept = trio.current_time() - self._lost_s < self._kept_s
        pause_s = self.backoff.next_s(longest_while_kept_s(self._kept_s) if is_kept else LONGEST_S)
        _log.debug("waiting before the next attempt", reason=str(error), pause_s=round(pause_s, 3))
        await trio.sleep(pause_s)

    async def _reconnect(self) -> None:
        """Wait a little first: a broker that greets and breaks off at once must not be dialled in a loop."""
        limit_s = self.session.limits.reconnect_timeout_s
        self._lost_s = trio.current_time()
        if trio.current_time() - self._since_s > LONGEST_S:
            self.backoff.reset()
        try:
            with trio.fail_after(limit_s):
                await self._pause(self._loss)
                await self.open(retry=True)
        except trio.TooSlowError as error:
            text = f"no connection to {self.address} for {limit_s:g} s; gave up"
            raise ConnectionLostError(text) from error

    # --- keeping it ---

    @trio.lowlevel.enable_ki_protection
    async def run(self) -> None:
        """Serve the first connection and all that follow, until cancelled or failed."""
        try:
            while True:
                await self._serve()
                if self._is_leaving:
                    return
                self._enter(RECONNECTING, explain(self._loss))
                await self._reconnect()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user's next call raises it
            self.failure = error
            self._enter(CLOSED, str(error))
        finally:
            self.state = CLOSED
            self._wake_all()

    async def _serve(self) -> None:
        """Read and write until the connection is lost. What will not get better by waiting is raised."""
        stream = self._stream
        assert stream is not None
        self._loss = _CLOSED_BY_BROKER
        self._rest, self._written_bytes = b"", 0
        self._direct = DirectSocket.of(stream)
        try:
            async with trio.open_nursery() as nursery:
                self._scope = nursery.cancel_scope
                nursery.start_soon(self._read, self._direct.receive if self._direct else stream.receive_some)
                nursery.start_soon(self._write, stream)
                nursery.start_soon(self._listen)
                nursery.start_soon(self._flush_often)
        finally:
            self.is_idle = False
            self._stream = None
            if self._direct is not None:
                self._direct.close()
                self._direct = None
            self.session.disconnect()
            await trio.aclose_forcefully(stream)
        if isinstance(self._loss, BrokerFaultError) and self._loss.code not in PASSING:
            raise self._loss

    def _lose(self, error: Exception) -> None:
        """End the connection; the first reason is the one that counts."""
        if not self._scope.cancel_called:
            self._loss = error
            self._scope.cancel()

    @trio.lowlevel.enable_ki_protection
    async def _read(self, receive: Callable[[int], Awaitable[bytes | bytearray]]) -> None:
        session = self.session
        size_bytes = session.limits.read_bytes
        try:
            while received := await receive(size_bytes):
                self._is_heard = True
                try:
                    session.receive(bytes(received))
                finally:
                    self._tell()
        except (*LOST, BrokerFaultError) as error:
            self._lose(error)
        else:
            self._lose(_CLOSED_BY_BROKER)

    @trio.lowlevel.enable_ki_protection
    async def _write(self, stream: trio.abc.Stream) -> None:
        try:
            while True:
                if output := self._rest + self.session.take():
                    self._rest = b""
                    self._written_bytes = len(output)
                    await stream.send_all(output)
                else:
                    self.is_idle = True
                    self.changed.unpark_all()
                    await self._output.park()
        except LOST as error:
            self._lose(error)

    @trio.lowlevel.enable_ki_protection
    async def _listen(self) -> None:
        """Ask after a silent heartbeat; after a second one the connection is dead."""
        welcome = self.session.welcome
        assert welcome is not None
        heartbeat_s = welcome.heartbeat_ms / 1000
        number = 0
        while True:
            self._is_heard = False
            await trio.sleep(heartbeat_s)
            if self._is_heard:
                continue
            number += 1
            self.session.ping(number)
            self.wake()
            await trio.sleep(heartbeat_s)
            if not self._is_heard:
                await trio.sleep(heartbeat_s * GRACE_PART)
            if not self._is_heard:
                self._lose(ConnectionLostError(f"nothing came from the broker for {2 * heartbeat_s:g} s"))

    @trio.lowlevel.enable_ki_protection
    async def _flush_often(self) -> None:
        """Empty the window of a slow publisher too."""
        while True:
            await trio.sleep(self.session.limits.flush_interval_s)
            self.session.window.flush_if_due()
            self.session.tell_progress()
            self.wake()

    # --- telling ---

    def _tell(self) -> None:
        """Wake those who wait for what has been received, and the writer if there is an answer."""
        session = self.session
        for inbox in session.touched:
            if lot := self.arrivals.get(inbox):
                lot.unpark_all()
        session.touched.clear()
        if session.is_changed:
            session.is_changed = False
            self.tell_change()
        if self.is_idle and session.has_output:
            self.wake()

    def tell_change(self) -> None:
        """Something is not as it was: wake those who wait for it."""
        self.changed.unpark_all()
        for watcher in self.watchers:
            watcher()

    def _wake_all(self) -> None:
        self.session.window.quota_bytes = 0
        self.tell_change()
        for lot in self.arrivals.values():
            lot.unpark_all()

    def _enter(self, state: str, reason: str) -> None:
        """Say that the state has changed: to the log, to the user's callback, to those who wait."""
        self.state = state
        log = _log.warning if state == RECONNECTING else _log.debug
        log(f"client {state}", address=self.address, reason=reason)
        self._wake_all()
        self.on_state(StateChange(state, self.address, reason))
