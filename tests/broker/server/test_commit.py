"""Nothing leaves before what it follows from is on disk, and everything leaves in the end, in order."""

from collections.abc import Sequence

import pytest
import trio
import trio.testing
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from broker.node.connection import Connection
from broker.node.exchange import Exchange
from broker.server.commit import Commit
from broker.station import Station
from broker.wire import DEFAULT_LIMITS, Decoder, Peer
from ordering.plugins import load

FRAME = 8


@define(eq=False)
class Disk:
    """A journal whose syncs are as slow as the test wants."""

    appended: int = 0
    synced: int = 0
    has_room: bool = True
    is_full: bool = False
    is_broken: bool = False
    written_bytes: int = 0
    size_bytes: int = 0
    room_bytes: int = 0
    snapshots: int = 0
    snapshot_age_s: float = 0

    def append(self, record: bytes) -> int:
        assert record
        self.appended += 1
        return self.appended

    def flush(self) -> None:
        if self.is_broken:
            raise OSError(5, "the disk is gone")
        self.synced = self.appended


@define(eq=False)
class Wire:
    """Where a connection writes to; takes `room` bytes at a time."""

    disk: Disk
    room: int = 1_000_000
    sent: bytearray = field(factory=bytearray)
    got: trio.Event = field(factory=trio.Event)

    def send_now(self, content: bytes) -> int:
        taken = content[: self.room]
        self.sent += taken
        for start in range(0, len(self.sent) - FRAME + 1, FRAME):
            assert int.from_bytes(self.sent[start : start + FRAME], "big") <= self.disk.synced
        self.got.set()
        return len(taken)

    async def receive(self) -> bytes:
        return b""

    async def send_all(self, content: memoryview) -> None:
        self.sent += content

    async def finish(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def numbers(self) -> list[int]:
        return [int.from_bytes(self.sent[at : at + FRAME], "big") for at in range(0, len(self.sent), FRAME)]


@define(eq=False)
class Filler:
    """A session that has more to send whenever the outbox has room: what it sends follows from everything."""

    connection: Connection
    disk: Disk
    waiting: int = 0

    def pump(self) -> None:
        if self.waiting:
            self.waiting -= 1
            self.connection.send(self.disk.appended.to_bytes(FRAME, "big"))

    def handle(self, messages: Sequence[object]) -> None:
        pass

    def grant(self) -> None:
        pass

    def lost(self, reason: str) -> None:
        pass


def broker(count: int) -> tuple[Disk, Exchange, list[Connection], list[Wire]]:
    disk = Disk()
    exchange = Exchange(Station("B", load("fifo"), "1"), commit=Commit(disk))
    wires = [Wire(disk) for _ in range(count)]
    connections = [
        Connection(str(place), wire, Decoder(DEFAULT_LIMITS, Peer.DIALLER), exchange)
        for place, wire in enumerate(wires)
    ]
    for connection in connections:
        connection.session = Filler(connection, disk)
    return disk, exchange, connections, wires


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("input"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("more"), st.integers(0, 2), st.integers(0, 4)),
        st.tuples(st.sampled_from(["begin", "synced", "end", "flush"]), st.just(0), st.just(0)),
    ),
    max_size=60,
)


@given(STEPS)
def test_what_leaves_follows_from_what_is_on_disk_and_keeps_its_order(
    steps: list[tuple[str, int, int]],
) -> None:
    disk, exchange, connections, wires = broker(3)
    assert exchange.commit is not None
    sealed: list[Connection] | None = None
    covered = 0
    expected: list[list[int]] = [[], [], []]
    for what, place, count in steps:
        connection = connections[place]
        if what == "input":
            exchange.begin_step()
            number = exchange.commit.record(b"input")
            for _ in range(count):
                connection.send(number.to_bytes(FRAME, "big"))
                expected[place].append(number)
            exchange.end_step(1)
        elif what == "more":
            assert isinstance(connection.session, Filler)
            connection.session.waiting += count
        elif what == "begin" and sealed is None:
            covered, sealed = disk.appended, exchange.seal()
        elif what == "synced" and sealed is not None:
            disk.synced = max(disk.synced, covered)
        elif what == "end" and sealed is not None and disk.synced >= covered:
            exchange.send_sealed(sealed)
            sealed = None
        elif what == "flush":
            exchange.begin_step()
            exchange.end_step(0)
    disk.synced = disk.appended
    exchange.send_sealed(sealed or [])
    for wire, numbers in zip(wires, expected, strict=True):
        sent = wire.numbers()
        assert sent == sorted(sent)
        remaining = iter(sent)
        assert all(number in remaining for number in numbers)
    assert all(connection.is_idle for connection in connections)


async def test_everything_leaves_once_it_is_synced() -> None:
    _disk, exchange, [connection], [wire] = broker(1)
    assert exchange.commit is not None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(exchange.commit.run, exchange.seal, exchange.send_sealed)
        for number in range(1, 4):
            wire.got = trio.Event()
            assert exchange.commit.record(b"input") == number
            connection.send(number.to_bytes(FRAME, "big"))
            assert len(wire.sent) == (number - 1) * FRAME
            with trio.fail_after(10):
                await wire.got.wait()
        nursery.cancel_scope.cancel()
    assert wire.numbers() == [1, 2, 3]
    assert (exchange.commit.records, exchange.commit.syncs) == (3, 3)


def test_credit_waits_for_no_sync_and_overtakes_nothing() -> None:
    disk, exchange, [idle, busy], [free, held] = broker(2)
    assert exchange.commit is not None
    exchange.commit.record(b"input")
    busy.send((1).to_bytes(FRAME, "big"))
    for connection in (idle, busy):
        connection.send_free(bytes(FRAME))
    assert free.numbers() == [0]
    assert held.numbers() == []
    sealed = exchange.seal()
    disk.flush()
    exchange.send_sealed(sealed)
    assert held.numbers() == [1, 0]
    assert idle.is_idle
    assert busy.is_idle


async def test_nothing_leaves_after_a_sync_that_failed() -> None:
    disk, exchange, [connection], [wire] = broker(1)
    assert exchange.commit is not None
    disk.is_broken = True
    exchange.commit.record(b"input")
    connection.send(bytes(FRAME))
    with pytest.raises(OSError, match="the disk is gone"):
        await exchange.commit.run(exchange.seal, exchange.send_sealed)
    assert not wire.sent


def test_what_the_system_did_not_take_does_not_carry_on_what_is_not_synced() -> None:
    disk, exchange, [connection], [wire] = broker(1)
    assert exchange.commit is not None
    wire.room = 3
    exchange.commit.record(b"input")
    connection.send((1).to_bytes(FRAME, "big"))
    sealed = exchange.seal()
    disk.flush()
    exchange.send_sealed(sealed)
    exchange.commit.record(b"input")
    connection.send((2).to_bytes(FRAME, "big"))
    connection._sent_rest()
    assert len(wire.sent) == 3
    assert connection._rest is None
    assert connection.outbox_bytes == FRAME


async def test_a_connection_that_ends_waits_for_the_disk_before_it_says_why() -> None:
    _disk, exchange, [connection], [wire] = broker(1)
    assert exchange.commit is not None
    exchange.commit.record(b"input")
    connection.send((1).to_bytes(FRAME, "big"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        await trio.testing.wait_all_tasks_blocked()
        assert not wire.sent
        nursery.start_soon(exchange.commit.run, exchange.seal, exchange.send_sealed)
        with trio.fail_after(10):
            await wire.got.wait()
        nursery.cancel_scope.cancel()
    assert wire.numbers() == [1]
