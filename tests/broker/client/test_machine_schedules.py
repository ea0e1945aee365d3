"""A client's machine against a broker that is right, over streams that are cut and broken anywhere.

The broker takes publications and delivers a stream of its own, as the protocol says. Whatever happens to the
connections, in the end it has taken every publication once and in order, and so the client its deliveries.
"""

from collections.abc import Iterator

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from broker import messages as m
from broker.client.life import ClientLife, Phase, Wants
from broker.client.limits import Limits
from broker.wire import DEFAULT_LIMITS, Decoder, Peer, decode_delivery, encode
from tests.broker.client.scripted import frame, welcome
from tests.broker.client.talk import Talk, subscription

LIMITS = Limits(
    window_bytes=20_000,
    flush_bytes=300,
    inbox_bytes=1000,
    credit_first=5,
    credit_min=2,
    credit_max=9,
    reconnect_timeout_s=1000,
    close_timeout_s=1000,
)
DELIVERIES = 40
CREDIT_BYTES = 500
PUBLISHER = "alice@B1/1"
SUBSCRIPTION = "alice@B1/2"


@define
class Remembering:
    """A broker that keeps the session of its only client; `out` is on the way to the client."""

    taken: list[int] = field(factory=list)
    has_left: bool = False
    out: bytearray = field(factory=bytearray)
    _decoder: Decoder = field(factory=lambda: Decoder(DEFAULT_LIMITS, Peer.DIALLER))
    _number: int = 0
    _position: int = 0
    _credit: int = 0
    _spent_bytes: int = 0

    def accept(self) -> None:
        """A new connection; what was on the way on the old one is lost."""
        self._decoder = Decoder(DEFAULT_LIMITS, Peer.DIALLER)
        self.out.clear()
        self._number = self._credit = self._spent_bytes = 0

    def read(self, chunk: bytes) -> None:
        for message in self._decoder.feed(chunk):
            self._on(message)

    def _on(self, message: object) -> None:
        match message:
            case m.Hello():
                self._decoder.welcomed()
                self._say(welcome(CREDIT_BYTES))
            case m.Advertise():
                assert message.resume in {"", PUBLISHER}
                self._say(m.Advertised(message.number, PUBLISHER, len(self.taken)))
            case m.Publication():
                self._take(message)
            case m.Flush():
                self._say(m.Flushed(message.number))
            case m.Subscribe():
                self._place(message)
            case m.Credit():
                assert 0 <= message.taken <= self._position
                self._credit += message.count
            case m.Ping():
                self._say(m.Pong(message.number))
            case m.Fault():
                self.has_left = message.code == "left"

    def _take(self, publication: m.Publication) -> None:
        assert publication.sequence == len(self.taken) + 1, "a publication is missing, or came twice"
        assert self._spent_bytes < CREDIT_BYTES, "it began without credit"
        self.taken.append(publication.sequence)
        self._spent_bytes += len(publication.frame)
        if self._spent_bytes >= CREDIT_BYTES // 2:
            self._say(m.Grant(self._spent_bytes))
            self._spent_bytes = 0

    def _place(self, asked: m.Subscribe) -> None:
        assert asked.resume in {"", SUBSCRIPTION}
        self._number, self._credit = asked.number, asked.credit
        (self._position,) = asked.after or (0,)
        self._say(
            m.Placed(asked.number, SUBSCRIPTION, self._position, bool(asked.resume)),
            m.Subscribed(asked.number),
        )

    def deliver(self, most: int) -> None:
        count = min(most, self._credit, DELIVERIES - self._position) if self._number else 0
        if count:
            first = self._position + 1
            self._position += count
            self._credit -= count
            self._say(m.Deliver(self._number, count))
            for sequence in range(first, first + count):
                self.out += frame(sequence, bytes(sequence))

    def _say(self, *messages: object) -> None:
        for message in messages:
            self.out += encode(message)  # type: ignore[arg-type]  # all of them are messages


class World(Talk):
    """The machine, its user, and the broker; every step is chosen from outside."""

    def __init__(self) -> None:
        super().__init__(LIMITS, retry=True)
        self.broker = Remembering()
        self.to_broker = bytearray()
        self.published = 0
        self.had: list[int] = []
        self.inbox = subscription(LIMITS)
        self.source = self.session.advertise("True")
        self.session.subscribe(self.inbox, self.now_s)

    def step(self, kind: str, number: int) -> None:
        getattr(self, f"_{kind}")(number)
        if self.wants() is Wants.CLOSE:
            self._closed()
        assert self.machine.failure is None
        if self.life() in {ClientLife.IDLE, ClientLife.WAITING, ClientLife.DIALLING}:
            assert self.machine.take_output() == b""

    def _closed(self) -> None:
        self.close()
        self.to_broker.clear()

    def _pass(self, number: int) -> None:
        self.pass_s(number / 50)

    def _dial(self, number: int) -> None:
        if self.wants() is Wants.DIAL:
            if number % 3 == 0:
                self.refuse()
            else:
                self.open()
                self.broker.accept()
                self.to_broker.clear()

    def _go(self, number: int) -> None:
        """A good moment: what can be done is done."""
        for kind in ("pass", "dial", "write", "read", "write", "read"):
            self.step(kind, 100 + number % 2)

    def _break(self, _: int) -> None:
        if self.life() in {ClientLife.GREETING, ClientLife.CONNECTED, ClientLife.DRAINING}:
            self.lose()
            self.to_broker.clear()

    def _publish(self, number: int) -> None:
        if self.source.phase is Phase.OPEN and not self.session.window.is_full:
            self.publish(self.source, number % 4)
            self.published += number % 4

    def _write(self, number: int) -> None:
        """The shell takes output, the network some of it, and the broker reads that."""
        self.to_broker += self.machine.take_output()
        count = number * 10
        self.broker.read(bytes(self.to_broker[:count]))
        del self.to_broker[:count]
        if not self.to_broker:
            self.machine.written(self.now_s)

    def _read(self, number: int) -> None:
        count = number * 10
        chunk = bytes(self.broker.out[:count])
        del self.broker.out[:count]
        if chunk and self.life() is not ClientLife.WAITING:
            self.machine.received(chunk, self.now_s)

    def _deliver(self, number: int) -> None:
        self.broker.deliver(number % 7)

    def _flush(self, _: int) -> None:
        self.session.flush()

    def _have(self, _: int) -> None:
        arrived = self.inbox.take()
        if arrived is not None:
            assert isinstance(arrived, list), f"there is {arrived} where nothing is missing"
            self.had += [decode_delivery(each)[1] for each in arrived]
            self.session.credit(self.inbox, len(arrived))

    def finish(self) -> None:
        """Everything works from now on."""
        for _ in range(1000):
            for kind in ("pass", "dial", "write", "deliver", "read", "have"):
                self.step(kind, 100)
            if self.is_done:
                return
        pytest.fail("it does not come to an end")

    @property
    def is_done(self) -> bool:
        return len(self.had) == DELIVERIES and len(self.broker.taken) == self.published

    def leave(self) -> None:
        self.machine.leave(self.now_s)
        for _ in range(1000):
            if self.life() is ClientLife.CLOSED:
                return
            for kind in ("write", "read"):
                self.step(kind, 100)
            if self.broker.has_left and not self.broker.out:
                self.lose()
        pytest.fail("it does not end")


STEPS = ("pass", "dial", "break", "publish", "write", "read", "deliver", "flush", "have")


def schedules() -> st.SearchStrategy[list[tuple[str, int]]]:
    often = ("go", "go", "write", "read", "deliver", "publish", "publish", "have")
    steps = st.tuples(st.sampled_from(STEPS + often), st.integers(1, 40))
    return st.lists(steps, max_size=100).map(lambda found: [("go", 1), ("go", 1), *found])


@given(schedules())
@settings(max_examples=300)
def test_nothing_is_lost_or_repeated_wherever_streams_are_cut_and_broken(
    schedule: list[tuple[str, int]],
) -> None:
    world = World()
    for kind, number in schedule:
        world.step(kind, number)
    world.finish()
    assert world.had == list(range(1, DELIVERIES + 1))
    assert world.broker.taken == list(range(1, world.published + 1))
    world.leave()
    assert world.session.window.is_empty
    assert world.broker.has_left


def outputs(schedule: list[tuple[str, int]]) -> Iterator[tuple[object, ...]]:
    world = World()
    for kind, number in schedule:
        world.step(kind, number)
        yield world.machine.life, world.machine.next_deadline(), bytes(world.to_broker), tuple(world.had)


@given(schedules())
@settings(max_examples=30)
def test_the_same_inputs_give_the_same_outputs(schedule: list[tuple[str, int]]) -> None:
    assert list(outputs(schedule)) == list(outputs(schedule))


@given(schedules())
def test_a_deadline_that_comes_nearer_is_a_change(schedule: list[tuple[str, int]]) -> None:
    world = World()
    for kind, number in schedule:
        world.machine.is_changed = False
        before_s, life = world.machine.next_deadline(), world.machine.life
        world.step(kind, number)
        if kind != "pass" and (world.machine.next_deadline() < before_s or world.machine.life is not life):
            assert world.machine.is_changed
