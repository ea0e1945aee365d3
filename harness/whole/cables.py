"""Connections as streams of bytes in both directions, as bad as real ones.

Laws.

1. Bytes of one direction arrive in their order, cut anywhere, after a delay; whoever does not read gets none.
2. The system of a sender takes so many bytes that have not arrived. What it does not take at once is taken
   as others arrive, and the sender is told when that was all (`CableOwner.written`).
3. A connection that is reset loses the end of what is in flight in both directions, and both ends learn of
   it, each in its own time. A half-open one swallows everything, and says so to one end or to none.
4. Who has closed its end gets nothing more. What it has sent before arrives, then the end.
"""

from random import Random
from typing import Final, Protocol

from attrs import define, field, frozen

from harness.whole.clock import Clock

__all__ = ["Cable", "CableEnd", "CableOwner", "CableShape"]

BROKEN: Final = "broken: connection reset"

DELAY_S_MAX: Final = 0.1
"""Nobody is so slow that others must take it for dead."""


class CableOwner(Protocol):
    """Who has an end of a connection."""

    def came(self, end: "CableEnd", content: bytes) -> None:
        """Bytes have arrived."""
        ...

    def over(self, end: "CableEnd", reason: str | None) -> None:
        """Nothing more will arrive: it broke, or the other end has closed it (None)."""
        ...

    def written(self, end: "CableEnd") -> None:
        """Everything of the last `send` is with the system."""
        ...


@frozen
class CableShape:
    """How bad connections are. `cuts` and `partial` are chances, of pieces and of writes."""

    latency_s: float
    slow_part: float
    slow_factor: float
    cuts: float
    crumbs: float
    partial: float
    capacity_bytes: int


@define(eq=False)
class CableEnd:
    """One end of a connection, and the direction that leads away from it."""

    cable: "Cable"
    owner: CableOwner
    delay_s: float
    number: int = 0
    is_open: bool = True
    is_reading: bool = True
    peer: "CableEnd" = field(init=False)
    _flight: bytearray = field(factory=bytearray, init=False)
    _rest: bytes = field(default=b"", init=False)
    _is_finished: bool = field(default=False, init=False)
    _is_swallowed: bool = field(default=False, init=False)
    _is_moving: bool = field(default=False, init=False)
    _reason: str | None = field(default=None, init=False)

    @property
    def flight_bytes(self) -> int:
        """How much has been sent and has not arrived."""
        return len(self._flight) + len(self._rest)

    @property
    def is_whole(self) -> bool:
        """Whether what is sent here will arrive, as far as anybody knows."""
        return not self._is_swallowed and not self._is_finished

    def send(self, content: bytes) -> bool:
        """Send bytes; return whether the system has taken all. Only then may more be sent."""
        assert not self._rest, "something is still being written"
        if self._is_finished:
            return True  # It has been reset, and nobody knows here: the system takes it and loses it.
        room = self.cable.shape.capacity_bytes - len(self._flight)
        random = self.cable.random
        if room > 0 and random.random() < self.cable.shape.partial:
            room = random.randint(1, room)
        room = max(0, room)
        self._flight += content[:room]
        self._rest = content[room:]
        self.wake()
        return not self._rest

    def pause(self) -> None:
        """Read nothing."""
        self.is_reading = False

    def resume(self) -> None:
        """Read again."""
        self.is_reading = True
        self.peer.wake()

    def close(self) -> None:
        """Send nothing more and read nothing more."""
        self.is_open = False
        self._rest = b""
        self._is_finished = True
        self.wake()
        self.peer.wake()

    def finish(self, keep_bytes: int, reason: str | None) -> None:
        """So much of what is in flight arrives, then the end."""
        del self._flight[keep_bytes:]
        self._rest = b""
        self._reason = reason
        self._is_finished = True
        self.wake()

    def swallow(self) -> None:
        """Nothing that was or will be sent arrives."""
        self._is_swallowed = True

    def wake(self) -> None:
        """Let something arrive soon, if there is something."""
        if not self._is_moving and not self._is_swallowed and (self._flight or self._is_finished):
            self._is_moving = True
            cable = self.cable
            cable.clock.after(self.delay_s * (0.5 + cable.random.random()), self._move)

    def _move(self) -> None:
        """Let the next piece arrive, or the end."""
        self._is_moving = False
        peer, flight = self.peer, self._flight
        if self._is_swallowed or (peer.is_open and not peer.is_reading):
            if not (self._reason and peer.is_open):
                return
            flight.clear()  # A reset is noticed even by who does not read.
        if flight:
            size_bytes = self.cable.piece(len(flight))
            content = bytes(flight[:size_bytes])
            del flight[:size_bytes]
            self._take_rest()
            if peer.is_open:
                peer.owner.came(peer, content)
        elif self._is_finished:
            if peer.is_open:
                peer.is_open = False
                peer.owner.over(peer, self._reason)
            return
        self.wake()

    def _take_rest(self) -> None:
        if not self._rest:
            return
        room = self.cable.shape.capacity_bytes - len(self._flight)
        self._flight += self._rest[:room]
        self._rest = self._rest[room:]
        if not self._rest and self.is_open:
            self.owner.written(self)


@define(eq=False)
class Cable:
    """One connection."""

    clock: Clock
    random: Random
    shape: CableShape
    ends: tuple[CableEnd, CableEnd] = field(init=False)

    @classmethod
    def between(
        cls, clock: Clock, random: Random, shape: CableShape, one: CableOwner, other: CableOwner
    ) -> "Cable":
        """Connect two owners."""
        cable = cls(clock, random, shape)
        ends = CableEnd(cable, one, cable._delay_s()), CableEnd(cable, other, cable._delay_s())
        ends[0].peer, ends[1].peer = ends[1], ends[0]
        cable.ends = ends
        return cable

    def _delay_s(self) -> float:
        """Some directions are far behind."""
        shape = self.shape
        factor = shape.slow_factor if self.random.random() < shape.slow_part else 1.0
        return min(shape.latency_s * factor, DELAY_S_MAX) * (0.5 + self.random.random())

    def piece(self, size_bytes: int) -> int:
        """Return how much of what is in flight arrives together."""
        chance = self.random.random()
        if chance < self.shape.crumbs:
            return min(size_bytes, self.random.randint(1, 9))
        if chance < self.shape.cuts:
            return self.random.randint(1, size_bytes)
        return size_bytes

    @property
    def is_alive(self) -> bool:
        """Whether both ends are open and everything arrives."""
        return all(end.is_open and end.is_whole for end in self.ends)

    def reset(self, *kept: int) -> None:
        """It breaks: so much of what is in flight arrives, or a random part, and both ends learn of it."""
        for number, end in enumerate(self.ends):
            end.finish(kept[number] if kept else self.random.randint(0, end.flight_bytes), BROKEN)

    def half_open(self, *, knows: int | None) -> None:
        """It swallows everything; only the end of this number learns of it, or none."""
        for number, end in enumerate(self.ends):
            if number != knows:
                end.peer.swallow()
            else:
                end.peer.finish(self.random.randint(0, end.peer.flight_bytes), BROKEN)
