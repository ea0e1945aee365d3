"""A node driven by hand: inputs at times of the test's choice, and what it answers, as messages."""

from collections import deque
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from attrs import Factory, define, field

from broker.messages import Hello, Welcome
from broker.node import (
    Accepted,
    Close,
    Dial,
    Effects,
    Gone,
    Input,
    Node,
    NodeConfig,
    Pass,
    Received,
    Started,
    Synced,
    Tick,
    Write,
    Written,
)
from broker.node.effects import LogLine
from broker.station import Station
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, Peer, encode
from ordering.plugins import load

T = TypeVar("T")


@define(eq=False)
class Wire:
    """The other end of a connection; with `reads` false nothing is taken from the node."""

    number: int
    decoder: Decoder
    reads: bool = True
    is_ended: bool = False
    is_paused: bool = False
    pending: deque[Write] = Factory(deque)
    messages: list[object] = Factory(list)
    sent: bytearray = Factory(bytearray)

    def take(self, content: bytes) -> None:
        self.sent += content
        self.messages += self.decoder.feed(content)


@define(eq=False)
class Driven:
    """One node and everything that it asked for. Records are synced at once, unless the test does it."""

    config: NodeConfig
    syncs: bool = True
    node: Node = field(init=False)
    now_s: float = 0.0
    wires: dict[int, Wire] = Factory(dict)
    dials: list[Dial] = Factory(list)
    ends: list[Close] = Factory(list)
    logs: list[LogLine] = Factory(list)
    records: list[bytes] = Factory(list)
    is_settled: bool = False
    is_stopped: bool = False
    failure: Exception | None = None
    _numbers: int = 0

    def __attrs_post_init__(self) -> None:
        station = Station(self.config.name, load("pairwise"), "1")
        self.node = Node(station, self.config, Random(1), lambda: "token")

    def step(self, content: Input) -> Effects:
        """One input, and everything that follows from carrying out what it asks for."""
        effects = self.node.step(content, self.now_s)
        due = self.node.exchange.core.take()
        assert (due.outgoing, due.has_news) == ([], False), "what the core decided is carried out at once"
        self._carry_out(effects)
        return effects

    def _carry_out(self, effects: Effects) -> None:
        self.records += effects.records
        self.dials += effects.dials
        self.ends += effects.ends
        self.logs += effects.logs
        self.is_settled |= effects.is_settled
        self.is_stopped |= effects.is_stopped
        self.failure = self.failure or effects.failure
        for number in effects.pauses:
            self.wires[number].is_paused = True
        for number in effects.resumes:
            self.wires[number].is_paused = False
        for write in effects.writes:
            self.wires[write.connection].pending.append(write)
        self.flush()
        for end in effects.ends:
            self.wires[end.connection].is_ended = True
        if effects.records and self.syncs:
            self.step(Synced(len(self.records)))
        if effects.wants_pass:
            self.step(Pass())

    def flush(self) -> None:
        """Let the clients that read take what was written."""
        for wire in self.wires.values():
            while wire.reads and wire.pending:
                wire.take(wire.pending.popleft().content)
                self.step(Written((wire.number,)))

    def start(self) -> "Driven":
        self.step(Started("", 0))
        return self

    def at(self, now_s: float) -> None:
        """Let time pass, with a tick whenever the node wants one."""
        while (due_s := self.node.next_deadline_s) <= now_s:
            self.now_s = max(self.now_s, due_s)
            self.step(Tick(0))
        self.now_s = now_s

    def catch_up(self) -> None:
        """Let it handle everything for which a step had no time."""
        self.at(self.now_s)

    def accept(
        self, peer: Peer = Peer.SERVER, certificates: tuple[str, ...] = (), address: str = "peer"
    ) -> Wire:
        self._numbers += 1
        wire = self.wires[self._numbers] = Wire(self._numbers, Decoder(DEFAULT_LIMITS, peer))
        self.step(Accepted(wire.number, f"{address}:{wire.number}", certificates))
        return wire

    def client(self, name: str = "alice", token: str = "") -> Wire:
        """A client that has been welcomed."""
        wire = self.accept()
        self.say(wire, encode(Hello(VERSION, "client", name, "1", "", token)))
        if not self.node.context.is_ready:
            self.at(self.now_s + 1)
        self.sync()
        assert isinstance(wire.messages.pop(0), Welcome)
        return wire

    def sync(self) -> None:
        """Everything that was recorded is on disk."""
        if self.records:
            self.step(Synced(len(self.records)))

    def neighbour(self, name: str = "B2", incarnation: str = "1", session: str = "") -> Wire:
        """A broker that dialled us."""
        wire = self.accept(Peer.UPLINK)
        hello = Hello(VERSION, "broker", name, incarnation, self.config.manner, "", session)
        self.say(wire, encode(hello))
        return wire

    def say(self, wire: Wire, *frames: bytes) -> Effects:
        return self.step(Received(wire.number, b"".join(frames)))

    def lose(self, wire: Wire, reason: str = "broken") -> None:
        self.step(Gone(wire.number, reason))

    def frames_sent(self, wire: Wire, kind: type[T]) -> list[T]:
        """The messages of a kind, those that were asked for before left out."""
        found = [each for each in wire.messages if isinstance(each, kind)]
        wire.messages = [each for each in wire.messages if not isinstance(each, kind)]
        return found


def driven(name: str = "B1", *, syncs: bool = True, **options: object) -> Driven:
    """A node that has started."""
    return Driven(NodeConfig(name=name, **options), syncs=syncs).start()  # type: ignore[arg-type] # as given


def kinds(messages: Sequence[object]) -> list[str]:
    return [type(each).__name__ for each in messages]
