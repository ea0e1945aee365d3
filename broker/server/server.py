"""A broker as a Trio server: accepts, reads, feeds the node (which decides), writes, closes.

Laws:

1. All effects of a step are carried out before the next step begins; nothing is awaited in between.
2. The node handles the end of a connection. An exception out of a step is a defect of unknown extent: it ends
   the broker, because a core that broke one of its own rules must not go on deciding.
"""

import errno
import resource
import secrets
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from random import Random
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Final

import attrs
import structlog
import trio
from attrs import define, field

from broker.addresses import Address, parse_address
from broker.node import (
    Accepted,
    Connected,
    Dial,
    Effects,
    Gone,
    Input,
    Node,
    Pass,
    Received,
    Started,
    Stop,
    Tick,
    Unreached,
    Written,
)
from broker.node.exchange import Exchange
from broker.node.limits import NodeLimits
from broker.node.newcomers import Newcomers
from broker.server.commit import Commit
from broker.server.keeping import Keeping
from broker.server.memory import remember
from broker.server.serving import Serving
from broker.server.settings import Settings, SettingsError
from broker.server.tls import certificate_names, dialling_context, serving_context
from broker.server.transport import HandshakeError, PlainTransport, TlsTransport, Transport
from broker.server.users import load_access

if TYPE_CHECKING:
    from broker.server.websocket import WebSockets
    from broker.trace.counters import Tracer

HANDSHAKE_TIMEOUT_S: Final = 10.0
"""The timeout of a handshake of TLS, and of one of WebSocket."""

RUN_BYTES: Final = 4
"""Enough to distinguish the traces of one run of a broker from those of another."""

TOKEN_BYTES: Final = 8
"""This distinguishes two sessions; 64 random bits do not collide."""

BACKLOG: Final = 1024
"""Connections the system keeps for us to accept: all clients of a broker that restarts reconnect at once."""

RESERVED_DESCRIPTORS: Final = 64
"""Files that a broker must be able to open beside its connections: its journal's, uplinks, metrics, names."""

UNGREETED_PART: Final = 4
"""Where descriptors are few, connections that have not greeted get this part of them."""

SAMPLE_EVERY: Final = 64
"""Matching is timed alone once in so many steps: often enough for a rate, and free."""

_log = structlog.get_logger()


@define(eq=False)
class Server:
    """One running broker. It listens on `port`, and for WebSocket on `ws_port`; `stop` lets it shut down."""

    settings: Settings
    node: Node
    port: int = field(default=0, init=False)
    ws_port: int = field(default=0, init=False)
    websockets: "WebSockets | None" = field(default=None, init=False)
    _serving: ssl.SSLContext | None
    _dialling: ssl.SSLContext | None
    tracer: "Tracer | None" = None
    _keeping: Keeping | None = None
    _connections: dict[int, Serving] = field(factory=dict, init=False)
    _numbers: "count[int]" = field(factory=lambda: count(1), init=False)
    _nursery: trio.Nursery | None = field(default=None, init=False)
    _stopping: trio.Event = field(factory=trio.Event, init=False)
    _settled: trio.Event = field(factory=trio.Event, init=False)
    _stopped: trio.Event = field(factory=trio.Event, init=False)
    _sleeping: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _wakes_at_s: float = field(default=0.0, init=False)
    _pass_wanted: trio.Event = field(factory=trio.Event, init=False)
    _unsampled_count: int = field(default=0, init=False)
    _has_failed: bool = field(default=False, init=False)
    _handshakes: Newcomers[trio.CancelScope] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._handshakes = Newcomers(self.settings.limits.ungreeted)

    @classmethod
    def prepare(cls, settings: Settings, random: Random | None = None) -> "Server":
        """Check everything that can be checked before a socket is opened. Raises `ConcordError`."""
        access = load_access(settings.auth, settings.tls)
        serving = serving_context(settings.tls, knows_users=access.users is not None)
        dialling = dialling_context(settings.tls)
        tracer = _tracer(settings)
        memory = remember(settings, None if tracer is None else tracer.over)
        settings = attrs.evolve(settings, limits=within_descriptors(settings.limits))
        node = Node(
            memory.station,
            settings.node_config(access),
            random or Random(),  # noqa: S311 - spreads attempts in time, hides nothing
            lambda: secrets.token_hex(TOKEN_BYTES),
        )
        return cls(settings, node, serving, dialling, tracer, Keeping.of(memory, node))

    @property
    def exchange(self) -> Exchange:
        """The state that the connections of the node share, for reading only."""
        return self.node.exchange

    @property
    def commit(self) -> Commit | None:
        """The writer of records to disk, if there is a journal."""
        return None if self._keeping is None else self._keeping.commit

    def stop(self) -> None:
        """Begin to shut down."""
        self._stopping.set()

    async def settled(self) -> None:
        """Return when the broker is ready: part of its overlay, or settled without an uplink."""
        await self._settled.wait()

    # --- stepping ---

    def step(self, content: Input) -> None:
        """Feed the node, and carry out its effects (law 1)."""
        if self._has_failed:
            return
        pending: Input | None = content
        totals, now_s = self.node.exchange.totals, trio.current_time()
        try:
            while pending is not None:
                started_s = perf_counter()
                effects = self.node.step(pending, now_s)
                totals.core_s += perf_counter() - started_s
                written = self._carry_out(effects)
                pending = Written(tuple(written)) if written else None
        except BaseException:
            self._has_failed = True
            raise
        self._wake_in_time()

    def received(self, number: int, content: bytes | bytearray | memoryview) -> None:
        """Feed the bytes received on a connection."""
        self.step(Received(number, content))
        self._unsampled_count += 1
        if self._unsampled_count >= SAMPLE_EVERY:
            self._unsampled_count = 0
            self._sample_matching()

    def _sample_matching(self) -> None:
        """Match the last publication once more to see what matching alone costs."""
        exchange = self.node.exchange
        if (last := exchange.last_publication) is not None:
            started_s = perf_counter()
            exchange.core.tables.route(last.attributes, 0)
            exchange.totals.matching_s += perf_counter() - started_s
            exchange.totals.matched += 1

    def _carry_out(self, effects: Effects) -> list[int]:
        """Carry out the effects of a step in the order of the fields; return the connections written."""
        if effects.records:
            assert self._keeping is not None
            self._keeping.commit.record(effects.records)
        written = self._write(effects)
        self._pause_and_end(effects)
        for dial in effects.dials:
            assert self._nursery is not None
            self._nursery.start_soon(self._dial, dial)
        for line in effects.logs:
            getattr(_log, line.level)(line.event, **line.fields)
        if effects.wants_pass:
            self._pass_wanted.set()
        if effects.is_settled:
            self._settled.set()
        if effects.wants_stop:
            self.stop()
        if effects.is_stopped:
            self._stopped.set()
        if effects.failure is not None:
            raise effects.failure
        return written

    def _pause_and_end(self, effects: Effects) -> None:
        for number in effects.pauses:
            if (paused := self._connections.get(number)) is not None:
                paused.pause()
        for number in effects.resumes:
            if (resumed := self._connections.get(number)) is not None:
                resumed.resume()
        for end in effects.ends:
            if (ended := self._connections.pop(end.connection, None)) is not None:
                ended.end()

    def _write(self, effects: Effects) -> list[int]:
        """Hand buffers to the system; return the connections whose buffer it has taken whole."""
        written = []
        for write in effects.writes:
            connection = self._connections.get(write.connection)
            if connection is not None and connection.write(write.content):
                written.append(write.connection)
        return written

    def _wake_in_time(self) -> None:
        deadline_s = self.node.next_deadline_s
        if deadline_s < self._wakes_at_s:
            self._wakes_at_s = deadline_s
            self._sleeping.deadline = deadline_s

    async def _keep_time(self) -> None:
        """Tick whenever the node has something to do, for ever."""
        while True:
            self._wakes_at_s = self.node.next_deadline_s
            with trio.CancelScope(deadline=self._wakes_at_s) as self._sleeping:
                await trio.sleep_forever()
            self.step(Tick(time_ns()))

    async def _keep_passing(self) -> None:
        """Let large steps be written when all readers that were ready have had their turn, for ever."""
        while True:
            await self._pass_wanted.wait()
            self._pass_wanted = trio.Event()
            self.step(Pass())

    # --- running ---

    async def run(self, started: Callable[[], None]) -> None:
        """Serve until `stop`; `started` is called when connections are accepted."""
        try:
            await self._run(started)
        finally:
            if self._keeping is not None:
                self._keeping.close()

    async def _run(self, started: Callable[[], None]) -> None:
        listeners = await _listen("--listen", self.settings.listen)
        self.port = listeners[0].socket.getsockname()[1]
        if self.settings.listen_shared is not None:
            listeners += listen_beside_others(self.settings.listen_shared)
        pages = await self._listen_to_pages()
        async with trio.open_nursery() as watch:
            if self._keeping is not None:
                self._keeping.begin(watch, self.step)
            async with trio.open_nursery() as self._nursery:
                self.step(Started(self._address(), time_ns()))
                watch.start_soon(self._keep_time)
                watch.start_soon(self._keep_passing)
                async with trio.open_nursery() as newcomers:
                    newcomers.start_soon(self._accept_all, self._accept, listeners)
                    if pages:
                        newcomers.start_soon(self._accept_all, self._accept_page, pages)
                    started()
                    await self._stopping.wait()
                    newcomers.cancel_scope.cancel()
                self.step(Stop())
                await self._stopped.wait()
            if self._keeping is not None:
                await self._keeping.finish()
            watch.cancel_scope.cancel()

    async def _listen_to_pages(self) -> list[trio.SocketListener]:
        """Open the sockets for WebSocket, if there are to be any."""
        if self.settings.listen_ws is None:
            return []
        from broker.server.websocket import WebSockets  # noqa: PLC0415 - only who asks pays for the import

        self.websockets = WebSockets(self.settings.origins)
        listeners = await _listen("--listen-ws", self.settings.listen_ws)
        self.ws_port = listeners[0].socket.getsockname()[1]
        return listeners

    def _address(self) -> str:
        address = self.settings.reached_at(self.port)
        if address is None:
            _log.warning(
                "others cannot dial this broker when the overlay heals: give --advertise-address HOST:PORT",
                listen=str(self.settings.listen),
            )
        return "" if address is None else str(address)

    # --- connections ---

    async def _accept_all(
        self, accept: Callable[[trio.SocketStream], Awaitable[None]], listeners: list[trio.SocketListener]
    ) -> None:
        assert self._nursery is not None
        await trio.serve_listeners(accept, listeners, handler_nursery=self._nursery)

    async def _accept(self, stream: trio.SocketStream) -> None:
        """Serve one connection that came in."""
        peer = _peer_of(stream)
        if (admitted := await self._admit(stream, peer)) is not None:
            transport, names = admitted
            await self._serve(Accepted(next(self._numbers), peer, names), transport)

    async def _accept_page(self, stream: trio.SocketStream) -> None:
        """Serve one connection that came in and is to speak WebSocket."""
        assert self.websockets is not None
        peer = _peer_of(stream)
        if (admitted := await self._admit(stream, peer)) is None:
            return
        below, names = admitted
        transport = None
        try:
            transport = await self._in_time(peer, "WebSocket", partial(self.websockets.upgrade, below))
        finally:
            if transport is None:
                self.exchange.totals.refused += 1
                await below.close()
        if transport is not None:
            await self._serve(Accepted(next(self._numbers), peer, names), transport)

    async def _admit(self, stream: trio.SocketStream, peer: str) -> tuple[Transport, tuple[str, ...]] | None:
        """Return the transport of a connection that came in, in TLS if we have any, with its certificates."""
        if len(self._connections) + len(self._handshakes) >= self.settings.limits.connections:
            self.exchange.totals.refused += 1
            await trio.aclose_forcefully(stream)
            return None
        if self._serving is None:
            return PlainTransport.adopt(stream), ()
        secure = trio.SSLStream(stream, self._serving, server_side=True)
        transport = await self._in_time(peer, "TLS", partial(_secured, secure, stream))
        if transport is None:
            self.exchange.totals.refused += 1
            await trio.aclose_forcefully(secure)
            return None
        return transport, certificate_names(secure)

    async def _in_time(
        self, peer: str, what: str, shake_hands: Callable[[], Awaitable[Transport]]
    ) -> Transport | None:
        """Return the transport behind a handshake; None if the peer has not finished it in time."""
        with trio.move_on_after(HANDSHAKE_TIMEOUT_S) as scope:
            self._handshakes.add(peer, scope)
            if (oldest := self._handshakes.pop_surplus()) is not None:
                oldest.cancel()
            try:
                return await shake_hands()
            except (OSError, trio.BrokenResourceError, HandshakeError) as error:
                _log.warning(f"{what} failed", peer=peer, reason=str(error.__cause__ or error))
                return None
            finally:
                self._handshakes.discard(peer, scope)
        _log.warning(f"{what} failed", peer=peer, reason="the handshake took too long")
        return None

    async def _serve(self, opened: Accepted | Connected, transport: Transport) -> None:
        number = opened.connection
        connection = self._connections[number] = Serving(number, transport, self)
        try:
            self.step(opened)
            await connection.run()
        finally:
            if self._connections.pop(number, None) is not None:
                self.step(Gone(number, connection.reason))

    async def _dial(self, dial: Dial) -> None:
        """Make a connection to another broker, and serve it."""
        try:
            transport = await self._connect(parse_address(dial.address), dial.timeout_s)
        except (OSError, ValueError) as error:
            self.step(Unreached(dial.number, str(error)))
            return
        await self._serve(Connected(dial.number, next(self._numbers)), transport)

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


def within_descriptors(limits: NodeLimits) -> NodeLimits:
    """Return the limits with so many connections that files can always be opened beside them.

    Those that have not greeted leave most of them to others.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits
    connections = max(1, min(limits.connections, soft - RESERVED_DESCRIPTORS))
    ungreeted = max(1, min(limits.ungreeted, connections // UNGREETED_PART))
    return attrs.evolve(limits, connections=connections, ungreeted=ungreeted)


async def _secured(secure: "trio.SSLStream[trio.SocketStream]", below: trio.SocketStream) -> Transport:
    await secure.do_handshake()
    return TlsTransport(secure, below)


def _tracer(settings: Settings) -> "Tracer | None":
    """Return the writer of the broker's counters, if traces are wanted."""
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
            from broker.server.metrics import serve_metrics  # noqa: PLC0415 - only who asks pays for the import

            await nursery.start(serve_metrics, settings.metrics, server)
        if server.tracer is not None:
            nursery.start_soon(server.tracer.run, server.exchange, lambda: server.node.sent_bytes)
        accepting = trio.Event()
        nursery.start_soon(_report_when_settled, server, accepting, started)
        await server.run(accepting.set)
        nursery.cancel_scope.cancel()


async def _report_when_settled(
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


async def _listen(option: str, endpoint: Address) -> list[trio.SocketListener]:
    """Open the sockets to listen on. Raises `OSError` with the option's name."""
    try:
        return await trio.open_tcp_listeners(endpoint.port, host=endpoint.host, backlog=BACKLOG)
    except OSError as error:
        raise SettingsError(f"{option} {endpoint}: {error.strerror or error}") from error


def listen_beside_others(endpoint: Address) -> list[trio.SocketListener]:
    """Open a socket on an address where other processes listen too; the system deals out connections.

    Raises:
        SettingsError: that cannot be done.
    """
    try:
        opened = shared_socket(endpoint, BACKLOG)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"--listen-shared {endpoint}: {reason}") from error
    return [trio.SocketListener(trio.socket.from_stdlib_socket(opened))]


def shared_socket(endpoint: Address, backlog: int) -> socket.socket:
    """Return a listening socket that shares its address. Raises `OSError` or `ValueError`."""
    family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
    where = (endpoint.host, endpoint.port)
    return socket.create_server(where, family=family, backlog=backlog, reuse_port=True)


def _peer_of(stream: trio.SocketStream) -> str:
    """Return the address of the peer, which may have disconnected already."""
    try:
        name = stream.socket.getpeername()
    except OSError:
        return "gone"
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else str(name)
