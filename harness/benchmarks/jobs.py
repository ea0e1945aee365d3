"""The jobs of a measurement's processes, their shared board of counts, and the events that they publish.

On the board stands one number per publisher and one per subscriber. A process writes only its own numbers,
without locks; everybody reads all of them. That costs nothing that could be seen in what is measured, and it
lets a count be taken at any moment without asking anyone.

Every event has other attributes, taken in turn from a prepared list, and a payload of 100 bytes that begins
with the moment it was published. That moment is the machine's monotonic clock, which all processes share.
"""

import itertools
import json
import mmap
import os
import struct
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

import attrs
import trio

from broker.wire import encode_publication, publication_prefix

_NUMBER_BYTES: Final = 8

BATCH: Final = 64
"""Events between two looks at the board, and frames in one write of a relay's publisher."""

WINDOW: Final = 8192
"""Events that may be under way. It keeps a publisher from filling the queue of a slower subscriber, which a
broker would end for being slow; and it is some 30 ms of the fastest scenario, far more than an event is
under way."""

PAUSE_S: Final = 0.002
"""How long a publisher that is too far ahead lets others work: far less than a window lasts, and long enough
that looking again costs nothing that could be seen."""

PAYLOAD_BYTES: Final = 100
ADVERTISED: Final = "kind == 'trade' and price > 0"
SUBSCRIBED: Final = "price > 0"
_SYMBOLS: Final = ("IBM", "SAP", "AAPL", "MSFT", "NVDA", "SIE", "ASML", "TSM")
EVENTS: Final = tuple(
    {"kind": "trade", "symbol": _SYMBOLS[number % len(_SYMBOLS)], "price": 50.0 + number / 8}
    for number in range(1000)
)
_PREFIX: Final = publication_prefix("publish-0@B1.k3f9/2")
_STAMP: Final = struct.Struct(">Q")
_LENGTH: Final = struct.Struct(">I")
_PADDING: Final = bytes(PAYLOAD_BYTES - _STAMP.size)


@attrs.frozen(eq=False)
class LoadBoard:
    """The counts of publications and deliveries of a worker's clients."""

    published: memoryview
    delivered: memoryview

    def backlog(self) -> int:
        """Events published that the slowest subscriber has not been delivered."""
        return sum(self.published) - min(self.delivered)


@contextmanager
def opened(path: Path, publishers: int, subscribers: int) -> Iterator[LoadBoard]:
    """Map the board in a file, which is made if it is not there."""
    size_bytes = _NUMBER_BYTES * (publishers + subscribers)
    with path.open("a+b") as file:
        if os.fstat(file.fileno()).st_size < size_bytes:
            file.truncate(size_bytes)
        with (
            mmap.mmap(file.fileno(), size_bytes) as mapped,
            memoryview(mapped) as octets,
            octets.cast("Q") as numbers,
            numbers[:publishers] as published,
            numbers[publishers:] as delivered,
        ):
            yield LoadBoard(published, delivered)


@attrs.frozen
class LoadJob:
    """One worker's part in a measurement."""

    target: str
    """The server of the clients: `concord` or `relay`."""
    role: str
    """`publish` or `subscribe`."""
    addresses: tuple[str, ...]
    """Where clients connect, in turn."""
    clients: int
    first: int
    """The place of the first client on its side of the board; the others follow."""
    publishers: int
    subscribers: int
    board: str
    """The file of the board."""
    reads: bool
    """Whether subscribers read the events that they are delivered."""
    rate_per_s: float | None
    """Events per second of each publisher, when latency is measured; None for as fast as possible."""

    def text(self) -> str:
        """The job as a worker's command line has it."""
        return json.dumps(attrs.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read back what `text` wrote."""
        return cls(**json.loads(text))


@attrs.frozen(eq=False)
class Ages:
    """How old deliveries were: of publishers at the subscriber's own broker, and of others."""

    own_ns: list[int] = attrs.field(factory=list)
    other_ns: list[int] = attrs.field(factory=list)


@attrs.frozen(eq=False)
class LoadClient:
    """One publisher or subscriber of a worker."""

    job: LoadJob
    place: int
    """Where it counts, on its side of the board."""
    board: LoadBoard
    ages: Ages
    """The measurements of all clients of a worker."""
    go: trio.Event
    """The measurement begins."""
    halt: trio.Event
    """Publishers end."""

    @property
    def address(self) -> str:
        """Where it connects."""
        return self.job.addresses[self.place % len(self.job.addresses)]

    @property
    def name(self) -> str:
        """The name of the client."""
        return f"{self.job.role}-{self.place}"

    async def room(self) -> None:
        """Return when the slowest subscriber is less than a window behind; let others work meanwhile."""
        await trio.lowlevel.checkpoint()
        while self.board.backlog() > WINDOW:  # noqa: ASYNC110 - other processes write the board, and set no event
            await trio.sleep(PAUSE_S)

    async def publish(self, batch: Callable[[], Awaitable[None]], one: Callable[[], Awaitable[None]]) -> None:
        """Once started, publish batches as fast as they are taken, or single events when they are due."""
        await self.go.wait()
        if self.job.rate_per_s is None:
            while not self.halt.is_set():
                await self.room()
                await batch()
                self.board.published[self.place] += BATCH
            return
        started = trio.current_time()
        for number in itertools.count():
            await self.due(started, number, self.job.rate_per_s)
            if self.halt.is_set():
                return
            self.board.published[self.place] += 1
            await one()

    async def due(self, started: float, event: int, rate_per_s: float) -> None:
        """Return when it is time for the given event of this publisher; publishers take turns."""
        turn = self.place / self.job.publishers
        await trio.sleep_until(started + (event + turn) / rate_per_s)


def stamped() -> bytes:
    """A payload that says when it was made."""
    return _STAMP.pack(time.monotonic_ns()) + _PADDING


def frame() -> bytes:
    """A stamped event as it is on the wire, as a broker's client would write it."""
    return encode_publication(_PREFIX, 1, time.time_ns(), EVENTS[0], stamped(), ordered=True)


def age_ns(payload: bytes) -> int:
    """Return how long ago the payload was made."""
    (made_ns,) = _STAMP.unpack_from(payload)
    return time.monotonic_ns() - int(made_ns)


def cut(received: bytes | bytearray) -> tuple[int, int]:
    """Return how many whole frames the bytes begin with, and where the last of them ends."""
    length_of = _LENGTH.unpack_from
    frames = end = 0
    last = len(received) - _LENGTH.size
    while end <= last:
        following = end + _LENGTH.size + length_of(received, end)[0]
        if following > len(received):
            break
        end = following
        frames += 1
    return frames, end
