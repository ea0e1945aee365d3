"""The node: one broker, but for its sockets, its files and its clock.

`step` takes one input and the time, and answers with effects. Between two steps nothing happens;
`next_deadline_s` says when the next `Tick` is due.

Laws.

1. The same inputs at the same times give the same effects. All random values come from the `random` and the
   `token` that the node was made with.
2. Within a step, a message is validated, recorded and applied, and its effects are carried out, in this
   order. An error in a message is found before anything is recorded.
3. An error of one peer ends one connection. An exception that is no verdict about a peer is a defect. If
   nothing was recorded or applied in its step (`Station.touched`), the state is unhurt: the connection ends
   and the broker goes on. If something was, nobody knows what the state is worth: the step raises, and the
   broker must stop.
4. A step has a limit: further messages of a client wait (`Connection.unhandled`), its connection is not read,
   and others have their turn first.
5. A connection that is silent for half the link timeout is dead, and so is one that has not been greeted by
   then. The link on it is not. A peer that is silent for a part of it gets a ping, and a peer that sends
   receives at least a frame each beat.
6. Shutting down: no new connection is accepted, no new credit is granted, queues are sent for at most
   `DRAIN_S`, and every peer is notified.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from attrs import define, field

from broker.backoff import Drawing
from broker.core import Destination
from broker.healing import Search
from broker.messages import Ping, Pong
from broker.node import inputs as i
from broker.node.config import NodeConfig
from broker.node.connection import PARTING_S, Connection, Life, fault_of
from broker.node.effects import Close, Effects, Write
from broker.node.exchange import Exchange
from broker.node.greeting import Callee, Dialled, GreetingContext, link_of
from broker.node.links import LinkSession
from broker.node.newcomers import Newcomers, address_of
from broker.node.publishers import LocalPublisher
from broker.node.steps import StepDialler
from broker.node.subscriptions import LocalSubscription
from broker.node.uplinks import Uplinks
from broker.station import Station
from broker.wire import DEFAULT_LIMITS, Decoder, Peer, WireError, encode

BEATS: Final = 8
"""Connections are checked so many times within the link timeout."""

SILENT_BEATS: Final = 4
"""A connection that is silent for so many beats is broken: three pings may get lost, and half of the link
timeout is left for resuming."""

SMALL_STEP: Final = 32
"""A step with so few messages is written at once. Waiting for other readers would cost it a task switch, and
they are likely to have as little."""

CONTROLS_MAX: Final = 256
"""Requests, or messages between brokers, of one connection that a step decodes: a few milliseconds."""

REST_S: Final = 0.03
"""A step that could not handle everything is not followed by another one of that connection for so long, if
others have sent something: the sender of much costly work has a third of the time, and they have the rest."""

DRAIN_S: Final = 5.0
"""How long a broker that shuts down goes on sending. A subscriber that reads at all empties its queue in this
time; one that does not must not keep the broker from ending."""

DRAIN_LOOK_S: Final = 0.02
"""How often a broker that shuts down checks whether its queues are empty."""

_RECEIVED: Final = i.Received


@define(eq=False)
class Node:
    """One broker. Made of a station, fresh or recovered; `is_recovered` says which."""

    station: Station
    config: NodeConfig
    _random: Drawing
    _token: Callable[[], str]
    is_recovered: bool = False
    exchange: Exchange = field(init=False)
    context: GreetingContext = field(init=False)
    uplinks: Uplinks = field(init=False)
    steps: StepDialler = field(init=False)
    connections: dict[int, Connection] = field(factory=dict, init=False)
    _effects: Effects = field(factory=Effects, init=False)
    _wall_ns: int = field(default=0, init=False)
    _wall_at_s: float = field(default=0.0, init=False)
    _unhandled: dict[Connection, None] = field(factory=dict, init=False)
    _inputs: int = field(default=0, init=False)
    _addresses: Counter[str] = field(factory=Counter, init=False)
    _newcomers: Newcomers[Connection] = field(init=False)
    _dialled: dict[Connection, Uplinks | StepDialler] = field(factory=dict, init=False)
    _draining_until_s: float | None = field(default=None, init=False)
    _is_stopped: bool = field(default=False, init=False)
    _repaired: tuple[int, int, int] = field(default=(0, 0, 0), init=False)
    _steps: dict[type, Callable[..., None]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        config = self.config
        self._newcomers = Newcomers(config.limits.ungreeted)
        search = Search(config.name, config.uplinks)
        self.exchange = exchange = Exchange(self.station, config, search, self.wall_ns)
        heartbeat_ms = max(1, round(config.link_timeout_s * 1000 * SILENT_BEATS / BEATS / 2))
        self.context = GreetingContext(exchange, config, heartbeat_ms, self._token)
        self.uplinks = Uplinks(
            self.station.core,
            search,
            self.context,
            exchange.timers,
            exchange.log,
            config.link_timeout_s,
            self._random,
            lambda dial: self._effects.dials.append(dial),  # noqa: PLW0108 - the effects of its time
        )
        self.steps = StepDialler(
            self.context,
            exchange.timers,
            exchange.log,
            self._random,
            lambda dial: self._effects.dials.append(dial),  # noqa: PLW0108 - as above
        )
        exchange.move, exchange.switched = self._move, self._switched
        self._steps = {
            i.Written: self._written,
            i.Pass: lambda _: None,
            i.Tick: self._tick,
            i.Synced: self._synced,
            i.Accepted: self._accepted,
            i.Gone: self._gone,
            i.Connected: self._connected,
            i.Unreached: self._unreached,
            i.JournalState: self._journal_state,
            i.Started: self._started,
            i.Stop: self._stop,
        }

    # --- stepping ---

    def step(self, content: i.Input, now_s: float) -> Effects:
        """Take one input at this time, which never goes back."""
        exchange = self.exchange
        exchange.timers.now_s = now_s
        is_small = True
        if type(content) is _RECEIVED:
            is_small = self._received(content)
        else:
            self._steps[type(content)](content)
        while exchange.ended_connections:
            self._let_go_of_ended()
        if is_small and exchange.filled_connections:
            self._write()
        effects, self._effects = self._effects, Effects()
        if exchange.fresh_records:
            effects.records, exchange.fresh_records = exchange.fresh_records, []
        if exchange.log.lines:
            effects.logs = exchange.log.take()
        effects.wants_pass = not is_small
        effects.is_settled = self.context.is_ready
        effects.failure = self.uplinks.failure
        effects.wants_stop = exchange.is_leaving and not exchange.is_closing
        effects.is_stopped = self._is_stopped
        return effects

    @property
    def next_deadline_s(self) -> float:
        """When the next `Tick` is due; infinity if never."""
        timers_s = self.exchange.timers.next_s()
        if not self._unhandled:
            return timers_s
        return min(timers_s, *[connection.due_s for connection in self._unhandled])

    def wall_ns(self) -> int:
        """Return the time of the wall clock, as the last tick gave it."""
        return self._wall_ns + round((self.exchange.now_s - self._wall_at_s) * 1e9)

    def _let_go_of_ended(self) -> None:
        exchange = self.exchange
        ended, exchange.ended_connections = exchange.ended_connections, []
        for connection in ended:
            self._let_go(connection)

    def _write(self) -> None:
        """Seal the frames that connections have to send, and write those that may leave."""
        exchange, writes = self.exchange, self._effects.writes
        outbox_bytes_max = self.config.limits.outbox_bytes
        upto = 0 if exchange.synced >= exchange.records else exchange.records
        filled, exchange.filled_connections = exchange.filled_connections, []
        for connection in filled:
            if content := connection.take(upto):
                writes.append(Write(connection.number, content))
            elif connection.is_ended and connection.is_idle:
                self._close(connection)
            if connection.is_paused or (connection.is_client and connection.outbox_bytes > outbox_bytes_max):
                self._pause_or_resume(connection)

    # --- reading ---

    def _received(self, content: i.Received) -> bool:
        """Decode and handle bytes; return whether the step was small."""
        connection = self.connections.get(content.connection)
        if connection is None or connection.is_ended:
            return True
        connection.has_received = True
        connection.read_bytes += len(content.content)
        self._inputs += 1
        return self._feed(connection, content.content)

    def _feed(self, connection: Connection, content: bytes | bytearray | memoryview) -> bool:
        """Decode bytes behind those that the connection has kept, and handle messages while there is time.

        Return whether that was little. A defect that is met before anything was recorded ends this connection
        alone (law 3).
        """
        touched, session, decoder = self.station.touched, connection.session, connection.decoder
        assert session is not None, "who has no session has ended"
        messages: list[object] = []
        try:
            if connection.failure is None:
                messages = decoder.feed(content)
        except WireError as error:
            messages = error.messages
            connection.failure = fault_of(error.code, error.text)
        except Exception as error:  # noqa: BLE001 - a defect of the decoder has touched nothing else
            self.exchange.contain(connection, error)
            return True
        if connection.unhandled:
            messages = [*connection.unhandled, *messages]
        try:
            handled_count = session.handle(messages)
        except Exception as error:
            if self.station.touched != touched:
                raise
            self.exchange.contain(connection, error)
            return True
        if not connection.is_ended:
            if handled_count < len(messages) or decoder.has_more:
                self._keep_unhandled(connection, messages[handled_count:])
            elif connection.is_paused or connection.failure is not None or connection.end_when_handled:
                self._all_handled(connection)
        return len(messages) <= SMALL_STEP

    def _keep_unhandled(self, connection: Connection, messages: list[object]) -> None:
        """Keep messages for another turn: the step has no time for them, and the connection is not read."""
        connection.unhandled = messages
        # Where others have sent something since its last turn, it rests for longer than a turn takes.
        is_busy = connection in self._unhandled and self._inputs != connection.inputs_at_turn
        self._unhandled[connection] = None
        connection.turn_at_s = self.exchange.now_s + (REST_S if is_busy else 0)
        connection.inputs_at_turn = self._inputs
        self._pause_or_resume(connection)

    def _all_handled(self, connection: Connection) -> None:
        """Read again after all messages are handled, or end the connection for the fault behind them."""
        connection.unhandled = ()
        self._unhandled.pop(connection, None)
        if connection.failure is not None:
            connection.is_malformed = True
            connection.end(f"malformed: {connection.failure.text}", connection.failure)
        elif connection.end_when_handled:
            connection.end(connection.end_when_handled)
        else:
            self._pause_or_resume(connection)

    def _should_pause(self, connection: Connection) -> bool:
        """Return whether to stop reading: it has unhandled requests, or does not read our answers."""
        if connection.is_ended:
            return False
        if connection in self._unhandled:
            return True
        return connection.is_client and connection.outbox_bytes > self.config.limits.outbox_bytes

    def _pause_or_resume(self, connection: Connection) -> None:
        """Let the shell pause or resume reading, if that has changed."""
        should_pause = self._should_pause(connection)
        if connection.is_paused is not should_pause:
            connection.is_paused = should_pause
            (self._effects.pauses if should_pause else self._effects.resumes).append(connection.number)

    # --- connections ---

    def _open(self, number: int, peer: str, kind: Peer) -> Connection:
        decoder = Decoder(DEFAULT_LIMITS, kind)
        decoder.controls_max = CONTROLS_MAX
        connection = self.connections[number] = Connection(number, peer, decoder, self.exchange)
        self._addresses[address_of(peer)] += 1
        return connection

    def _accepted(self, content: i.Accepted) -> None:
        connection = self._open(content.connection, content.peer, Peer.DIALLER)
        connection.certificates = content.certificates
        connection.session = Callee(self.context, connection)
        self.exchange.totals.connections += 1
        self._newcomers.add(content.peer, connection)
        if refusal := self._refusal_of_connection(content.peer):
            self._turn_away(connection, refusal)
        if len(self._newcomers) > self._newcomers.limit:
            self._newcomers.keep(lambda each: each.life is Life.GREETING)
        if (oldest := self._newcomers.pop_surplus()) is not None:
            limit = self._newcomers.limit
            self._turn_away(oldest, f"this broker has at most {limit} connections that have not greeted")

    def _refusal_of_connection(self, peer: str) -> str:
        """Return why one more connection is refused, or ""."""
        limits, address = self.config.limits, address_of(peer)
        if len(self.connections) > limits.connections:
            return f"this broker has at most {limits.connections} connections at a time"
        if self._addresses[address] > limits.address_connections:
            return f"address {address} has at most {limits.address_connections} connections at a time"
        return ""

    def _turn_away(self, connection: Connection, text: str) -> None:
        self.exchange.totals.refused += 1
        connection.end("too many connections", fault_of("busy", f"{text}; try again later"))

    def _connected(self, content: i.Connected) -> None:
        connection: Connection
        if self.steps.is_awaited(content.dial):
            connection = self._open(content.connection, self.steps.candidate.address, Peer.UPLINK)
            self.steps.connected()
            self._greet(connection, self.steps, None)
        elif self.uplinks.is_awaited(content.dial):
            connection = self._open(content.connection, self.uplinks.address, Peer.UPLINK)
            resuming = self.context.uplink
            self.uplinks.connected()
            self._greet(connection, self.uplinks, resuming)
        else:
            self._effects.ends.append(Close(content.connection, "nobody waits for it any more"))

    def _greet(
        self, connection: Connection, dialler: Uplinks | StepDialler, resuming: LinkSession | None
    ) -> None:
        self._dialled[connection] = dialler
        connection.session = Dialled(self.context, connection, dialler, resuming)
        connection.send(encode(self.context.hello(resuming)))

    def _unreached(self, content: i.Unreached) -> None:
        for dialler in (self.steps, self.uplinks):
            if dialler.is_awaited(content.dial):
                dialler.unreached(content.reason)

    def _move(self, destination: Destination) -> None:
        if destination.is_step:
            self.steps.take(destination)
        else:
            self.uplinks.move(destination)

    def _switched(self) -> None:
        """Let the search go on with the link that has become the uplink's, and with its connection."""
        uplink = self.exchange.core.uplink
        assert uplink is not None, "a step ends with an uplink"
        link = next(each for each in self.context.links.values() if each.state.hop is uplink)
        for connection, dialler in list(self._dialled.items()):
            if dialler is self.uplinks:
                del self._dialled[connection]
        if link.connection is not None:
            self._dialled[link.connection] = self.uplinks
        link.watcher = self.uplinks
        self.uplinks.switched(self.steps.candidate)

    def _gone(self, content: i.Gone) -> None:
        connection = self.connections.get(content.connection)
        if connection is None:
            return
        connection.is_gone = True
        if connection in self._unhandled and not connection.is_ended:
            connection.not_before_s = 0.0
            connection.end_when_handled = content.reason
            return
        connection.end(content.reason)
        self._let_go(connection)

    def _let_go(self, connection: Connection) -> None:
        """Notify the session of a connection that has ended, and wait until its outbox is written."""
        if connection.number not in self.connections:
            return
        self._unhandled.pop(connection, None)
        connection.release()
        if connection.is_gone:
            self._close(connection)
        elif connection.parting is None:
            connection.parting = self.exchange.timers.after(PARTING_S, lambda: self._close(connection))
            if not connection.is_filled:
                self.exchange.filled(connection)
        if (dialler := self._dialled.pop(connection, None)) is not None:
            dialler.ended()

    def _close(self, connection: Connection) -> None:
        if self.connections.pop(connection.number, None) is None:
            return
        self._newcomers.discard(connection.peer, connection)
        address = address_of(connection.peer)
        self._addresses[address] -= 1
        if not self._addresses[address]:
            del self._addresses[address]
        connection.close()
        self.exchange.totals.closed_sent_bytes += connection.sent_bytes
        self._effects.ends.append(Close(connection.number, connection.reason))

    def _written(self, content: i.Written) -> None:
        for number in content.connections:
            connection = self.connections.get(number)
            if connection is None or not connection.is_writing:
                continue
            connection.written()

    # --- the journal ---

    def _synced(self, content: i.Synced) -> None:
        exchange = self.exchange
        exchange.synced = content.count
        for connection in self.connections.values():
            connection.unseal(content.count)
            if not connection.is_filled and not connection.is_idle:
                exchange.filled(connection)

    def _journal_state(self, content: i.JournalState) -> None:
        exchange = self.exchange
        exchange.has_room, exchange.is_full = content.has_room, content.is_full
        exchange.grant_withheld()

    # --- time ---

    def _tick(self, content: i.Tick) -> None:
        self._wall_ns, self._wall_at_s = content.wall_ns, self.exchange.now_s
        for connection in list(self._unhandled):
            if connection in self._unhandled and connection.due_s <= self.exchange.now_s:
                self._feed(connection, b"")
        self.exchange.timers.fire()

    def _watch(self) -> None:
        """End dead connections, ping silent ones, and acknowledge frames received over links (law 5)."""
        for connection in list(self.connections.values()):
            if not connection.is_ended:
                self._look_after(connection)
        for link in self.exchange.links.values():
            link.acknowledge()

    def _look_after(self, connection: Connection) -> None:
        is_greeted = connection.life is Life.SERVING
        if is_greeted and (connection.has_received or connection.is_paused):
            connection.has_received = False
            connection.silent_beats = 0
            connection.silent_s = 0.0
            self._keep_alive(connection)
            return
        connection.silent_beats += 1
        connection.silent_s = self.config.link_timeout_s * connection.silent_beats / BEATS
        if connection.silent_beats >= SILENT_BEATS:
            text = f"nothing was heard for {connection.silent_s:g} s"
            connection.end(text, fault_of("silent", text))
        elif is_greeted:
            connection.send_free(encode(Ping(connection.silent_beats)))

    def _keep_alive(self, connection: Connection) -> None:
        """Send a frame to a peer that sends, if none was sent to it since the last beat.

        It may be sending one large frame over a slow connection, and takes our silence for our end.
        """
        if connection.sent_bytes == connection.sent_bytes_at_beat and connection.is_idle:
            connection.send_free(encode(Pong(0)))
        connection.sent_bytes_at_beat = connection.sent_bytes + connection.outbox_bytes

    # --- starting and stopping ---

    def _started(self, content: i.Started) -> None:
        exchange, config, station = self.exchange, self.config, self.station
        self._wall_ns, self._wall_at_s = content.wall_ns, exchange.now_s
        if config.has_journal:
            station.begin(exchange.record)
            self._start_reconnect_timeouts()
        station.reached_at(content.address)
        exchange.settle()
        station.bound_replays(config.replays)
        exchange.settle()
        exchange.replaying.age(config.replay_age_s)
        beat_s = config.link_timeout_s / BEATS
        exchange.timers.every(lambda: beat_s, self._watch)
        self._begin_leases()
        self.context.begin()
        self._go_on_moving()
        self.uplinks.begin()

    def _go_on_moving(self) -> None:
        """Go on with the move that the journal has kept; a step begins anew."""
        beside = self.context.beside
        if beside is not None:
            beside.close("the broker has restarted")
            self.exchange.settle()
        elif (destination := self.exchange.core.moves.destination) is not None:
            self._move(destination)

    def _start_reconnect_timeouts(self) -> None:
        """Start the timeouts of all sessions of the journal, as after lost connections."""
        exchange, station = self.exchange, self.station
        link_timeout_s = self.config.link_timeout_s
        exchange.reconnect_timeouts.broker_started(link_timeout_s)
        for state in list(station.links.values()):
            link = link_of(self.context, state)
            exchange.reconnect_timeouts.start(link, link_timeout_s)
            if state.verdict:
                link.close(f"the other tree refused the attachment: {state.verdict}")
        for publisher in list(station.publishers.values()):
            LocalPublisher(publisher, exchange, link_timeout_s).detach()
        for subscription in list(station.subscriptions.values()):
            LocalSubscription(subscription, exchange, link_timeout_s).detach()

    def _begin_leases(self) -> None:
        terms = self.config.terms
        if terms is not None:
            timers = self.exchange.timers
            self._repaired = self._repairs()
            timers.every(lambda: terms.refresh_s, self._renew)
            timers.every(lambda: terms.sweep_s, lambda: self._sweep(terms.missed_renewals_max))

    def _renew(self) -> None:
        """Renew all announcements on each link; log the repairs since the last time."""
        self.station.refresh()
        self.exchange.settle()
        before, self._repaired = self._repaired, self._repairs()
        if before != self._repaired:
            repaired, asked, expired = (now - then for now, then in zip(self._repaired, before, strict=True))
            self.exchange.log.warning(
                "routing tables were wrong", repaired=repaired, asked=asked, expired=expired
            )

    def _repairs(self) -> tuple[int, int, int]:
        leases = self.station.core.leases
        return leases.repairs.count, leases.repaired, leases.expired

    def _sweep(self, missed_renewals_max: int) -> None:
        """Record how many renewals may leave an entry out before it expires."""
        self.station.sweep(missed_renewals_max)
        self.exchange.settle()

    def _stop(self, _: i.Stop) -> None:
        if self._draining_until_s is None:
            self.exchange.is_closing = True
            self.uplinks.stop()
            self.steps.stop()
            self._draining_until_s = self.exchange.now_s + DRAIN_S
            if self.exchange.is_leaving:
                self._end_all(lambda connection: connection.is_client)
            self._drain()

    def _drain(self) -> None:
        """Send all queues for at most `DRAIN_S`; then send every peer a goodbye."""
        assert self._draining_until_s is not None
        if not self._is_drained() and self.exchange.now_s < self._draining_until_s:
            self.exchange.timers.after(DRAIN_LOOK_S, self._drain)
            return
        self._end_all(lambda _: True)
        self._await_goodbyes()

    def _end_all(self, whose: Callable[[Connection], bool]) -> None:
        """Send a goodbye to peers; clients of a broker that leaves go first, and lose nothing."""
        text = f"broker {self.config.name} is shutting down"
        returns = self.config.has_journal and not self.exchange.is_leaving
        for connection in filter(whose, list(self.connections.values())):
            connection.end(text, fault_of("restarting" if returns else "closing", text))

    def _await_goodbyes(self) -> None:
        if self.connections:
            self.exchange.timers.after(DRAIN_LOOK_S, self._await_goodbyes)
        else:
            self._is_stopped = True

    def _is_drained(self) -> bool:
        exchange = self.exchange
        return (
            not self._unhandled
            and all(connection.is_idle for connection in self.connections.values())
            and not any(link.queue.queued_bytes for link in exchange.links.values() if link.is_connected)
            and not any(
                each.queue.queued_bytes and not each.is_slow for each in exchange.subscribers.values()
            )
        )

    @property
    def sent_bytes(self) -> int:
        """The bytes sent on all connections, those that have ended included."""
        sent_bytes = sum(connection.sent_bytes for connection in self.connections.values())
        return self.exchange.totals.closed_sent_bytes + sent_bytes

    def __repr__(self) -> str:
        exchange = self.exchange
        return (
            f"<Node {self.config.name} connections={len(self.connections)} links={len(exchange.links)} "
            f"publishers={len(exchange.publishers)} subscribers={len(exchange.subscribers)} "
            f"uplink={self.uplinks.state.name} {exchange.core!r}>"
        )
