"""A link to another broker: passes its messages to the station and the emitted ones back, under credit.

Laws:

1. A link outlives its connections. It is open from the greeting that agreed on its session until it is
   declared lost: after its timeout without a connection, when one end leaves or breaks the protocol, or when
   the other end has forgotten the session (R8).
2. On each connection both ends resume behind the frames that the other has received: the queue is made again
   from the frames that the station has kept. No frame of an older connection reaches the station after that.
3. Publications need credit of the other end, which begins anew with each connection. Control messages need
   none and keep their order with publications.
4. Publications count as forwarded, and their credit is returned, when every link that they went to has
   written them, under the credit of the next broker. While a link has no connection, that waits.
5. Received frames are acknowledged when credit is returned, after many messages, and with every beat.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final, Protocol, cast

from attrs import define, field

from broker.core import Hop, ProtocolError
from broker.core.stepping import BROKEN, LEFT_OVER
from broker.messages import Acknowledge, Fault, Grant, LinkMessage, Ping, Pong, Publication
from broker.node.connection import OUTBOX_BYTES, Connection, fault_of
from broker.node.credit import CreditBatch, CreditWindow
from broker.node.exchange import Exchange
from broker.node.queues import FrameRun, LinkQueue
from broker.sessions import SessionError
from broker.station import LinkState
from broker.transitions import Transitions, follow
from broker.wire import encode

_OURS: Final = frozenset({Acknowledge, Grant, Ping, Pong, Fault})
"""Messages for the connection; all others are for the station."""

CREDIT_MAX: Final = 2**40
"""The largest credit that a neighbour may grant; more means that it counts wrong."""

ACKNOWLEDGE_COUNT: Final = 1024
"""An acknowledgement is sent after so many messages at the latest: one small frame for a thousand."""

LOOK_COUNT: Final = 1024
"""The limit on unacknowledged frames is checked once in so many publications."""

PASSING: Final = frozenset({"busy", "elsewhere", "replaced", "restarting", "silent"})
"""Faults that end a connection and not the link: the other end expects the link to be resumed."""

_LEFT: Final = {
    LEFT_OVER: "a step has left it over",
    BROKEN: "a step was torn apart",
}

_VERDICTS: Final = {
    "cycle": "the uplink is in the tree below this broker: the overlay would have a cycle",
    "duplicate": "the tree of the uplink has another broker with the name of one on this side",
}


class Carriage(Enum):
    """The states of a link, by its connection."""

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
    """The search that dialled the link, and is notified of its state."""

    @property
    def is_wanted(self) -> bool:
        """Whether a link is still of use."""
        ...

    def attached(self) -> None:
        """The link became part of the tree."""
        ...

    def refused(self, code: str, text: str) -> None:
        """Take the refusal of the other end."""
        ...

    def link_closed(self) -> None:
        """Take the link as declared lost."""
        ...


@define(eq=False)
class LinkSession:
    """One open link, with or without a connection. An uplink that we have dialled has a `watcher`."""

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
        """Its hop in the core."""
        return self.state.hop

    @property
    def station_key(self) -> tuple[str, str]:
        """The kind and name of its state at the station."""
        return "link", self.name

    @property
    def is_uplink(self) -> bool:
        """Whether the neighbour is our parent."""
        return self.state.is_uplink

    @property
    def connection(self) -> Connection | None:
        """The connection that carries the link now."""
        return self._connection

    def _enter(self, carriage: Carriage) -> None:
        self.carriage = follow(TRANSITIONS, self.carriage, carriage)

    def _begin_to_end(self) -> None:
        """Enter the state in which the link ends with its connection."""
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
        """Return whether the other end may resume this session behind so many messages.

        One that has fewer than it had acknowledged has lost its memory since, whatever it says.
        """
        state = self.state
        return session == state.session and state.acknowledged <= received <= state.sent

    def let_go(self, reason: str) -> None:
        """End the connection, if there is one: its later messages are ignored (law 2)."""
        if self._connection is not None:
            self._connection.end_now(reason)

    def attach(self, connection: Connection, received: int, credit_bytes: int) -> None:
        """Resume over this connection behind the frames that the other end has received."""
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
        """Start the timeout, or close the link if it cannot be resumed."""
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
        """Declare the link lost: it was not resumed in time."""
        self.close("nobody came back in time")

    def close(self, reason: str, code: str = "lost") -> None:
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
            self._connection.end(reason, fault_of(code, reason))
        exchange.totals.lost_links += code != LEFT_OVER
        exchange.settle()
        exchange.log.info("link lost", neighbour=self.name, uplink=self.is_uplink, reason=reason)
        if self.watcher is not None:
            self.watcher.link_closed()

    # --- what arrives ---

    def handle(self, messages: Sequence[object]) -> int:
        """Handle messages that arrived together: pass them to the station, return credit and acknowledge."""
        handled_count = len(messages)
        if self.carriage is Carriage.CLOSED:
            return handled_count
        state = self.state
        size_bytes = count = 0
        for message in messages:
            if type(message) is Publication:
                size_bytes += len(message.frame)
                count += 1
        if count < handled_count:
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
        """Handle the messages for the connection, and return those for the station."""
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
                if code == LEFT_OVER:
                    self._exchange.after(lambda: self.close(text, code))
                elif code not in PASSING:
                    self._begin_to_end()
                self._connection.end(f"{self.name} said {code}: {text}")
                if self.watcher is not None:
                    self.watcher.refused(code, text)
            case _:
                pass  # A Pong: it only shows that the other end is alive.

    # --- what leaves ---

    def put(
        self, messages: Sequence[LinkMessage], run: FrameRun | None, batch: CreditBatch | None, now_s: float
    ) -> None:
        """Queue the messages of one step to this link, and send as many as credit allows.

        Without a connection the station alone keeps them.
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
            # The queue is empty and there is credit: the usual case needs no queue.
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
        """Put as many messages into the outbox as credit and its room allow."""
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
        """Acknowledge the frames received since the last acknowledgement, if there are any."""
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
        """Close the link with a Fault: the other tree has rejected us, or a step has left it over."""
        if verdict in _LEFT:
            self._exchange.after(lambda: self.close(_LEFT[verdict], verdict))
            return
        text = _VERDICTS.get(verdict, f"the other tree refused the attachment: {verdict}")
        self._fault(verdict, text)
        if self.watcher is not None:
            self.watcher.refused(verdict, text)

    def _fault(self, code: str, text: str) -> None:
        """End the link for a reason that another connection would not repair."""
        self._exchange.totals.refused += 1
        self._begin_to_end()
        peer = "none"
        if self._connection is not None:
            peer = self._connection.peer
            self._connection.end(f"{code}: {text}", fault_of(code, text))
        else:
            self._exchange.after(lambda: self.close(text))
        self._exchange.log.warning("link refused", neighbour=self.name, peer=peer, code=code, text=text)
