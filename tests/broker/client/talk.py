"""A client's machine, and the broker at its other end: bytes and times pass between them, without I/O."""

from random import Random

import attrs

from broker import messages as m
from broker.backoff import Backoff
from broker.client.inbox import Inbox
from broker.client.life import ClientLife, StateChange, Wants
from broker.client.limits import Limits
from broker.client.machine import ClientMachine
from broker.client.session import Session
from broker.client.window import Source
from broker.wire import DEFAULT_LIMITS, Decoder, Peer, encode, encode_publication
from tests.broker.client.scripted import ADDRESS, welcome

BEGUN_S = 1000.0
"""Clocks begin anywhere, so tests do not begin at 0."""


def subscription(limits: Limits | None = None, durable: str = "", after: int | None = None) -> Inbox:
    return Inbox(
        "True",
        ordered=True,
        bound_bytes=10,
        policy="drop",
        limits=limits or Limits(),
        durable=durable,
        after=after,
    )


class Talk:
    """The shell of a machine in which time passes as the test says, and a broker that says what it wants."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        retry: bool = False,
        seed: int = 1,
        others: tuple[str, ...] = (),
    ) -> None:
        self.limits = limits or Limits()
        session = Session("alice", "i0", "secret", self.limits)
        self.machine = ClientMachine(session, ADDRESS, Backoff(Random(seed)), others)
        self.session = session
        self.now_s = BEGUN_S
        self.decoder = Decoder(DEFAULT_LIMITS, Peer.DIALLER)
        self.machine.start(self.now_s, retry=retry)

    # --- the shell ---

    def wants(self) -> Wants:
        return self.machine.wants

    def life(self) -> ClientLife:
        return self.machine.life

    def open(self) -> None:
        """Open the transport that the machine wants."""
        assert self.wants() is Wants.DIAL
        self.machine.dialling(self.now_s)
        self.machine.connected(self.now_s)
        self.decoder = Decoder(DEFAULT_LIMITS, Peer.DIALLER)

    def refuse(self) -> None:
        """Fail to open the transport that the machine wants."""
        assert self.wants() is Wants.DIAL
        self.machine.dialling(self.now_s)
        self.machine.connect_failed("connection refused", self.now_s)

    def close(self) -> None:
        """Close the transport that the machine wants no more."""
        assert self.wants() is Wants.CLOSE
        self.machine.lost(None, self.now_s)
        assert self.wants() is not Wants.CLOSE

    def lose(self) -> None:
        """Break the connection."""
        self.machine.lost("broken pipe", self.now_s)

    def frames_sent(self) -> list[object]:
        """What the client says now; it is written at once."""
        messages = self.decoder.feed(self.machine.take_output())
        self.machine.written(self.now_s)
        return messages

    def pass_s(self, seconds: float) -> None:
        """Let time pass, and wake the machine whenever it wanted to be woken, and then only."""
        end_s = self.now_s + seconds
        while (deadline_s := self.machine.next_deadline()) <= end_s:
            self.now_s = max(self.now_s, deadline_s)
            self.machine.tick(self.now_s)
            assert self.machine.next_deadline() > self.now_s, "it wants to be woken for ever"
        self.now_s = end_s

    def pass_to_deadline(self) -> float:
        """Let time pass until the machine wants to be woken; return how long that was."""
        began_s = self.now_s
        self.pass_s(self.machine.next_deadline() - began_s)
        return self.now_s - began_s

    @property
    def changes(self) -> list[StateChange]:
        """What was to be reported since last time."""
        found, self.machine.changes = self.machine.changes, []
        return found

    @property
    def states(self) -> list[str]:
        """The states that were to be reported since last time."""
        return [change.state for change in self.changes]

    # --- the broker ---

    def connect(self) -> None:
        """Make a connection, as soon as the machine wants one, and answer."""
        while self.wants() is not Wants.DIAL:
            self.pass_to_deadline()
        self.open()
        assert isinstance(self.frames_sent()[0], m.Hello)
        self.decoder.welcomed()
        self.say(welcome())

    def reconnect(self) -> None:
        """Break the connection and make another."""
        self.lose()
        self.connect()

    def say(self, *messages: attrs.AttrsInstance | bytes) -> None:
        frames = [each if isinstance(each, bytes) else encode(each) for each in messages]
        self.machine.received(b"".join(frames), self.now_s)

    def publisher(self, id_: str = "alice@B1/1", filter_: str = "True") -> Source:
        source = self.session.advertise(filter_)
        (asked,) = self.frames_sent()
        assert isinstance(asked, m.Advertise)
        self.say(m.Advertised(asked.number, id_, 0))
        return source

    def publish(self, source: Source, count: int = 1) -> None:
        for _ in range(count):
            frame = encode_publication(source.prefix, source.sequence + 1, 0, {}, b"", True)
            self.session.window.append(source, frame)

    def subscription(self) -> Inbox:
        inbox = subscription(self.limits)
        self.session.subscribe(inbox, self.now_s)
        (asked,) = self.frames_sent()
        assert isinstance(asked, m.Subscribe)
        self.say(
            m.Placed(asked.number, f"alice@B1/{asked.number}", 0, goes_on=False), m.Subscribed(asked.number)
        )
        return inbox


def connected(limits: Limits | None = None) -> Talk:
    """A client that the broker has welcomed."""
    made = Talk(limits)
    made.connect()
    return made


def sequences(messages: list[object]) -> list[tuple[str, int]]:
    return [(each.publisher, each.sequence) for each in messages if isinstance(each, m.Publication)]
