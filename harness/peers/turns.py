"""The turns of clients, without input or output: how much to publish, and the records of deliveries.

Laws:

1. Nobody publishes while the slowest subscriber is `WINDOW` events behind. What is granted is taken at once,
   before another publisher of the process asks.
2. Every event has its number and time noted by its publisher, and by each subscriber that read its price and
   its payload: the same code for every system.
"""

import time
from array import array
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import attrs

from harness.peers.board import Board, BoardPhase
from harness.peers.workload import BATCH, PAYLOAD_BYTES, PRICES, WINDOW, number_of, numbered

Event = tuple[int, bytes]
"""The place of its price in `PRICES`, and its payload."""

PAUSE_S: Final = 0.0005
"""Between two looks of all publishers together at a full window: a fraction of what one takes to empty, and
no more looks than cost nothing that could be seen."""


END_LOOK_S: Final = 0.02
"""Between two looks of a process of subscribers at the phase."""


@attrs.frozen
class TurnGrant:
    """The next step of a publisher: publish so many events, or wait for so long, or end."""

    count: int = 0
    wait_s: float = 0.0
    is_over: bool = False


_OVER: Final = TurnGrant(is_over=True)


@attrs.define(eq=False)
class PublisherTurn:
    """One publisher: asks what it may publish, and takes its events."""

    place: int
    rate_per_s: float
    """Of this publisher, while publishing is paced."""
    board: Board
    times_ns: "array[int]" = attrs.field(factory=lambda: array("q"))
    """When each event was published."""
    _began_s: float = attrs.field(default=0.0, init=False)

    def ask(self, now_s: float) -> TurnGrant:
        """Return the next step of the publisher."""
        phase = self.board.phase
        if phase == BoardPhase.FLAT_OUT:
            room = WINDOW - self.board.in_flight()
            return TurnGrant(min(room, BATCH)) if room > 0 else self._wait()
        if phase == BoardPhase.PACED:
            return self._paced(now_s)
        return self._wait() if phase == BoardPhase.CONNECTING else _OVER

    def _wait(self) -> TurnGrant:
        return TurnGrant(wait_s=PAUSE_S * len(self.board.published))

    def _paced(self, now_s: float) -> TurnGrant:
        """Publishers take turns: each begins a part of an interval after the one before."""
        if not self._began_s:
            self._began_s = now_s
        turn = self.place / len(self.board.published)
        due_s = self._began_s + (len(self.times_ns) + turn) / self.rate_per_s
        return TurnGrant(1) if due_s <= now_s else TurnGrant(wait_s=due_s - now_s)

    def take(self) -> Event:
        """Return the next event, which counts as published."""
        self.times_ns.append(time.time_ns())
        sequence = len(self.times_ns)
        self.board.published[self.place] = sequence
        return sequence % len(PRICES), numbered(self.place, sequence)


@attrs.define(eq=False)
class SubscriberTurn:
    """One subscriber: records its deliveries."""

    place: int
    board: Board
    numbers: "array[int]" = attrs.field(factory=lambda: array("q"))
    times_ns: "array[int]" = attrs.field(factory=lambda: array("q"))

    def note(self, price: float, payload: bytes) -> None:
        """Note a delivery, of which price and payload have been read."""
        if price > 0 and len(payload) == PAYLOAD_BYTES:
            self.numbers.append(number_of(payload)[0])
            self.times_ns.append(time.time_ns())
            self.board.delivered[self.place] = len(self.numbers)


async def publish(
    turn: PublisherTurn,
    send: Callable[[list[Event]], Awaitable[None]],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    """Publish until it is over; `sleep` is the one of Trio or of asyncio, whichever runs this."""
    while not (grant := turn.ask(time.monotonic())).is_over:
        await send([turn.take() for _ in range(grant.count)])
        await sleep(0.0 if grant.count else grant.wait_s)


async def until_over(turns: Sequence[SubscriberTurn], sleep: Callable[[float], Awaitable[None]]) -> None:
    """Return when the subscribers of a process have read everything."""
    while turns[0].board.phase != BoardPhase.OVER:
        await sleep(END_LOOK_S)


def publish_by_calls(turns: Sequence[PublisherTurn], puts: Sequence[Callable[[int, bytes], None]]) -> None:
    """Publish in one thread until it is over: for clients whose calls wait for nothing but room."""
    pairs = list(zip(turns, puts, strict=True))
    while True:
        waits_s = []
        for turn, put in pairs:
            grant = turn.ask(time.monotonic())
            if grant.is_over:
                return
            for _ in range(grant.count):
                put(*turn.take())
            waits_s.append(grant.wait_s)
        time.sleep(min(waits_s))
