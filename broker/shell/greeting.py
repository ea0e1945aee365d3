"""The first words on a connection: who the peer is, whether it may come in, and what it becomes.

Laws:

1. Whoever dials says Hello; the answer is Welcome, or a Fault that says why not. A refusal has a word for
   programs: "version", "auth", "ordering", "duplicate-name", "second-path", "name", "closing".
2. A broker's name is there once among our neighbours. If the neighbour of that name is another run of it, or
   does not answer a ping any more, it is the old link that goes.
3. Greeting is all that happens before Welcome; the core hears of a neighbour only after it.
"""

from collections.abc import Sequence
from typing import Final

import structlog
import trio
from attrs import define, field

from broker.messages import Fault, Hello, Ping, Welcome
from broker.shell.auth import Access, User
from broker.shell.clients import ClientSession
from broker.shell.connection import Connection, fault_of
from broker.shell.credit import LinkSize, Sizing, Window
from broker.shell.exchange import Exchange, Link
from broker.shell.links import LinkSession, LinkWatcher
from broker.shell.publishers import RetiredPublishers
from broker.shell.settings import NAME_BYTES_MAX
from broker.wire import DEFAULT_LIMITS, VERSION, encode

__all__ = ["FINAL_REFUSALS", "Callee", "Dialled", "House", "open_client", "open_link"]

PROBE_S: Final = 1.0
"""How long a neighbour gets to answer a ping when another broker comes with its name: much longer than a busy
broker needs, and the newcomer waits for it."""

FINAL_REFUSALS: Final = frozenset(
    {"auth", "cycle", "duplicate", "duplicate-name", "name", "ordering", "second-path", "version"}
)
"""Refusals that trying again does not change: somebody has to change a setting."""

_log = structlog.get_logger()


@define(eq=False)
class House:
    """What every connection of one broker is greeted with."""

    exchange: Exchange
    ordering: str
    heartbeat_ms: int
    access: Access
    retired: RetiredPublishers = field(factory=RetiredPublishers)

    def hello(self, token: str) -> Hello:
        """What we say to an uplink."""
        core = self.exchange.core
        return Hello(VERSION, "broker", core.name, self.exchange.incarnation, self.ordering, token)

    def welcome(self, credit_bytes: int) -> Welcome:
        """What we answer."""
        core = self.exchange.core
        return Welcome(
            VERSION, core.name, self.exchange.incarnation, self.ordering, credit_bytes, self.heartbeat_ms
        )

    def objection(self, name: str, ordering: str) -> Fault | None:
        """Why a broker cannot be our neighbour, whatever links there are."""
        core = self.exchange.core
        if ordering != self.ordering:
            return fault_of(
                "ordering", f"{core.name} orders with {self.ordering!r} and {name} with {ordering!r}: set one"
            )
        if name == core.name:
            return fault_of("duplicate-name", f"both brokers are called {name!r}: names are unique")
        return None

    def window(self, sizing: Sizing, session_grant: "_Late") -> Window:
        """The credit of a new connection; `session_grant` is called when bytes come back."""
        return Window(sizing, session_grant, DEFAULT_LIMITS.publication_frame_bytes)


@define(eq=False)
class _Late:
    """Calls `grant` of a session that is made after its window."""

    session: ClientSession | LinkSession | None = None

    def __call__(self) -> None:
        if self.session is not None:
            self.session.grant()


def open_link(
    house: House, connection: Connection, name: str, incarnation: str, watcher: LinkWatcher | None
) -> LinkSession:
    """Make the session of a link whose ends have greeted each other."""
    late = _Late()
    window = house.window(LinkSize(), late)
    window.join()
    if watcher is None:
        connection.send(encode(house.welcome(window.first())))
        connection.decoder.welcomed()
    hop = house.exchange.core.open_link(name, uplink=watcher is not None)
    session = LinkSession(name, incarnation, hop, window, connection, house.exchange, watcher)
    late.session = session
    connection.session = session
    session.grant()
    _log.info("link open", neighbour=name, peer=connection.peer, uplink=session.is_uplink)
    house.exchange.settle()
    return session


def open_client(house: House, connection: Connection, name: str, user: User) -> None:
    """Make the session of a client that has been let in."""
    late = _Late()
    window = house.window(house.exchange.share, late)
    connection.send(encode(house.welcome(window.first())))
    connection.decoder.welcomed()
    late.session = ClientSession(name, user, window, connection, house.exchange, house.retired)
    connection.session = late.session
    _log.info("client came", client=name, peer=connection.peer, user=user.name)


@define(eq=False)
class Callee:
    """The session of a connection that somebody dialled to us, until it has been answered."""

    house: House
    connection: Connection
    certificates: Sequence[str]
    _nursery: trio.Nursery

    def handle(self, messages: Sequence[object]) -> None:
        """Answer the Hello, unless the peer has left again in the same breath."""
        for message in messages[-1:]:
            match message:
                case Hello(role="client"):
                    self._greet_client(message)
                case Hello(role="broker"):
                    self._greet_broker(message)
                case Hello(role=role):
                    self._refuse(fault_of("unexpected", f"role {role!r} is neither client nor broker"))
                case Fault(code=code, text=text):
                    self.connection.end(f"said {code}: {text}")
                case _:
                    raise AssertionError(f"the decoder let {message!r} through before a welcome")

    def _refuse(self, fault: Fault) -> None:
        self.house.exchange.totals.refused += 1
        _log.warning("connection refused", peer=self.connection.peer, code=fault.code, text=fault.text)
        self.connection.end(f"{fault.code}: {fault.text}", fault)

    def _identify(self, hello: Hello) -> User | None:
        """Who the peer is, or None after it has been refused."""
        if self.house.exchange.is_closing:
            self._refuse(fault_of("closing", "the broker is shutting down"))
            return None
        if not hello.name or len(hello.name.encode()) > NAME_BYTES_MAX or not hello.name.isprintable():
            self._refuse(fault_of("name", f"a name is 1 to {NAME_BYTES_MAX} bytes of printable text"))
            return None
        user = self.house.access.identify(hello.role, hello.token, self.certificates)
        if user is None:
            self._refuse(
                fault_of("auth", f"no user with this token or certificate may connect as a {hello.role}")
            )
        return user

    def _greet_client(self, hello: Hello) -> None:
        user = self._identify(hello)
        if user is not None:
            open_client(self.house, self.connection, hello.name, user)

    def _greet_broker(self, hello: Hello) -> None:
        if self._identify(hello) is None:
            return
        fault = self.house.objection(hello.name, hello.ordering)
        known = self.house.exchange.links.get(hello.name)
        if fault is not None:
            self._refuse(fault)
        elif known is None:
            open_link(self.house, self.connection, hello.name, hello.incarnation, None)
        else:
            self._nursery.start_soon(self._settle_name, hello, known)

    async def _settle_name(self, hello: Hello, known: Link) -> None:
        """Somebody of a neighbour's name came: find out which of the two is to stay."""
        is_same_run = known.incarnation == hello.incarnation
        if is_same_run and known.is_uplink:
            self._refuse(
                fault_of(
                    "second-path",
                    f"{hello.name} is the uplink of {known.connection.peer}: it cannot be below too",
                )
            )
            return
        if not is_same_run and await _is_alive(known.connection):
            self._refuse(
                fault_of(
                    "duplicate-name", f"another broker called {hello.name!r} is a neighbour: names are unique"
                )
            )
            return
        if self.connection.is_ended:
            return
        if self.house.exchange.links.get(hello.name) is known:
            known.connection.end_now(f"{hello.name} has come back on another connection")
        if hello.name in self.house.exchange.links:
            self._refuse(fault_of("busy", f"several connections claim to be {hello.name}: try again"))
        else:
            open_link(self.house, self.connection, hello.name, hello.incarnation, None)

    def pump(self) -> None:
        """Nothing waits on this connection."""

    def grant(self) -> None:
        """There is no credit before the welcome."""

    def lost(self, reason: str) -> None:
        """Nothing was opened."""
        _log.debug("connection ended before its greeting", peer=self.connection.peer, reason=reason)


async def _is_alive(connection: Connection) -> bool:
    """Whether anything comes in answer to a ping."""
    seen_bytes = connection.read_bytes
    connection.send(encode(Ping(0)))
    with trio.move_on_after(PROBE_S):
        while connection.read_bytes == seen_bytes and not connection.is_ended:  # noqa: ASYNC110 - this is rare
            await trio.sleep(PROBE_S / 20)
    return connection.read_bytes != seen_bytes and not connection.is_ended


@define(eq=False)
class Dialled:
    """The session of a connection that we dialled to an uplink, until it has been answered."""

    house: House
    connection: Connection
    watcher: LinkWatcher

    def handle(self, messages: Sequence[object]) -> None:
        """Become the link if we are welcome; what came right behind the welcome is the link's already."""
        for place, message in enumerate(messages):
            match message:
                case Welcome():
                    self._welcomed(message)
                    session = self.connection.session
                    if session is not None and session is not self:
                        session.handle(messages[place + 1 :])
                    return
                case Fault(code=code, text=text):
                    self._refused(code, text)
                case _:
                    raise AssertionError(f"the decoder let {message!r} through before a welcome")

    def _welcomed(self, welcome: Welcome) -> None:
        fault = self.house.objection(welcome.name, welcome.ordering)
        if fault is None and welcome.name in self.house.exchange.links:
            fault = fault_of(
                "second-path", f"{welcome.name} is a neighbour already: it cannot be the uplink too"
            )
        if fault is not None:
            self.connection.end(f"{fault.code}: {fault.text}", fault)
            self.watcher.refused(fault.code, fault.text)
            return
        session = open_link(self.house, self.connection, welcome.name, welcome.incarnation, self.watcher)
        session.queue.credit_bytes = welcome.credit_bytes

    def _refused(self, code: str, text: str) -> None:
        self.connection.end(f"{code}: {text}")
        self.watcher.refused(code, text)

    def pump(self) -> None:
        """Nothing waits on this connection."""

    def grant(self) -> None:
        """There is no credit before the welcome."""

    def lost(self, reason: str) -> None:
        """Nothing was opened."""
        _log.debug("connection ended before its welcome", peer=self.connection.peer, reason=reason)
