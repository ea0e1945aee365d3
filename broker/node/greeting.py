"""The greeting of a connection: who the peer is, whether it is admitted, and which session it gets.

Laws:

1. The peer that dials sends Hello; the answer is Welcome, or a Fault with the reason. The codes of refusals
   are for programs: "version", "auth", "ordering", "duplicate-name", "second-path", "name", "closing",
   "elsewhere".
2. A broker that names the session of its link resumes it, whether the old connection is known to be broken
   or not: the old connection is ended before either end states how much it has received.
3. The name of a neighbour is unique. If the neighbour of that name is another run of it, or does not answer a
   ping any more, the old link is closed.
4. Only the greeting happens before Welcome; the core learns of a neighbour after it.
5. Clients are welcome when the broker is settled: a subscription at a broker that is about to be attached
   would miss the events published elsewhere meanwhile, without a gap. An attachment in the journal counts as
   an attachment: then no client waits.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from attrs import define, field

from broker.healing.roster import BROKERS_MAX
from broker.messages import Fault, Hello, Ping, ReturnAddress, Welcome
from broker.node.access import User
from broker.node.budget import Resource
from broker.node.clients import ClientSession
from broker.node.config import NodeConfig
from broker.node.connection import Connection, Life, fault_of
from broker.node.credit import CreditWindow, LinkSize, Sizing
from broker.node.exchange import Exchange
from broker.node.links import LinkSession, LinkWatcher
from broker.node.timers import Timer
from broker.station import LinkState
from broker.transitions import Transitions, follow
from broker.wire import DEFAULT_LIMITS, VERSION, encode

NAME_BYTES_MAX: Final = 200
"""A publisher's id holds a client's name, a broker's name and two counters, and has to fit its limit."""

PROBE_S: Final = 1.0
"""How long a neighbour gets to answer a ping when another broker greets with its name: much longer than a
busy broker needs, and the other broker waits for it."""

FINAL_REFUSALS: Final = frozenset(
    {"auth", "cycle", "duplicate", "duplicate-name", "name", "ordering", "second-path", "version"}
)
"""Refusals that remain until a setting is changed."""

SETTLE_S: Final = 1.0
"""How long a starting broker waits for its uplink before it is ready, and a client with it:
attaching takes some milliseconds, and a broker whose uplink hangs serves its own clients all the same."""


@define(eq=False)
class GreetingContext:
    """The state of one broker that all its greetings share. `token` makes ids that cannot be guessed."""

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
        """The link to the parent, if one is open."""
        beside = self.beside
        return next((each for each in self._uplinks() if each is not beside), None)

    @property
    def beside(self) -> LinkSession | None:
        """The link that is to take the place of the uplink's in a step, if one is open."""
        hop = self.exchange.core.steps.beside
        return next((each for each in self._uplinks() if each.hop is hop), None)

    def _uplinks(self) -> list[LinkSession]:
        return [each for each in self.links.values() if each.is_uplink and not each.is_closed]

    def neighbour(self, name: str) -> LinkSession | None:
        """Return the open link to the broker of that name."""
        link = self.links.get(name)
        if link is not None and link.is_closed:
            del self.links[name]
            link = None
        return link

    # --- settling (law 5) ---

    @property
    def is_settled(self) -> bool:
        """Whether clients are welcome: no attachment is at hand, or the journal has kept its link (law 5)."""
        return self.is_ready or self.exchange.core.uplink is not None

    def begin(self) -> None:
        """Wait for the uplink for at most `SETTLE_S`."""
        self.exchange.timers.after(SETTLE_S, self.settle)

    def settle(self) -> None:
        """Welcome clients: the broker is attached, a first round has failed, or `SETTLE_S` have passed."""
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
        """Return the Hello for an uplink."""
        session, received = ("", 0) if resuming is None else (resuming.state.session, resuming.state.received)
        incarnation = self.exchange.station.incarnation
        manner, token = self.config.manner, self.config.token
        return Hello(VERSION, "broker", self.name, incarnation, manner, token, session, received)

    def welcome(self, credit_bytes: int, session: str = "", received: int = 0) -> Welcome:
        """Return the Welcome for a peer."""
        incarnation = self.exchange.station.incarnation
        manner = self.config.manner
        return Welcome(
            VERSION, self.name, incarnation, manner, credit_bytes, self.heartbeat_ms, session, received
        )

    def objection(self, name: str, manner: str) -> Fault | None:
        """Return why a broker cannot be our neighbour, whatever links there are."""
        if manner != self.config.manner:
            text = difference(self.name, self.config.manner, name, manner)
            return fault_of("ordering", text)
        if name == self.name:
            return fault_of("duplicate-name", f"both brokers are called {name!r}: names are unique")
        return None

    @staticmethod
    def window(sizing: Sizing) -> CreditWindow:
        """Return the credit window of a new connection."""
        return CreditWindow(sizing, DEFAULT_LIMITS.publication_frame_bytes)


def difference(ours: str, our_manner: str, theirs: str, their_manner: str) -> str:
    """Return the settings in which two brokers differ and must not; a manner is settings joined by ", "."""
    mine, other = our_manner.split(", "), their_manner.split(", ")
    differing = [
        f"{ours} has {one!r} and {theirs} has {two!r}"
        for one, two in zip(mine, other, strict=False)
        if one != two
    ]
    if len(mine) != len(other) or not differing:
        differing = [f"{ours} has {our_manner!r} and {theirs} has {their_manner!r}"]
    return f"neighbours must share these settings: {'; '.join(differing)}: set one"


def link_of(context: GreetingContext, state: LinkState, incarnation: str = "") -> LinkSession:
    """Make the session of a link that the station knows; it has no connection yet."""
    window = context.window(LinkSize())
    window.join()
    window.session = link = LinkSession(
        state, incarnation, window, context.exchange, context.config.link_timeout_s
    )
    context.links[state.name] = link
    return link


def _open_lower_link(context: GreetingContext, connection: Connection, hello: Hello) -> None:
    """Open a link, with a new session, to a broker that dialled us."""
    session = context.mint_session()
    context.exchange.station.open_link(hello.name, session, uplink=False)
    link = link_of(context, context.exchange.station.links[hello.name], hello.incarnation)
    context.exchange.log.info("link open", neighbour=hello.name, peer=connection.peer, uplink=False)
    _admit(context, connection, link, 0)


def _admit(context: GreetingContext, connection: Connection, link: LinkSession, received: int) -> None:
    """Welcome a broker that dialled us, and resume the link behind the frames that it has received."""
    state = link.state
    connection.send(encode(context.welcome(link.window.first(), state.session, state.received)))
    connection.decoder.welcomed()
    connection.enter(Life.SERVING)
    link.attach(connection, received, 0)
    context.exchange.settle()


def _open_uplink(
    context: GreetingContext, connection: Connection, welcome: Welcome, watcher: LinkWatcher
) -> None:
    """Open a link to a broker that we dialled."""
    context.exchange.station.open_link(welcome.name, welcome.session, uplink=True)
    link = link_of(context, context.exchange.station.links[welcome.name], welcome.incarnation)
    link.watcher = watcher
    connection.enter(Life.SERVING)
    context.exchange.log.info("link open", neighbour=welcome.name, peer=connection.peer, uplink=True)
    link.attach(connection, 0, welcome.credit_bytes)
    context.exchange.settle()


def open_client(context: GreetingContext, connection: Connection, hello: Hello, user: User) -> None:
    """Make the session of a client that has been admitted."""
    window = context.window(context.exchange.share)
    connection.send(encode(context.welcome(window.first())))
    own = context.exchange.core.roster.own
    if context.config.shares_address and own is not None and own.address:
        connection.send(encode(ReturnAddress(own.address)))
    connection.decoder.welcomed()
    connection.enter(Life.SERVING)
    connection.session = window.session = ClientSession(
        hello.name, user, window, connection, context.exchange, context.config.link_timeout_s
    )
    connection.is_client, connection.incarnation = True, hello.incarnation
    context.exchange.log.info("client came", client=hello.name, peer=connection.peer, user=user.name)


class Greeting(Enum):
    """The states of the greeting of a peer that dialled us."""

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
    """The session of a connection that a peer dialled to us, until its greeting is answered."""

    context: GreetingContext
    connection: Connection
    greeting: Greeting = Greeting.HELLO
    _probe: Timer | None = None

    def handle(self, messages: Sequence[object]) -> int:
        """Answer the Hello, unless a Fault of the peer follows it at once."""
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
        self.context.exchange.totals.refused += 1
        self.context.exchange.log.warning(
            "connection refused", peer=self.connection.peer, code=fault.code, text=fault.text
        )
        self.connection.end(f"{fault.code}: {fault.text}", fault)

    def _identify(self, hello: Hello) -> User | None:
        """Return the user of the peer, or None after refusing the peer."""
        if self.context.exchange.is_closing:
            self._refuse(fault_of("closing", "the broker is shutting down"))
            return None
        if not hello.name or len(hello.name.encode()) > NAME_BYTES_MAX or not hello.name.isprintable():
            self._refuse(fault_of("name", f"a name is 1 to {NAME_BYTES_MAX} bytes of printable text"))
            return None
        user = self.context.config.access.identify(hello.role, hello.token, self.connection.certificates)
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
        self.context.when_settled(lambda: self._open_client(hello, user))

    def _open_client(self, hello: Hello, user: User) -> None:
        if self.connection.is_ended or self.greeting is not Greeting.SETTLING:
            return
        if self.context.exchange.is_closing:
            self._refuse(fault_of("closing", "the broker is shutting down"))
            return
        if refusal := self.context.exchange.budgets.user(user.name).refusal(Resource.CONNECTIONS):
            self._refuse(fault_of("busy", refusal))
            return
        self._enter(Greeting.DONE)
        open_client(self.context, self.connection, hello, user)

    def _greet_broker(self, hello: Hello) -> None:
        user = self._identify(hello)
        if user is None:
            return
        fault = self.context.objection(hello.name, hello.ordering) or self._theft(hello.name, user)
        known = self.context.neighbour(hello.name)
        if fault is not None:
            self._refuse(fault)
        elif hello.session and not self.context.is_ours(hello.session):
            self._refuse(
                fault_of("elsewhere", f"this is {self.context.name}, and the link is to another broker")
            )
        elif known is None:
            self._open_link(hello)
        elif known.can_resume(hello.session, hello.received) and not known.is_uplink:
            self._resume(hello, known)
        else:
            self._settle_name(hello, known)

    def _theft(self, name: str, user: User) -> Fault | None:
        """Return why this user cannot be the broker of that name: it belongs to another user."""
        owners = self.context.owners
        if not user.name or owners.setdefault(name, user.name) == user.name:
            if len(owners) > BROKERS_MAX:
                del owners[next(iter(owners))]
            return None
        return fault_of("auth", f"the broker {name!r} belongs to another user than {user.name!r}")

    def _open_link(self, hello: Hello) -> None:
        self._enter(Greeting.DONE)
        _open_lower_link(self.context, self.connection, hello)

    def _resume(self, hello: Hello, known: LinkSession) -> None:
        """Resume the link of a neighbour on this connection, after ending its old one."""
        known.let_go(f"{hello.name} has come back on another connection")
        if known.is_closed:
            self._open_link(hello)
            return
        self._enter(Greeting.DONE)
        self.context.exchange.log.info(
            "link resumed", neighbour=hello.name, peer=self.connection.peer, uplink=False
        )
        _admit(self.context, self.connection, known, hello.received)

    def _settle_name(self, hello: Hello, known: LinkSession) -> None:
        """Find out which of two brokers with the name of a neighbour is to stay."""
        is_same_run = known.incarnation == hello.incarnation
        if is_same_run and known.is_uplink:
            text = f"{hello.name} is the uplink of {self.context.name}: it cannot be below too"
            self._refuse(fault_of("second-path", text))
        elif known.connection is not None:
            self._begin_probe(hello, known.connection)
        else:
            self._replace(hello, known)

    def _begin_probe(self, hello: Hello, connection: Connection) -> None:
        """Ping the neighbour, and look for an answer after `PROBE_S`."""
        self._enter(Greeting.PROBING)
        connection.send(encode(Ping(0)))
        seen_bytes = connection.read_bytes
        self._probe = self.context.exchange.timers.after(
            PROBE_S, lambda: self._probed(hello, connection, seen_bytes)
        )

    def _probed(self, hello: Hello, connection: Connection, seen_bytes: int) -> None:
        """Keep the neighbour if it has sent something since the ping, and replace it otherwise."""
        if self.connection.is_ended:
            return
        if connection.read_bytes != seen_bytes and not connection.is_ended:
            text = f"another broker called {hello.name!r} is a neighbour: names are unique"
            self._refuse(fault_of("duplicate-name", text))
        else:
            self._replace(hello, self.context.neighbour(hello.name))

    def _replace(self, hello: Hello, known: LinkSession | None) -> None:
        """Close the old link and open a new one, unless a third connection of that name came first."""
        if known is not None and self.context.neighbour(hello.name) is known:
            known.let_go(f"{hello.name} has come back on another connection")
            known.close(f"{hello.name} has come back without it")
        if self.context.neighbour(hello.name) is not None:
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
        self.context.exchange.log.debug(
            "connection ended before its greeting", peer=self.connection.peer, reason=reason
        )


@define(eq=False)
class Dialled:
    """The session of a connection that we dialled to an uplink, until it has been answered."""

    context: GreetingContext
    connection: Connection
    watcher: LinkWatcher
    resuming: LinkSession | None = None

    def handle(self, messages: Sequence[object]) -> int:
        """Open or resume the link after a Welcome; messages behind the Welcome belong to the link."""
        for index, message in enumerate(messages):
            match message:
                case Welcome():
                    self._welcomed(message)
                    session = self.connection.session
                    if session is not None and session is not self:
                        return index + 1 + session.handle(messages[index + 1 :])
                    break
                case Fault(code=code, text=text):
                    self._refused(code, text)
                case _:
                    raise AssertionError(f"the decoder let {message!r} through before a welcome")
        return len(messages)

    def _welcomed(self, welcome: Welcome) -> None:
        fault = self.context.objection(welcome.name, welcome.ordering)
        resuming = self.resuming
        if fault is None and resuming is not None and welcome.session == resuming.state.session:
            self._resume(welcome, resuming)
            return
        if resuming is not None:
            resuming.close(f"{welcome.name} does not know it any more")
        if fault is None and self.context.neighbour(welcome.name) is not None:
            fault = fault_of(
                "second-path", f"{welcome.name} is a neighbour already: it cannot be the uplink too"
            )
        if fault is None and not self.watcher.is_wanted:
            fault = fault_of("busy", f"{self.context.name} has no use for the link any more")
        if fault is not None:
            self._refuse(fault)
        else:
            _open_uplink(self.context, self.connection, welcome, self.watcher)

    def _resume(self, welcome: Welcome, link: LinkSession) -> None:
        """Resume the link with the other end, unless it was closed while the answer was on its way."""
        if link.is_closed or not link.can_resume(welcome.session, welcome.received):
            link.close(f"{welcome.name} counts differently")
            self._refuse(fault_of("lost", f"the link to {welcome.name} was given up"))
            return
        link.watcher = self.watcher
        link.incarnation = welcome.incarnation
        link.window.renew()
        self.connection.enter(Life.SERVING)
        self.context.exchange.log.info(
            "link resumed", neighbour=welcome.name, peer=self.connection.peer, uplink=True
        )
        link.attach(self.connection, welcome.received, welcome.credit_bytes)
        if self.context.exchange.core.attached(link.hop):
            self.watcher.attached()
        self.context.exchange.settle()

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
        self.context.exchange.log.debug(
            "connection ended before its welcome", peer=self.connection.peer, reason=reason
        )
