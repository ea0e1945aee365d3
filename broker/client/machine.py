"""The whole client without I/O: one deterministic machine, driven by shells.

Trio is one shell; asyncio, threads and the byte streams of a simulator are others. A shell passes
events to the machine, with their times, and carries out what the machine wants:

    machine.start(now, retry=False)  ->  once, first
    machine.wants is Wants.DIAL      ->  machine.dialling(now), open a transport, then machine.connected(now)
                                         or machine.connect_failed(reason, now)
    bytes were read                  ->  machine.received(bytes, now)
    the transport has ended          ->  machine.lost(reason, now); None if the broker closed it
    machine.has_output               ->  write machine.take_output(), in order; when all that was taken has
                                         been handed to the transport: machine.written(now)
    machine.wants is Wants.CLOSE     ->  close the transport, or stop opening it; machine.lost(None, now)
    machine.next_deadline() is over  ->  machine.tick(now)
    after each of these calls        ->  look at `touched`, `is_changed`, `changes`, `wants`, `has_output`

Laws:

* The same inputs give the same outputs: there is no clock here but the times that are passed in, which never
  go back, and no chance but the `Backoff` that is handed in.
* `wants` is a state, not an event: it stays until the shell has said that it did it. A transport that should
  be closed gives no input any more, and gets no output but the goodbye of `close`. The next attempt waits
  until it is gone.
* What changes the life, or brings the next deadline nearer, sets `is_changed`. A shell that sleeps need not
  look at the deadline otherwise.
* A lost connection is made again until it works, with growing waits, which stay short while the broker keeps
  what is ours. A refusal of the client, or an error in the protocol, is a failure that waiting
  does not repair, and closes the client.
* While the broker keeps what is ours, it is the only one that is dialled. Later, and before the first
  connection, every attempt goes to the next of the addresses. A broker that is closing keeps nothing.
* A failure is kept, with its cause, until the user calls something; then `check` raises it there.
* Leaving is in order: everything is acknowledged and written, the goodbye is said as the very last thing, and
  then the broker hangs up; all within `Limits.close_timeout_s`. Who closes a transport with something unread
  in it takes back what the other end has not read yet, and the goodbye with it.

What the user calls goes to `session`: `advertise`, `unadvertise`, `flush`, `subscribe`, `credit`,
`unsubscribe`, `ask`, `dismiss`; `Outbox` and `Reading` are what publishers and subscribers have of it. A
shell looks at `has_output` after these too.
"""

from math import inf
from typing import Final

from attrs import define, field

from broker.backoff import LONGEST_S, Backoff, longest_while_kept_s
from broker.client.endings import CLOSING, PASSING
from broker.client.inbox import Inbox
from broker.client.life import CLOSED, CONNECTED, RECONNECTING, TRANSITIONS, ClientLife, StateChange, Wants
from broker.client.session import Session
from broker.client.silence import Due, Silence
from broker.errors import (
    BrokerFaultError,
    ClosedError,
    ConcordError,
    ConnectionFailedError,
    ConnectionLostError,
)
from broker.transitions import follow

KEPT_HEARTBEATS: Final = 4
"""A broker keeps the session of a disconnected client for its link timeout, which is so many heartbeats."""

FAREWELL_S: Final = 1.0
"""The timeout for a broker to close the connection after it has read the goodbye."""

_MS_PER_S: Final = 1000
_HANGED_UP: Final = "the broker closed the connection"
_NO_BROKER: Final = "no answer but the end; does a broker listen there?"

_GREETED: Final = frozenset({ClientLife.CONNECTED, ClientLife.DRAINING, ClientLife.LEAVING})
_ATTEMPT: Final = frozenset({ClientLife.DIALLING, ClientLife.GREETING})
_LISTENING: Final = frozenset({ClientLife.GREETING, ClientLife.CONNECTED, ClientLife.DRAINING})
_WITHOUT_TRANSPORT: Final = frozenset({ClientLife.IDLE, ClientLife.WAITING, ClientLife.CLOSED})


@define(eq=False)
class ClientMachine:
    """One client, over all its connections. `address` is that of its broker, or of the one to be dialled.

    `others` are the addresses of brokers to go to when that one is lost for good. If it `learns`, it goes to
    all that its broker knows.
    `touched` holds the inboxes that got something, `is_changed` says that anything else did change: the shell
    wakes those who wait, and clears both. `changes` are to be reported to the user, in order, and removed.
    """

    session: Session
    address: str
    _backoff: Backoff
    others: tuple[str, ...] = ()
    learns: bool = False
    life: ClientLife = field(default=ClientLife.IDLE, init=False)
    failure: Exception | None = field(default=None, init=False)
    changes: list[StateChange] = field(factory=list, init=False)
    was_connected: bool = field(default=False, init=False)
    reason: str = field(default="", init=False)
    _retries_first: bool = field(default=False, init=False)
    _given: tuple[str, ...] = field(init=False)
    _refusals: list[str] = field(factory=list, init=False)
    """Why the first connection could not be made, at each address."""
    _has_transport: bool = field(default=False, init=False)
    _is_unwritten: bool = field(default=False, init=False)
    _last_words: bytes = field(default=b"", init=False)
    _silence: Silence = field(factory=lambda: Silence(inf), init=False)
    _ping_count: int = field(default=0, init=False)
    _received_s: float = field(default=-inf, init=False)
    _sent_s: float = field(default=-inf, init=False)
    _step_s: float = field(default=inf, init=False)
    _flush_s: float = field(default=inf, init=False)
    _give_up_s: float = field(default=inf, init=False)
    _connected_s: float = field(default=-inf, init=False)
    _lost_s: float = field(default=-inf, init=False)
    _kept_s: float = field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        self._given = (self.address, *self.others)
        self.session.roams = self.learns or bool(self.others)
        self.session.learns = self.learns

    # --- what a shell looks at ---

    @property
    def touched(self) -> list[Inbox]:
        """The inboxes with new deliveries since the shell cleared this list."""
        return self.session.touched

    @property
    def is_changed(self) -> bool:
        """Whether anything but the content of inboxes has changed since the shell set this to false."""
        return self.session.is_changed

    @is_changed.setter
    def is_changed(self, is_changed: bool) -> None:
        self.session.is_changed = is_changed

    @property
    def state(self) -> str:
        """The life in the user's words: "connected", "reconnecting" or "closed"."""
        if self.life in _GREETED:
            return CONNECTED
        return CLOSED if self.life is ClientLife.CLOSED else RECONNECTING

    @property
    def wants(self) -> Wants:
        """The action that the shell has to take with its transport."""
        if self._has_transport:
            return Wants.CLOSE if self.life in _WITHOUT_TRANSPORT else Wants.NOTHING
        return Wants.DIAL if self.life is ClientLife.DIALLING else Wants.NOTHING

    @property
    def has_output(self) -> bool:
        """Whether `take_output` may give something; without credit it gives nothing all the same."""
        return bool(self._last_words) if self.life is ClientLife.CLOSED else self.session.has_output

    def next_deadline(self) -> float:
        """When to call `tick`, if nothing else happens before."""
        match self.life:
            case ClientLife.IDLE | ClientLife.CLOSED:
                return inf
            case ClientLife.WAITING:
                return min(self._give_up_s, inf if self._has_transport else self._step_s)
            case ClientLife.DIALLING | ClientLife.GREETING:
                return min(self._give_up_s, self._step_s)
            case ClientLife.CONNECTED | ClientLife.DRAINING:
                return min(self._step_s, self._silence.deadline_s, self._flush_s)
            case ClientLife.LEAVING:
                return self._step_s

    def check(self) -> None:
        """Raise the failure of the client, or that the user has left it, if so."""
        failure = self.failure
        if isinstance(failure, BrokerFaultError):
            raise BrokerFaultError(str(failure), failure.code) from failure
        if isinstance(failure, ConcordError):
            raise ConnectionLostError(str(failure)) from failure
        if failure is not None:
            raise ConnectionLostError(f"the client stopped by an error of its own: {failure!r}") from failure
        if self.life is ClientLife.CLOSED:
            raise ClosedError(
                f"the client {self.session.name!r} was used after its connect block had been left"
            )

    # --- events from the shell ---

    def start(self, now_s: float, *, retry: bool) -> None:
        """Begin. If the first connection cannot be made, `retry` says whether that is a failure."""
        self._retries_first = retry
        self._dial(now_s)

    def dialling(self, now_s: float) -> None:  # noqa: ARG002 - every input has its time
        """The shell begins to open a transport."""
        assert self.wants is Wants.DIAL, f"nobody wants to dial in {self.life}"
        self._has_transport = True

    def connected(self, now_s: float) -> None:  # noqa: ARG002 - every input has its time
        """The transport is open: greet on it, unless it is not wanted any more."""
        assert self._has_transport, "a transport was opened that nobody has announced"
        if self.life is ClientLife.DIALLING:
            self._enter(ClientLife.GREETING, self._step_s)
            self.session.connect()

    def connect_failed(self, reason: str, now_s: float) -> None:
        """The transport could not be opened."""
        self.lost(reason, now_s)

    def lost(self, reason: str | None, now_s: float) -> None:
        """The transport is gone: by itself (None: the broker closed it), or because it had to be closed."""
        self._has_transport = False
        self.is_changed = True
        if self.life in _ATTEMPT:
            self._attempt_failed(reason or _NO_BROKER, now_s)
        elif self.life in _GREETED:
            self._lose(reason or _HANGED_UP, now_s)

    def received(self, chunk: bytes | bytearray, now_s: float) -> None:
        """Bytes came from the broker, cut anywhere."""
        if self.life is not ClientLife.CONNECTED and self.life not in _LISTENING:
            return
        self._silence.received(now_s)
        self._received_s = now_s
        try:
            self.session.receive(chunk, now_s)
            if self.life is ClientLife.GREETING:
                self._greet(now_s)
        except BrokerFaultError as fault:
            self._end_by(fault, now_s)
        if self.life is ClientLife.DRAINING:
            self._say_goodbye(now_s)

    def take_output(self) -> bytes:
        """Return what to write now; nothing if there is nothing, or if it has to wait for credit."""
        if self.life is ClientLife.CLOSED:
            output, self._last_words = self._last_words, b""
            return output
        if output := self.session.take():
            self._is_unwritten = True
        return output

    def written(self, now_s: float) -> None:
        """All output that was taken has been handed to the transport."""
        self._is_unwritten = False
        self._sent_s = now_s
        if self.life is ClientLife.DRAINING:
            self._say_goodbye(now_s)

    def tick(self, now_s: float) -> None:
        """Carry out what is due at this time."""
        if self.life in _GREETED:
            self._tick_connected(now_s)
        elif now_s >= self._give_up_s:
            limit_s = self.session.limits.reconnect_timeout_s
            brokers = " or ".join(self._addresses)
            self._fail(ConnectionLostError(f"no connection to {brokers} for {limit_s:g} s; gave up"))
        elif now_s >= self._step_s and self.life in _ATTEMPT:
            self._attempt_failed(f"no answer within {self.session.limits.connect_timeout_s:g} s", now_s)
        elif now_s >= self._step_s and self.life is ClientLife.WAITING and not self._has_transport:
            self._dial(now_s)

    def fail(self, error: Exception, now_s: float) -> None:  # noqa: ARG002 - every input has its time
        """Close with an error of the shell or of a function of the user."""
        self._fail(error)

    def leave(self, now_s: float) -> None:
        """Leave when everything is acknowledged, if there is a connection for it."""
        if self.life is not ClientLife.CONNECTED:
            self.close(now_s)
            return
        self._enter(ClientLife.DRAINING, now_s + self.session.limits.close_timeout_s)
        self.session.window.flush()
        self._say_goodbye(now_s)

    def close(self, now_s: float) -> None:  # noqa: ARG002 - every input has its time
        """Close at once. If nothing is half written, a goodbye is left to `take_output`.

        A shell writes it if that can be done without waiting; nobody waits for it to be written.
        """
        if self.life is ClientLife.CLOSED:
            return
        if self.life in {ClientLife.CONNECTED, ClientLife.DRAINING} and not self._is_unwritten:
            pending = self.session.take()
            self.session.leave()
            self._last_words = pending + self.session.take()
        self._close()

    # --- attempts ---

    def _enter(self, life: ClientLife, until_s: float) -> None:
        """Enter another state, with its deadline."""
        self.life = follow(TRANSITIONS, self.life, life)
        self.is_changed = True
        self._step_s = until_s
        # Publishers come by, and see what is new.
        self.session.window.quota_bytes = 0

    def _dial(self, now_s: float) -> None:
        self._enter(ClientLife.DIALLING, now_s + self.session.limits.connect_timeout_s)

    def _attempt_failed(self, why: str, now_s: float) -> None:
        """Wait and try again; or fail if there was no connection yet, `retry` is off and all were tried."""
        reason = f"cannot connect to {self.address}: {why}"
        if self.was_connected or self._retries_first:
            self._wait(reason, now_s)
            return
        self._refusals.append(reason)
        if len(self._refusals) < len(self._addresses):
            self._wait(reason, now_s)
        else:
            self._fail(ConnectionFailedError("; ".join(self._refusals), ", ".join(self._addresses)))

    def _wait(self, reason: str, now_s: float) -> None:
        """Wait a little: a broker that greets and breaks off at once must not be dialled in a loop."""
        is_kept = now_s - self._lost_s < self._kept_s
        longest_s = longest_while_kept_s(self._kept_s) if is_kept else LONGEST_S
        self.session.disconnect()
        self._enter(ClientLife.WAITING, now_s + self._backoff.next_s(longest_s))
        self.reason = reason
        if is_kept:
            self.address = self.session.home or self.address
        else:
            addresses = self._addresses
            place = addresses.index(self.address) + 1
            self.address = addresses[place % len(addresses)]

    @property
    def _addresses(self) -> tuple[str, ...]:
        """Every address to dial: those that were given first, then those that were learned."""
        return tuple(dict.fromkeys((*self._given, *self.session.learned, self.address)))

    def _greet(self, now_s: float) -> None:
        """Enter CONNECTED if the broker has answered."""
        welcome = self.session.welcome
        if welcome is None:
            return
        if welcome.heartbeat_ms < 1:
            raise BrokerFaultError(
                "the broker's Welcome has a heartbeat of 0 ms; 1 is the least", "malformed"
            )
        self._enter(ClientLife.CONNECTED, inf)
        self._silence = Silence(welcome.heartbeat_ms / _MS_PER_S)
        self._silence.received(now_s)
        self._flush_s = now_s + self.session.limits.flush_interval_s
        self._kept_s = KEPT_HEARTBEATS * self._silence.heartbeat_s
        self._connected_s = now_s
        self.was_connected = True
        self._report(CONNECTED, "the broker answered")

    # --- connected ---

    def _tick_connected(self, now_s: float) -> None:
        if now_s >= self._step_s:
            self.close(now_s)
            return
        if self.life is ClientLife.LEAVING:
            return
        match self._silence.look(now_s):
            case Due.ASK:
                self._ping_count += 1
                self.session.ping(self._ping_count)
            case Due.LOST:
                silent_s = 2 * self._silence.heartbeat_s
                self._lose(f"nothing came from the broker for {silent_s:g} s", now_s)
                return
            case Due.NOTHING:
                pass
        if now_s >= self._flush_s:
            self._flush_s = now_s + self.session.limits.flush_interval_s
            self.session.window.flush_if_due()
            self.session.confirm_progress()
            # The broker's ping may be behind many bytes on their way: it needs a sign of life all the same.
            if self._sent_s < min(self._received_s, now_s - self._silence.heartbeat_s / 2):
                self.session.send_keepalive()

    def _end_by(self, fault: BrokerFaultError, now_s: float) -> None:
        """The broker has closed the connection, or broken the protocol: wait, or fail."""
        if fault.code not in PASSING:
            self._fail(fault)
        elif self.life is ClientLife.GREETING:
            self._attempt_failed(str(fault), now_s)
        else:
            if fault.code == CLOSING:
                self._kept_s = 0.0
            self._lose(str(fault), now_s)

    def _lose(self, reason: str, now_s: float) -> None:
        """Reconnect after a lost connection, or close a client that was leaving."""
        if self.life is ClientLife.CONNECTED:
            self._report(RECONNECTING, reason)
            self._lost_s = now_s
            self._give_up_s = now_s + self.session.limits.reconnect_timeout_s
            if now_s - self._connected_s > LONGEST_S:
                self._backoff.reset()
            self._wait(reason, now_s)
            return
        if self.life is ClientLife.DRAINING:
            self._report(CLOSED, reason)
        self._close()

    def _say_goodbye(self, now_s: float) -> None:
        """Send the goodbye if everything before it is acknowledged and written."""
        if self._is_unwritten or self.session.has_output or not self.session.window.is_empty:
            return
        self._enter(ClientLife.LEAVING, min(self._step_s, now_s + FAREWELL_S))
        self.session.leave()

    # --- the end ---

    def _fail(self, error: Exception) -> None:
        if self.life is ClientLife.CLOSED:
            return
        self.failure = error
        if self.was_connected:
            self._report(CLOSED, str(error))
        self._close()

    def _close(self) -> None:
        self.session.disconnect()
        self._enter(ClientLife.CLOSED, inf)

    def _report(self, state: str, reason: str) -> None:
        self.changes.append(StateChange(state, self.address, reason))
