"""A broker as a Trio server: listens, dials its uplink, keeps watch, and shuts down in order.

Laws:

1. Every connection is served by tasks of one nursery; what goes wrong on one ends that one
   (`Connection.run`). Anything else is a defect: it ends the broker with a traceback, because a core that
   broke one of its own rules must not go on deciding.
2. A connection that is silent for half the link timeout is dead, and so is one that has not been greeted by
   then. The link on it is not: its lower end dials again, at once and then with waits that stay short: the
   upper end may be up for moments only. Who has been silent for a part of it is asked.
3. Shutting down: nobody new comes in, nobody gets new credit, what is queued is sent for at most `DRAIN_S`,
   and everybody is told.
"""

import errno
import secrets
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

import structlog
import trio
from attrs import Factory, define, field

from broker.addresses import Address
from broker.backoff import FIRST_S, Backoff, longest_while_kept_s
from broker.healing import Search
from broker.messages import Ping
from broker.replay import Bounds
from broker.shell.auth import load_access
from broker.shell.commit import Commit
from broker.shell.connection import Connection, fault_of
from broker.shell.exchange import Exchange
from broker.shell.greeting import Callee, Dialled, House
from broker.shell.keeping import Keeping
from broker.shell.leasing import renew, sweep
from broker.shell.memory import remember
from broker.shell.returning import wait_for_everybody
from broker.shell.settings import Settings, SettingsError
from broker.shell.tls import certificate_names, dialling_context, serving_context
from broker.shell.transport import PlainTransport, TlsTransport, Transport
from broker.shell.uplinks import DIAL_TIMEOUT_S, Attempt, Uplinks
from broker.wire import DEFAULT_LIMITS, Decoder, Peer, encode

if TYPE_CHECKING:
    from broker.trace.counters import Tracer

__all__ = ["Server", "serve"]

BEATS: Final = 8
"""Connections are looked at so many times within the link timeout."""

SILENT_BEATS: Final = 4
"""A connection that is silent for so many beats is broken: three pings may get lost, and half of the link
timeout is left for coming back."""

REDIAL_PART: Final = 5
"""An attempt to come back may take this part of the link timeout, so that several fit into it."""

REDIAL_TIMEOUT_S: Final = 1.0
"""But never less than this: a round trip around the world, a few times."""

DRAIN_S: Final = 5.0
"""How long a broker that shuts down goes on sending. A subscriber that reads at all empties its queue in this
time; one that does not must not keep the broker from ending."""

DRAIN_LOOK_S: Final = 0.02
"""How often it looks whether everything has been sent."""

GOODBYE_S: Final = 3.0
"""Connections that have not closed by then, after all was sent and said, are closed under their peers."""

RUN_BYTES: Final = 4
"""Enough to tell the traces of one run of a broker from those of another."""

BACKLOG: Final = 1024
"""Connections the system keeps for us to accept: all clients of a broker that restarts come back at once."""

_log = structlog.get_logger()


@define(eq=False)
class Server:
    """One running broker. `port` is the one it listens on; `stop` lets it shut down."""

    settings: Settings
    exchange: Exchange
    port: int = field(default=0, init=False)
    _house: House
    _serving: ssl.SSLContext | None
    _dialling: ssl.SSLContext | None
    _random: Random
    tracer: "Tracer | None" = None
    _keeping: Keeping | None = None
    _connections: dict[Connection, None] = field(factory=dict, init=False)
    _uplinks: Uplinks = field(
        default=Factory(
            lambda self: Uplinks(
                self.exchange.core, self.exchange.search, self.settings.link_timeout_s, self._house.settled
            ),
            takes_self=True,
        ),
        init=False,
    )
    _stopping: trio.Event = field(factory=trio.Event, init=False)

    @classmethod
    def prepare(cls, settings: Settings, random: Random | None = None) -> "Server":
        """Check everything that can be checked before a socket is opened. Raises `ConcordError`."""
        access = load_access(settings.auth)
        serving = serving_context(settings.tls, knows_users=access.users is not None)
        dialling = dialling_context(settings.tls)
        tracer = _tracer(settings)
        search = Search(settings.name, tuple(map(str, settings.uplinks)))
        memory = remember(settings, None if tracer is None else tracer.over)
        commit = None if memory.journal is None else Commit(memory.journal)
        exchange = Exchange(memory.station, search=search, commit=commit)
        heartbeat_ms = max(1, round(settings.link_timeout_s * 1000 * SILENT_BEATS / BEATS / 2))
        return cls(
            settings,
            exchange,
            House(exchange, settings.manner, heartbeat_ms, settings.link_timeout_s, access),
            serving,
            dialling,
            random or Random(),  # noqa: S311 - spreads attempts in time, hides nothing
            tracer,
            Keeping.of(memory, exchange),
        )

    def stop(self) -> None:
        """Begin to shut down."""
        self._stopping.set()

    async def settled(self) -> None:
        """Return when the broker is part of its overlay, or when its starter has waited long enough."""
        await self._house.until_settled()

    async def run(self, started: Callable[[], None]) -> None:
        """Serve until `stop`; `started` is called when connections are accepted."""
        try:
            await self._run(started)
        finally:
            if self._keeping is not None:
                self._keeping.close()

    async def _run(self, started: Callable[[], None]) -> None:
        listeners = await _listen(self.settings.listen)
        self.port = listeners[0].socket.getsockname()[1]
        async with trio.open_nursery() as watch:
            if self._keeping is not None:
                self._keeping.begin(watch)
                wait_for_everybody(self._house)
            self._say_where_we_are()
            self._keep_the_past(watch)
            watch.start_soon(self.exchange.flush_filled)
            watch.start_soon(self.exchange.judge_paced)
            watch.start_soon(self.exchange.absences.run)
            watch.start_soon(self.exchange.replaying.run)
            watch.start_soon(self._keep_watch)
            if (terms := self.settings.terms) is not None:
                watch.start_soon(renew, self.exchange, terms)
                watch.start_soon(sweep, self.exchange, terms)
            async with trio.open_nursery() as connections:
                async with trio.open_nursery() as newcomers:
                    newcomers.start_soon(
                        partial(trio.serve_listeners, self._accept, listeners, handler_nursery=connections)
                    )
                    newcomers.start_soon(
                        self._uplinks.keep_attached, partial(self._dial, connections), self._random
                    )
                    started()
                    await self._stopping.wait()
                    newcomers.cancel_scope.cancel()
                await self._drain()
                self._say_goodbye()
                connections.cancel_scope.deadline = trio.current_time() + GOODBYE_S
            if self._keeping is not None:
                await self._keeping.finish()
            watch.cancel_scope.cancel()

    def sent_bytes(self) -> int:
        """How much has been sent on all connections, those that have ended included."""
        sent_bytes = sum(connection.sent_bytes for connection in self._connections)
        return self.exchange.totals.closed_sent_bytes + sent_bytes

    def _say_where_we_are(self) -> None:
        address = self.settings.reached_at(self.port)
        if address is None:
            _log.warning(
                "others cannot dial this broker when the overlay heals: give --advertise-address HOST:PORT",
                listen=str(self.settings.listen),
            )
        self.exchange.station.reached_at("" if address is None else str(address))
        self.exchange.settle()

    def _keep_the_past(self, nursery: trio.Nursery) -> None:
        settings, exchange = self.settings, self.exchange
        exchange.station.bound_replays(Bounds(settings.replay_cache_bytes, settings.replay_count))
        exchange.settle()
        nursery.start_soon(exchange.replaying.age, settings.replay_age_s)

    # --- connections ---

    async def _accept(self, stream: trio.SocketStream) -> None:
        """Serve one connection that came in."""
        self.exchange.totals.connections += 1
        peer = _peer_of(stream)
        if self._serving is None:
            await self._serve_callee(peer, PlainTransport.adopt(stream), ())
            return
        secure = trio.SSLStream(stream, self._serving, server_side=True)
        try:
            with trio.fail_after(DIAL_TIMEOUT_S):
                await secure.do_handshake()
        except (OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
            self.exchange.totals.refused += 1
            _log.warning("TLS failed", peer=peer, reason=str(error.__cause__ or error))
            await trio.aclose_forcefully(secure)
            return
        await self._serve_callee(peer, TlsTransport(secure, stream), certificate_names(secure))

    async def _serve_callee(self, peer: str, transport: Transport, certificates: tuple[str, ...]) -> None:
        connection = Connection(peer, transport, Decoder(DEFAULT_LIMITS, Peer.DIALLER), self.exchange)
        async with trio.open_nursery() as nursery:
            connection.session = Callee(self._house, connection, certificates, nursery)
            await self._serve(connection)
            nursery.cancel_scope.cancel()

    async def _serve(self, connection: Connection) -> None:
        self._connections[connection] = None
        try:
            await connection.run()
        finally:
            self.exchange.totals.closed_sent_bytes += connection.sent_bytes
            del self._connections[connection]

    async def _dial(self, nursery: trio.Nursery, endpoint: Address, attempt: Attempt) -> None:
        """Make a connection to an uplink, and serve it; come back until the link is lost for good."""
        link_timeout_s = self.settings.link_timeout_s
        again_s = min(DIAL_TIMEOUT_S, max(REDIAL_TIMEOUT_S, link_timeout_s / REDIAL_PART))
        first_s = DIAL_TIMEOUT_S if self._house.uplink is None else again_s
        await self._dial_once(nursery, endpoint, attempt, first_s)
        backoff = Backoff(self._random)
        wait_s = self._random.uniform(0, FIRST_S)
        while (link := self._house.uplink) is not None and not self.exchange.is_closing:
            connections = link.connections
            with trio.move_on_after(wait_s):
                await link.closed.wait()
                return
            try:
                await self._dial_once(nursery, endpoint, attempt, again_s)
            except OSError as error:
                _log.info("uplink not reached again", uplink=str(endpoint), reason=str(error))
            if link.is_closed and self._house.uplink is None:
                return
            if attempt.is_final:
                link.close("the uplink refuses this broker for good")
                return
            if link.connections > connections:
                backoff.reset()
            wait_s = backoff.next_s(longest_while_kept_s(link_timeout_s))

    async def _dial_once(
        self, nursery: trio.Nursery, endpoint: Address, attempt: Attempt, timeout_s: float
    ) -> None:
        transport = await self._connect(endpoint, timeout_s)
        connection = Connection(str(endpoint), transport, Decoder(DEFAULT_LIMITS, Peer.UPLINK), self.exchange)
        resuming = self._house.uplink
        connection.session = Dialled(self._house, connection, attempt, resuming)
        connection.send(encode(self._house.hello(self.settings.token, resuming)))
        # The link outlives the dialling when the broker shuts down: it is drained like all others.
        nursery.start_soon(self._serve, connection)
        await connection.released.wait()

    async def _connect(self, endpoint: Address, timeout_s: float) -> Transport:
        """Connect to an uplink, in TLS if we have any. Raises `OSError`."""
        try:
            with trio.fail_after(timeout_s):
                stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
                if self._dialling is None:
                    return PlainTransport.adopt(stream)
                return await self._secure(stream, self._dialling, endpoint.host)
        except trio.TooSlowError:
            raise OSError(errno.ETIMEDOUT, f"no answer within {timeout_s:g} s") from None
        except trio.BrokenResourceError as error:
            raise OSError(errno.EPROTO, f"TLS failed: {error.__cause__ or error}") from error

    async def _secure(self, stream: trio.SocketStream, context: ssl.SSLContext, host: str) -> Transport:
        """Speak TLS over a fresh connection; close it if that fails."""
        secure = trio.SSLStream(stream, context, server_hostname=host)
        try:
            await secure.do_handshake()
        except BaseException:
            await trio.aclose_forcefully(secure)
            raise
        return TlsTransport(secure, stream)

    # --- watching ---

    async def _keep_watch(self) -> None:
        """Find dead connections and wake silent ones, for ever."""
        while True:
            await trio.sleep(self.settings.link_timeout_s / BEATS)
            for connection in list(self._connections):
                self._look_after(connection)
            for link in self.exchange.links.values():
                link.acknowledge()

    def _look_after(self, connection: Connection) -> None:
        is_greeted = not isinstance(connection.session, Callee | Dialled)
        if connection.heard and is_greeted:
            connection.heard = False
            connection.silent_beats = 0
            connection.silent_s = 0.0
            return
        connection.silent_beats += 1
        connection.silent_s = self.settings.link_timeout_s * connection.silent_beats / BEATS
        if connection.silent_beats >= SILENT_BEATS:
            text = f"nothing was heard for {connection.silent_s:g} s"
            connection.end(text, fault_of("silent", text))
        elif is_greeted:
            connection.send(encode(Ping(connection.silent_beats)))

    # --- shutting down ---

    async def _drain(self) -> None:
        """Send what is queued, as long as that takes but not too long."""
        self.exchange.is_closing = True
        with trio.move_on_after(DRAIN_S):
            while not self._is_drained():  # noqa: ASYNC110 - an event per queue would cost every delivery
                await trio.sleep(DRAIN_LOOK_S)

    def _is_drained(self) -> bool:
        exchange = self.exchange
        return (
            all(connection.is_idle for connection in self._connections)
            and not any(link.queue.queued_bytes for link in exchange.links.values() if link.is_connected)
            and not any(
                each.queue.queued_bytes and not each.is_slow for each in exchange.subscribers.values()
            )
        )

    def _say_goodbye(self) -> None:
        text = f"broker {self.settings.name} is shutting down"
        code = "closing" if self.exchange.commit is None else "restarting"
        for connection in list(self._connections):
            connection.end(text, fault_of(code, text))


def _tracer(settings: Settings) -> "Tracer | None":
    """Return what writes down what the broker counts, if that is wanted."""
    if settings.trace is None:
        return None
    from broker.trace.counters import Tracer  # noqa: PLC0415 - only who asks pays for the import

    return Tracer.into(settings.trace, settings.name, secrets.token_hex(RUN_BYTES))


async def serve(
    settings: Settings, started: Callable[[Server], None], until: Callable[[], Awaitable[object]]
) -> None:
    """Run one broker; it shuts down when `until` returns, and stops at once when a second call returns.

    `started` is called when connections are accepted and, if an uplink is there, the broker is attached.
    """
    server = Server.prepare(settings)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_stop_when, server, until, nursery.cancel_scope)
        if settings.metrics is not None:
            from broker.shell.metrics import serve_metrics  # noqa: PLC0415 - only who asks pays for the import

            await nursery.start(serve_metrics, settings.metrics, server.exchange)
        if server.tracer is not None:
            nursery.start_soon(server.tracer.run, server.exchange, server.sent_bytes)
        accepting = trio.Event()
        nursery.start_soon(_tell_when_settled, server, accepting, started)
        await server.run(accepting.set)
        nursery.cancel_scope.cancel()


async def _tell_when_settled(
    server: Server, accepting: trio.Event, started: Callable[[Server], None]
) -> None:
    await accepting.wait()
    await server.settled()
    started(server)


async def _stop_when(
    server: Server, until: Callable[[], Awaitable[object]], everything: trio.CancelScope
) -> None:
    await until()
    server.stop()
    await until()
    everything.cancel()


async def _listen(endpoint: Address) -> list[trio.SocketListener]:
    """Open the sockets to listen on. Raises `OSError` with the option's name."""
    try:
        return await trio.open_tcp_listeners(endpoint.port, host=endpoint.host, backlog=BACKLOG)
    except OSError as error:
        raise SettingsError(f"--listen {endpoint}: {error.strerror or error}") from error


def _peer_of(stream: trio.SocketStream) -> str:
    """Return the other end's address; it may be gone already."""
    try:
        name = stream.socket.getpeername()
    except OSError:
        return "gone"
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else str(name)
