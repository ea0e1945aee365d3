"""A link to another broker: passes its messages to the station and what is emitted back, under credit.

Laws:

1. A link outlives its connections. It is open from the greeting that agreed on its session until it is
   declared lost: when it has been without a connection for too long, when one end says that it goes for good
   or breaks the protocol, or when the other end has forgotten the session (R8).
2. On each connection both ends go on behind what the other has received: the queue is made again from what
   the station has kept. Nothing of an older connection reaches the station after that.
3. Publications need credit of the other end, which begins anew with each connection. Control messages need
   none and keep their place between them.
4. What was read counts as handed on, and its credit is returned, when every link that it went to has written
   it, under the credit of the next broker. While a link has no connection, that waits.
5. What was received is acknowledged when credit is returned, after many messages, and with every beat.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final, Protocol, cast

from attrs import define, field

from broker.core import Hop, ProtocolError
from broker.messages import Acknowledge, Fault, Grant, LinkMessage, Ping, Pong, Publication
from broker.node.connection import OUTBOX_BYTES, Connection, fault_of
from broker.node.credit import CreditBatch, CreditWindow
from broker.node.exchange import Exchange
from broker.node.queues import FrameRun, LinkQueue
from broker.sessions import SessionError
from broker.station import LinkState
from broker.transitions import Transitions, follow
from broker.wire import encode

__all__ = ["PASSING", "TRANSITIONS", "Carriage", "LinkSession", "LinkWatcher"]

_OURS: Final = frozenset({Acknowledge, Grant, Ping, Pong, Fault})
"""Messages of the connection; everything else is the station's."""

CREDIT_MAX: Final = 2**40
"""What a neighbour can have granted at most; more is a neighbour that counts wrong."""

ACKNOWLEDGE_COUNT: Final = 1024
"""So many messages are acknowledged at the latest: one small frame for a thousand."""

LOOK_COUNT: Final = 1024
"""Once in so many publications it is looked whether the other end leaves too much unacknowledged."""

PASSING: Final = frozenset({"busy", "elsewhere", "replaced", "restarting", "silent"})
"""Faults that end a connection and not the link: the other end expects it to come back."""

_VERDICTS: Final = {
    "cycle": "the uplink is in the tree below this broker: the overlay would have a cycle",
    "duplicate": "the tree of the uplink has another broker with the name of one on this side",
}


class Carriage(Enum):
    """What carries an open link now."""

    DISCONNECTED = "nothing: a connection is waited for"
    CONNECTED = "a connection"
    ENDING = "at most a connection that ends, and the link with it"
    CLOSED = "nothing any more: the link is declared lost"


TRANSITIONS: Final[Transitions[Carriage]] = {
    Carriage.DISCONNECTED: frozenset({Carriage.CONNECTED, Carriage.ENDING, Carriage.CLOSED}),
    Carriage.CONNECTED: frozenset({Carriage.DISCONNECTED, Carriage.ENDING, Carriage.CLOSED}),
    Carriage.ENDING: frozenset({Carriage.CLOSED}),
    Carriage.CLOSED: frozenset(),
}


class LinkWatcher(Protocol):
    """Whoever dialled the link and wants to know what becomes of it."""

    def attached(self) -> None:
        """The link became part of the tree."""
        ...

    def refused(self, code: str, text: str) -> None:
        """The other side does not want us."""
        ...

    def link_closed(self) -> None:
        """The link was declared lost."""
        ...


@define(eq=False)
class LinkSession:
    """One open link, with or without a connection. `watcher` is there for an uplink that we have dialled."""

    state: LinkState
    incarnation: str
    window: CreditWindow
    _exchange: Exchange
    _link_timeout_s: float
    watcher: LinkWatcher | None = None
    queue: LinkQueue = field(factory=LinkQueue, init=False)
    publications_in: int = field(default=0, init=False)
    publications_out: int = field(default=0, init=False)
    connections: int = field(default=0, init=False)
    carriage: Carriage = field(default=Carriage.DISCONNECTED, init=False)
    _connection: Connection | None = field(default=None, init=False)
    _held: list[CreditBatch] = field(factory=list, init=False)
    _acknowledged: int = field(default=0, init=False)
    _looked_at: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        exchange = self._exchange
        exchange.links[self.name] = self
        exchange.link_of[self.hop] = exchange.session_of[self.hop] = self
        if not self.is_uplink:
            exchange.join_lower(self)

    @property
    def name(self) -> str:
        """The neighbour's name."""
        return self.state.name

    @property
    def hop(self) -> Hop:
        """What the core calls it."""
        return self.state.hop

    @property
    def station_key(self) -> tuple[str, str]:
        """Its place at the station."""
        return "link", self.name

    @property
    def is_uplink(self) -> bool:
        """Whether the other end is above us."""
        return self.state.is_uplink

    @property
    def connection(self) -> Connection | None:
        """The connection that carries the link now."""
        return self._connection

    def _enter(self, carriage: Carriage) -> None:
        self.carriage = follow(TRANSITIONS, self.carriage, carriage)

    def _begin_to_end(self) -> None:
        """Another connection would not help."""
        if self.carriage in {Carriage.DISCONNECTED, Carriage.CONNECTED}:
            self._enter(Carriage.ENDING)

    @property
    def is_closed(self) -> bool:
        """Whether it has been declared lost."""
        return self.carriage is Carriage.CLOSED

    @property
    def is_connected(self) -> bool:
        """Whether it has a connection now."""
        return self._connection is not None

    # --- connections ---

    def can_resume(self, session: str, received: int) -> bool:
        """Whether the other end may go on with this session behind so many messages.

        One that has fewer than it had acknowledged has lost its memory since, whatever it says.
        """
        state = self.state
        return session == state.session and state.acknowledged <= received <= state.sent

    def let_go(self, reason: str) -> None:
        """Cut off the connection, if there is one: nothing more of it counts (law 2)."""
        if self._connection is not None:
            self._connection.end_now(reason)

    def attach(self, connection: Connection, received: int, credit_bytes: int) -> None:
        """Go on over this connection behind what the other end has received."""
        self._enter(Carriage.CONNECTED)
        self._exchange.reconnect_timeouts.cancel(self)
        self._exchange.station.acknowledged(self.hop, received)
        self.connections += 1
        self._connection = connection
        connection.session = self
        self._acknowledged = self.state.received
        self.queue.credit_bytes = credit_bytes
        self.queue.add(self.state.after(self.state.acknowledged), None, None)
        held, self._held = self._held, []
        for batch in self.queue.hold(held):
            batch.release()
        self.grant()
        self.pump()

    def lost(self, reason: str) -> None:
        """The connection is over: wait for another one, unless nobody will come."""
        connection, self._connection = self._connection, None
        assert connection is not None
        self._held += self.queue.clear()
        is_kept = self._exchange.is_kept and not connection.is_malformed
        if self.carriage is not Carriage.CONNECTED or not is_kept:
            self.close(reason)
            return
        self._enter(Carriage.DISCONNECTED)
        self._exchange.reconnect_timeouts.start(self, self._link_timeout_s - connection.silent_s)
        self._exchange.log.info(
            "link without connection", neighbour=self.name, uplink=self.is_uplink, reason=reason
        )

    def give_up(self) -> None:
        """Nobody came back in time."""
        self.close("nobody came back in time")

    def close(self, reason: str) -> None:
        """Declare the link lost (R8)."""
        if self.is_closed:
            return
        self._enter(Carriage.CLOSED)
        exchange = self._exchange
        exchange.reconnect_timeouts.cancel(self)
        exchange.leave_lower(self)
        exchange.station.close_link(self.hop)
        del exchange.session_of[self.hop], exchange.link_of[self.hop], exchange.links[self.name]
        self.window.close()
        held, self._held = self._held, []
        for batch in held + self.queue.clear():
            batch.release()
        if self._connection is not None:
            self._connection.end(reason, fault_of("lost", reason))
        exchange.totals.lost_links += 1
        exchange.settle()
        exchange.log.info("link lost", neighbour=self.name, uplink=self.is_uplink, reason=reason)
        if self.watcher is not None:
            self.watcher.link_closed()

    # --- what arrives ---

    def handle(self, messages: Sequence[object]) -> int:  # noqa: C901 - one pass, without a call for each message
        """Pass on everything that arrived together."""
        handled_count = len(messages)
        if self.carriage is Carriage.CLOSED:
            return handled_count
        size_bytes = count = 0
        has_ours = False
        state = self.state
        for message in messages:
            if type(message) is Publication:
                size_bytes += len(message.frame)
                count += 1
            elif type(message) in _OURS:
                has_ours = True
        if has_ours:
            messages = self._without_ours(messages)
        batch = None
        if count:
            self.publications_in += count
            batch = CreditBatch(self.window, size_bytes)
            if not self.window.receive(size_bytes):
                self._fault("credit", "more bytes of publications were sent than granted")
        exchange = self._exchange
        exchange.totals.publications_in += count
        try:
            if messages:
                exchange.station.receive(state.hop, cast("Sequence[LinkMessage]", messages))
        except ProtocolError as error:
            self._fault("protocol", str(error))
        exchange.settle(batch)
        if state.received - self._acknowledged >= ACKNOWLEDGE_COUNT:
            self.acknowledge()
        return handled_count

    def _without_ours(self, messages: Sequence[object]) -> Sequence[object]:
        """Handle what is of the connection, and return what is the station's."""
        for message in messages:
            if type(message) in _OURS:
                self._handle_ours(message)
        return [message for message in messages if type(message) not in _OURS]

    def _handle_ours(self, message: object) -> None:
        assert self._connection is not None
        match message:
            case Grant(size_bytes=size_bytes):
                self.queue.credit_bytes += size_bytes
                if self.queue.credit_bytes > CREDIT_MAX:
                    self._fault("credit", f"more than {CREDIT_MAX} bytes of credit were granted")
                self.pump()
            case Acknowledge(count=count):
                try:
                    self._exchange.station.acknowledged(self.hop, count)
                except SessionError as error:
                    self._fault("protocol", str(error))
            case Ping(number=number):
                self._connection.send_free(encode(Pong(number)))
            case Fault(code=code, text=text):
                if code not in PASSING:
                    self._begin_to_end()
                self._connection.end(f"{self.name} said {code}: {text}")
                if self.watcher is not None:
                    self.watcher.refused(code, text)
            case _:
                pass  # A Pong: that something was received is all that counts.

    # --- what leaves ---

    def put(
        self, messages: Sequence[LinkMessage], run: FrameRun | None, batch: CreditBatch | None, now_s: float
    ) -> None:
        """Queue what was emitted to this link in one step, and send what credit allows.

        Without a connection the station alone keeps it.
        """
        del now_s
        if batch is not None and batch.window is self.window:
            # Returning credit must not depend on what goes back over the same link: both ends would wait.
            batch = None
        connection, queue = self._connection, self.queue
        if connection is None:
            if batch is not None:
                batch.hold()
                self._held.append(batch)
        elif (
            run is not None
            and not queue.queued_bytes
            and queue.credit_bytes >= len(run.frames)
            and connection.outbox_bytes < OUTBOX_BYTES
        ):
            # Nothing waits and credit is there: the usual case needs no queue.
            queue.credit_bytes -= len(run.frames)
            self.publications_out += run.count
            if batch is not None:
                batch.holders += 1
            connection.send_all((run.frames,), () if batch is None else (batch,))
            if self.publications_out - self._looked_at < LOOK_COUNT:
                return
            self._looked_at = self.publications_out
        else:
            queue.add(messages, run, batch)
            self.pump()
        if self.state.is_overfull or self._backlog_bytes > self._exchange.config.limits.link_backlog_bytes:
            self._exchange.after(lambda: self.close("it left too much unacknowledged"))

    @property
    def _backlog_bytes(self) -> int:
        connection = self._connection
        return self.queue.queued_bytes + (0 if connection is None else connection.outbox_bytes)

    def pump(self) -> None:
        """Put into the outbox what credit and its room allow."""
        if not self.queue.queued_bytes or self._connection is None:
            return
        chunks, batches, count = self.queue.take(OUTBOX_BYTES - self._connection.outbox_bytes)
        if chunks:
            self.publications_out += count
            self._connection.send_all(chunks, batches)

    def grant(self) -> None:
        """Return credit to the other end if there is enough to return."""
        if self._connection is None or (not self.is_uplink and self._exchange.is_withholding):
            return
        if not self._exchange.may_grant():
            return
        size_bytes = self.window.grant()
        if size_bytes:
            self._connection.send_free(encode(Grant(size_bytes)))
            self.acknowledge()

    def acknowledge(self) -> None:
        """Tell the other end what it need not keep any more, if that is news."""
        if self._connection is not None and self.state.received > self._acknowledged:
            self._acknowledged = self.state.received
            self._connection.send(encode(Acknowledge(self._acknowledged)))

    # --- attachment ---

    def attached(self) -> None:
        """The link became part of the tree."""
        self._exchange.log.info("link attached", neighbour=self.name, uplink=self.is_uplink)
        if self.watcher is not None:
            self.watcher.attached()

    def rejected(self, verdict: str) -> None:
        """The other tree does not want us: say why, and close the link."""
        text = _VERDICTS.get(verdict, f"the other tree refused the attachment: {verdict}")
        self._fault(verdict, text)
        if self.watcher is not None:
            self.watcher.refused(verdict, text)

    def _fault(self, code: str, text: str) -> None:
        """End the link for a reason that another connection would not mend."""
        self._exchange.totals.refused += 1
        self._begin_to_end()
        peer = "none"
        if self._connection is not None:
            peer = self._connection.peer
            self._connection.end(f"{code}: {text}", fault_of(code, text))
        else:
            self._exchange.after(lambda: self.close(text))
        self._exchange.log.warning("link refused", neighbour=self.name, peer=peer, code=code, text=text)
