"""The first words on a connection: who the peer is, whether it may come in, and what it becomes.

Laws:

1. Whoever dials says Hello; the answer is Welcome, or a Fault that says why not. A refusal has a word for
   programs: "version", "auth", "ordering", "duplicate-name", "second-path", "name", "closing", "elsewhere".
2. A broker that names the session of its link resumes it, whether the old connection is known to be broken
   or not: that one is cut off before anybody says how much was received.
3. A broker's name is there once among our neighbours. If the neighbour of that name is another run of it, or
   does not answer a ping any more, it is the old link that goes.
4. Greeting is all that happens before Welcome; the core hears of a neighbour only after it.
5. Clients are welcome when the broker is settled: a subscription at one that is about to be attached would
   begin without what is published elsewhere meanwhile, and nothing would tell. What a journal has kept of an
   attachment is as good as the attachment: then nobody waits.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from attrs import define, field

from broker.healing.roster import BROKERS_MAX
from broker.messages import Fault, Hello, Ping, Welcome
from broker.node.access import User
from broker.node.budget import Resource
from broker.node.clients import ClientSession
from broker.node.config import NodeConfig
from broker.node.connection import Connection, Life, fault_of
from broker.node.credit import CreditWindow, LinkSize, Sizing
from broker.node.exchange import Exchange
from broker.node.links import LinkSession, LinkWatcher
from broker.node.timers import Timer
from broker.station import LinkPlace
from broker.transitions import Transitions, follow
from broker.wire import DEFAULT_LIMITS, VERSION, encode

__all__ = [
    "FINAL_REFUSALS",
    "NAME_BYTES_MAX",
    "SETTLE_S",
    "Callee",
    "Dialled",
    "Greeting",
    "House",
    "difference",
    "link_of",
    "open_client",
]

NAME_BYTES_MAX: Final = 200
"""A publisher's id holds a client's name, a broker's name and two counters, and has to fit its limit."""

PROBE_S: Final = 1.0
"""How long a neighbour gets to answer a ping when another broker comes with its name: much longer than a busy
broker needs, and the newcomer waits for it."""

FINAL_REFUSALS: Final = frozenset(
    {"auth", "cycle", "duplicate", "duplicate-name", "name", "ordering", "second-path", "version"}
)
"""Refusals that trying again does not change: somebody has to change a setting."""

SETTLE_S: Final = 1.0
"""How long a starting broker waits for its uplink before it says that it is ready, and a client for that:
attaching takes some milliseconds, and a broker whose uplink hangs serves its own clients all the same."""


@define(eq=False)
class House:
    """What every connection of one broker is greeted with. `token` makes ids that nobody guesses."""

    exchange: Exchange
    config: NodeConfig
    heartbeat_ms: int
    _token: Callable[[], str]
    links: dict[str, LinkSession] = field(factory=dict, init=False)
    is_ready: bool = field(default=False, init=False)
    owners: dict[str, str] = field(factory=dict, init=False)
    """The user that first took the name of each neighbour, where users are known."""
    _waiting: list[Callable[[], None]] = field(factory=list, init=False)

    @property
    def name(self) -> str:
        """The name of this broker."""
        return self.exchange.station.name

    @property
    def uplink(self) -> LinkSession | None:
        """The link to the broker above, if one is open."""
        return next((each for each in self.links.values() if each.is_uplink and not each.is_closed), None)

    def neighbour(self, name: str) -> LinkSession | None:
        """The open link to the broker of that name."""
        link = self.links.get(name)
        if link is not None and link.is_closed:
            del self.links[name]
            link = None
        return link

    # --- settling (law 5) ---

    @property
    def is_settled(self) -> bool:
        """Whether clients get what they ask for: no attachment is at hand, or its link is kept (law 5)."""
        return self.is_ready or self.exchange.core.uplink is not None

    def begin(self) -> None:
        """Wait for the uplink, but not for long."""
        self.exchange.timers.after(SETTLE_S, self.settle)

    def settle(self) -> None:
        """The broker is attached, or a first round has failed, or enough was waited for it."""
        if not self.is_ready:
            self.is_ready = True
            waiting, self._waiting = self._waiting, []
            for call in waiting:
                call()

    def when_settled(self, call: Callable[[], None]) -> None:
        """Call this as soon as clients are welcome."""
        if self.is_settled:
            call()
        else:
            self._waiting.append(call)

    # --- frames ---

    def mint_session(self) -> str:
        """Return an id for a new session; it names the broker that was dialled (`is_ours`)."""
        return f"{self.name}/{self._token()}"

    def is_ours(self, session: str) -> bool:
        """Whether a session was begun by dialling this broker, in whatever run of it."""
        return session.rpartition("/")[0] == self.name

    def hello(self, resuming: LinkSession | None = None) -> Hello:
        """What we say to an uplink."""
        session, received = ("", 0) if resuming is None else (resuming.place.session, resuming.place.received)
        incarnation = self.exchange.station.incarnation
        manner, token = self.config.manner, self.config.token
        return Hello(VERSION, "broker", self.name, incarnation, manner, token, session, received)

    def welcome(self, credit_bytes: int, session: str = "", received: int = 0) -> Welcome:
        """What we answer."""
        incarnation = self.exchange.station.incarnation
        manner = self.config.manner
        return Welcome(
            VERSION, self.name, incarnation, manner, credit_bytes, self.heartbeat_ms, session, received
        )

    def objection(self, name: str, manner: str) -> Fault | None:
        """Why a broker cannot be our neighbour, whatever links there are."""
        if manner != self.config.manner:
            text = difference(self.name, self.config.manner, name, manner)
            return fault_of("ordering", text)
        if name == self.name:
            return fault_of("duplicate-name", f"both brokers are called {name!r}: names are unique")
        return None

    @staticmethod
    def window(sizing: Sizing) -> CreditWindow:
        """The credit of a new connection."""
        return CreditWindow(sizing, DEFAULT_LIMITS.publication_frame_bytes)


def difference(ours: str, our_manner: str, theirs: str, their_manner: str) -> str:
    """Say in what two brokers differ that neighbours must share; a manner is settings joined by ", "."""
    mine, other = our_manner.split(", "), their_manner.split(", ")
    differing = [
        f"{ours} has {one!r} and {theirs} has {two!r}"
        for one, two in zip(mine, other, strict=False)
        if one != two
    ]
    if len(mine) != len(other) or not differing:
        differing = [f"{ours} has {our_manner!r} and {theirs} has {their_manner!r}"]
    return f"neighbours must share these settings: {'; '.join(differing)}: set one"


def link_of(house: House, place: LinkPlace, incarnation: str = "") -> LinkSession:
    """Make the shell's part of a link that the station knows; it has no connection yet."""
    window = house.window(LinkSize())
    window.join()
    window.session = link = LinkSession(
        place, incarnation, window, house.exchange, house.config.link_timeout_s
    )
    house.links[place.name] = link
    return link


def _open_lower_link(house: House, connection: Connection, hello: Hello) -> None:
    """Begin a link with a broker that dialled us: a new session."""
    session = house.mint_session()
    house.exchange.station.open_link(hello.name, session, uplink=False)
    link = link_of(house, house.exchange.station.links[hello.name], hello.incarnation)
    house.exchange.log.info("link open", neighbour=hello.name, peer=connection.peer, uplink=False)
    _admit(house, connection, link, 0)


def _admit(house: House, connection: Connection, link: LinkSession, received: int) -> None:
    """Answer a broker that dialled us, and carry the link over its connection behind what it has received."""
    place = link.place
    connection.send(encode(house.welcome(link.window.first(), place.session, place.received)))
    connection.decoder.welcomed()
    connection.enter(Life.SERVING)
    link.attach(connection, received, 0)
    house.exchange.settle()


def _open_uplink(house: House, connection: Connection, welcome: Welcome, watcher: LinkWatcher) -> None:
    """Begin a link with a broker that we dialled."""
    house.exchange.station.open_link(welcome.name, welcome.session, uplink=True)
    link = link_of(house, house.exchange.station.links[welcome.name], welcome.incarnation)
    link.watcher = watcher
    connection.enter(Life.SERVING)
    house.exchange.log.info("link open", neighbour=welcome.name, peer=connection.peer, uplink=True)
    link.attach(connection, 0, welcome.credit_bytes)
    house.exchange.settle()


def open_client(house: House, connection: Connection, name: str, user: User) -> None:
    """Make the session of a client that has been let in."""
    window = house.window(house.exchange.share)
    connection.send(encode(house.welcome(window.first())))
    connection.decoder.welcomed()
    connection.enter(Life.SERVING)
    connection.session = window.session = ClientSession(
        name, user, window, connection, house.exchange, house.config.link_timeout_s
    )
    connection.is_client = True
    house.exchange.log.info("client came", client=name, peer=connection.peer, user=user.name)


class Greeting(Enum):
    """How far the greeting of somebody who dialled us has come."""

    HELLO = "nothing has come"
    SETTLING = "a client waits until this broker is settled"
    PROBING = "a broker waits until it is known whether the one of its name is alive"
    DONE = "it has been answered"


TRANSITIONS: Final[Transitions[Greeting]] = {
    Greeting.HELLO: frozenset({Greeting.SETTLING, Greeting.PROBING, Greeting.DONE}),
    Greeting.SETTLING: frozenset({Greeting.DONE}),
    Greeting.PROBING: frozenset({Greeting.DONE}),
    Greeting.DONE: frozenset(),
}


@define(eq=False)
class Callee:
    """The session of a connection that somebody dialled to us, until it has been answered."""

    house: House
    connection: Connection
    greeting: Greeting = Greeting.HELLO
    _probe: Timer | None = None

    def handle(self, messages: Sequence[object]) -> int:
        """Answer the Hello, unless the peer has left again in the same breath."""
        for message in messages[-1:]:
            match message:
                case Hello(role="client"):
                    self._greet_client(message)
                case Hello(role="broker"):
                    self._greet_broker(message)
                case Fault(code=code, text=text):
                    self.connection.end(f"said {code}: {text}")
                case _:
                    raise AssertionError(f"the decoder let {message!r} through before a welcome")
        return len(messages)

    def _enter(self, greeting: Greeting) -> None:
        self.greeting = follow(TRANSITIONS, self.greeting, greeting)

    def _refuse(self, fault: Fault) -> None:
        self._enter(Greeting.DONE)
        self.house.exchange.totals.refused += 1
        self.house.exchange.log.warning(
            "connection refused", peer=self.connection.peer, code=fault.code, text=fault.text
        )
        self.connection.end(f"{fault.code}: {fault.text}", fault)

    def _identify(self, hello: Hello) -> User | None:
        """Who the peer is, or None after it has been refused."""
        if self.house.exchange.is_closing:
            self._refuse(fault_of("closing", "the broker is shutting down"))
            return None
        if not hello.name or len(hello.name.encode()) > NAME_BYTES_MAX or not hello.name.isprintable():
            self._refuse(fault_of("name", f"a name is 1 to {NAME_BYTES_MAX} bytes of printable text"))
            return None
        user = self.house.config.access.identify(hello.role, hello.token, self.connection.certificates)
        if user is None:
            self._refuse(
                fault_of("auth", f"no user with this token or certificate may connect as a {hello.role}")
            )
        return user

    def _greet_client(self, hello: Hello) -> None:
        user = self._identify(hello)
        if user is None:
            return
        self._enter(Greeting.SETTLING)
        self.house.when_settled(lambda: self._open_client(hello.name, user))

    def _open_client(self, name: str, user: User) -> None:
        if self.connection.is_ended or self.greeting is not Greeting.SETTLING:
            return
        if self.house.exchange.is_closing:
            self._refuse(fault_of("closing", "the broker is shutting down"))
            return
        if refusal := self.house.exchange.budgets.user(user.name).refusal(Resource.CONNECTIONS):
            self._refuse(fault_of("busy", refusal))
            return
        self._enter(Greeting.DONE)
        open_client(self.house, self.connection, name, user)

    def _greet_broker(self, hello: Hello) -> None:
        user = self._identify(hello)
        if user is None:
            return
        fault = self.house.objection(hello.name, hello.ordering) or self._theft(hello.name, user)
        known = self.house.neighbour(hello.name)
        if fault is not None:
            self._refuse(fault)
        elif hello.session and not self.house.is_ours(hello.session):
            self._refuse(
                fault_of("elsewhere", f"this is {self.house.name}, and the link is to another broker")
            )
        elif known is None:
            self._open_link(hello)
        elif known.can_resume(hello.session, hello.received) and not known.is_uplink:
            self._resume(hello, known)
        else:
            self._settle_name(hello, known)

    def _theft(self, name: str, user: User) -> Fault | None:
        """Why this user cannot be the broker of that name: another one was."""
        owners = self.house.owners
        if not user.name or owners.setdefault(name, user.name) == user.name:
            if len(owners) > BROKERS_MAX:
                del owners[next(iter(owners))]
            return None
        return fault_of("auth", f"the broker {name!r} belongs to another user than {user.name!r}")

    def _open_link(self, hello: Hello) -> None:
        self._enter(Greeting.DONE)
        _open_lower_link(self.house, self.connection, hello)

    def _resume(self, hello: Hello, known: LinkSession) -> None:
        """The neighbour comes back on another connection; what it had is cut off first."""
        known.let_go(f"{hello.name} has come back on another connection")
        if known.is_closed:
            self._open_link(hello)
            return
        self._enter(Greeting.DONE)
        self.house.exchange.log.info(
            "link resumed", neighbour=hello.name, peer=self.connection.peer, uplink=False
        )
        _admit(self.house, self.connection, known, hello.received)

    def _settle_name(self, hello: Hello, known: LinkSession) -> None:
        """Somebody of a neighbour's name came: find out which of the two is to stay."""
        is_same_run = known.incarnation == hello.incarnation
        if is_same_run and known.is_uplink:
            text = f"{hello.name} is the uplink of {self.house.name}: it cannot be below too"
            self._refuse(fault_of("second-path", text))
        elif known.connection is not None:
            self._begin_probe(hello, known.connection)
        else:
            self._replace(hello, known)

    def _begin_probe(self, hello: Hello, connection: Connection) -> None:
        """Ask the neighbour whether it is still there."""
        self._enter(Greeting.PROBING)
        connection.send(encode(Ping(0)))
        seen_bytes = connection.read_bytes
        self._probe = self.house.exchange.timers.after(
            PROBE_S, lambda: self._probed(hello, connection, seen_bytes)
        )

    def _probed(self, hello: Hello, connection: Connection, seen_bytes: int) -> None:
        """Enough was waited for the neighbour: whoever is alive stays."""
        if self.connection.is_ended:
            return
        if connection.read_bytes != seen_bytes and not connection.is_ended:
            text = f"another broker called {hello.name!r} is a neighbour: names are unique"
            self._refuse(fault_of("duplicate-name", text))
        else:
            self._replace(hello, self.house.neighbour(hello.name))

    def _replace(self, hello: Hello, known: LinkSession | None) -> None:
        """The old link goes; unless a third connection of that name came first."""
        if known is not None and self.house.neighbour(hello.name) is known:
            known.let_go(f"{hello.name} has come back on another connection")
            known.close(f"{hello.name} has come back without it")
        if self.house.neighbour(hello.name) is not None:
            self._refuse(fault_of("busy", f"several connections claim to be {hello.name}: try again"))
        else:
            self._open_link(hello)

    def pump(self) -> None:
        """Nothing waits on this connection."""

    def grant(self) -> None:
        """There is no credit before the welcome."""

    def lost(self, reason: str) -> None:
        """Nothing was opened."""
        if self._probe is not None:
            self._probe.cancel()
        self.house.exchange.log.debug(
            "connection ended before its greeting", peer=self.connection.peer, reason=reason
        )


@define(eq=False)
class Dialled:
    """The session of a connection that we dialled to an uplink, until it has been answered."""

    house: House
    connection: Connection
    watcher: LinkWatcher
    resuming: LinkSession | None = None

    def handle(self, messages: Sequence[object]) -> int:
        """Become the link if we are welcome; what came right behind the welcome is the link's already."""
        for place, message in enumerate(messages):
            match message:
                case Welcome():
                    self._welcomed(message)
                    session = self.connection.session
                    if session is not None and session is not self:
                        return place + 1 + session.handle(messages[place + 1 :])
                    break
                case Fault(code=code, text=text):
                    self._refused(code, text)
                case _:
                    raise AssertionError(f"the decoder let {message!r} through before a welcome")
        return len(messages)

    def _welcomed(self, welcome: Welcome) -> None:
        fault = self.house.objection(welcome.name, welcome.ordering)
        resuming = self.resuming
        if fault is None and resuming is not None and welcome.session == resuming.place.session:
            self._resume(welcome, resuming)
            return
        if resuming is not None:
            resuming.close(f"{welcome.name} does not know it any more")
        if fault is None and self.house.neighbour(welcome.name) is not None:
            fault = fault_of(
                "second-path", f"{welcome.name} is a neighbour already: it cannot be the uplink too"
            )
        if fault is not None:
            self._refuse(fault)
        else:
            _open_uplink(self.house, self.connection, welcome, self.watcher)

    def _resume(self, welcome: Welcome, link: LinkSession) -> None:
        """The other end goes on with the link; unless it was given up while the answer was on its way."""
        if link.is_closed or not link.can_resume(welcome.session, welcome.received):
            link.close(f"{welcome.name} counts differently")
            self._refuse(fault_of("lost", f"the link to {welcome.name} was given up"))
            return
        link.watcher = self.watcher
        link.incarnation = welcome.incarnation
        link.window.renew()
        self.connection.enter(Life.SERVING)
        self.house.exchange.log.info(
            "link resumed", neighbour=welcome.name, peer=self.connection.peer, uplink=True
        )
        link.attach(self.connection, welcome.received, welcome.credit_bytes)
        if self.house.exchange.core.attached(link.hop):
            self.watcher.attached()
        self.house.exchange.settle()

    def _refuse(self, fault: Fault) -> None:
        self.connection.end(f"{fault.code}: {fault.text}", fault)
        self.watcher.refused(fault.code, fault.text)

    def _refused(self, code: str, text: str) -> None:
        self.connection.end(f"{code}: {text}")
        self.watcher.refused(code, text)

    def pump(self) -> None:
        """Nothing waits on this connection."""

    def grant(self) -> None:
        """There is no credit before the welcome."""

    def lost(self, reason: str) -> None:
        """Nothing was opened."""
        self.house.exchange.log.debug(
            "connection ended before its welcome", peer=self.connection.peer, reason=reason
        )
