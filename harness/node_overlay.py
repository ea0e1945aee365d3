"""Brokers without sockets, for what is counted or timed: one call of a node after the other."""

from random import Random

from attrs import Factory, define, field

from broker.messages import Hello
from broker.node import (
    Accepted,
    Connected,
    Effects,
    Input,
    Node,
    NodeConfig,
    Pass,
    Received,
    Started,
    Tick,
    Written,
)
from broker.station import Station
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, Peer, encode
from ordering.plugins import load


@define(eq=False)
class NodeOverlay:
    """Brokers in memory without sockets: what one writes has arrived at the next at once."""

    nodes: dict[str, Node] = Factory(dict)
    received: dict[tuple[str, int], bytearray] = Factory(dict)
    now_s: float = 0.0
    _far: dict[tuple[str, int], tuple[str, int]] = Factory(dict)
    _numbers: int = 0
    _due: list[tuple[str, Input]] = field(factory=list)

    def add(self, name: str, *uplinks: str) -> None:
        """Start a broker."""
        station, config = Station(name, load("pairwise"), "1"), NodeConfig(name=name, uplinks=uplinks)
        node = Node(station, config, Random(1), str)  # noqa: S311 - it spreads attempts in time
        self.nodes[name] = node
        self.feed(name, Started(f"{name}:1", 0))

    def feed(self, name: str, content: Input) -> None:
        """Take one input, and everything that follows from it."""
        self._due.append((name, content))
        while self._due:
            name, content = self._due.pop(0)
            self._carry_out(name, self.nodes[name].step(content, self.now_s))

    def _carry_out(self, name: str, effects: Effects) -> None:
        for write in effects.writes:
            here = name, write.connection
            if (far := self._far.get(here)) is not None:
                self._due.append((far[0], Received(far[1], write.content)))
            else:
                self.received[here] += write.content
            self._due.append((name, Written((write.connection,))))
        for dial in effects.dials:
            number = self._next()
            above = dial.address.partition(":")[0]
            self._far[name, number], self._far[above, number] = (above, number), (name, number)
            self._due += [(above, Accepted(number, name)), (name, Connected(dial.number, number))]
        if effects.wants_pass:
            self._due.append((name, Pass()))

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers

    def wait(self, wait_s: float) -> None:
        """Let time pass."""
        until_s = self.now_s + wait_s
        for name, node in self.nodes.items():
            while node.next_deadline_s <= until_s:
                self.now_s = max(self.now_s, node.next_deadline_s)
                self.feed(name, Tick(0))
        self.now_s = until_s

    def client(self, broker: str, name: str) -> int:
        """Connect a client; return the number of its connection."""
        number = self._next()
        self.received[broker, number] = bytearray()
        self.feed(broker, Accepted(number, name))
        self.feed(broker, Received(number, encode(Hello(VERSION, "client", name, "1", "", ""))))
        return number

    def answer(self, broker: str, client: int, kind: type) -> object:
        """Return the last message of a kind that this client has got."""
        messages = Decoder(DEFAULT_LIMITS, Peer.SERVER).feed(bytes(self.received[broker, client]))
        return next(each for each in reversed(messages) if isinstance(each, kind))
