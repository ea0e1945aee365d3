"""Connections as streams of bytes in both directions, as bad as real ones.

Laws.

1. Bytes of one direction arrive in their order, cut anywhere, after a delay, at an end that reads.
2. The system of a sender takes a limited number of bytes that have not arrived. It takes the rest of a buffer
   as others arrive, and notifies the sender when it has taken all (`CableOwner.written`).
3. A connection that is reset loses the last bytes in flight in both directions, and both ends learn of it,
   each in its own time. A half-open one swallows everything, and one end learns of it, or none.
4. An end that was closed receives nothing more. The bytes that it has sent before arrive, then the end.
"""

from random import Random
from typing import Final, Protocol

from attrs import define, field, frozen

from harness.whole.clock import Clock

BROKEN: Final = "broken: connection reset"

DELAY_S_MAX: Final = 0.1
"""The longest delay: an end that is slower could be declared lost."""


class CableOwner(Protocol):
    """The owner of one end of a connection."""

    def received(self, end: "CableEnd", content: bytes) -> None:
        """Take bytes that have arrived."""
        ...

    def ended(self, end: "CableEnd", reason: str | None) -> None:
        """Note the end of the connection: it broke, or the other end has closed it (None)."""
        ...

    def written(self, end: "CableEnd") -> None:
        """Note that the system has taken all of the last `send`."""
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
        """Return how many bytes were sent and have not arrived."""
        return len(self._flight) + len(self._rest)

    @property
    def is_whole(self) -> bool:
        """Return whether bytes that are sent here will arrive, unless the connection breaks."""
        return not self._is_swallowed and not self._is_finished

    def send(self, content: bytes) -> bool:
        """Send bytes; return whether the system has taken all. Only then may more be sent."""
        assert not self._rest, "something is still being written"
        if self._is_finished:
            return True  # It has been reset, and this end does not know: the system takes the bytes in vain.
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
        """Stop reading."""
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
        """Let so many bytes in flight arrive, then the end."""
        del self._flight[keep_bytes:]
        self._rest = b""
        self._reason = reason
        self._is_finished = True
        self.wake()

    def swallow(self) -> None:
        """Lose all bytes that were or will be sent."""
        self._is_swallowed = True

    def wake(self) -> None:
        """Schedule the next arrival, if there is one."""
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
            flight.clear()  # An end that does not read notices a reset all the same.
        if flight:
            size_bytes = self.cable.piece(len(flight))
            content = bytes(flight[:size_bytes])
            del flight[:size_bytes]
            self._take_rest()
            if peer.is_open:
                peer.owner.received(peer, content)
        elif self._is_finished:
            if peer.is_open:
                peer.is_open = False
                peer.owner.ended(peer, self._reason)
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
        """Draw the delay of a direction; some are far behind."""
        shape = self.shape
        factor = shape.slow_factor if self.random.random() < shape.slow_part else 1.0
        return min(shape.latency_s * factor, DELAY_S_MAX) * (0.5 + self.random.random())

    def piece(self, size_bytes: int) -> int:
        """Return how many of the bytes in flight arrive together."""
        chance = self.random.random()
        if chance < self.shape.crumbs:
            return min(size_bytes, self.random.randint(1, 9))
        if chance < self.shape.cuts:
            return self.random.randint(1, size_bytes)
        return size_bytes

    @property
    def is_alive(self) -> bool:
        """Return whether both ends are open and everything arrives."""
        return all(end.is_open and end.is_whole for end in self.ends)

    def reset(self, *kept: int) -> None:
        """Break it: so many bytes in flight arrive, or a random part, and both ends learn of it."""
        for number, end in enumerate(self.ends):
            end.finish(kept[number] if kept else self.random.randint(0, end.flight_bytes), BROKEN)

    def half_open(self, *, knows: int | None) -> None:
        """Let it swallow everything; only the end of this number learns of it, or none."""
        for number, end in enumerate(self.ends):
            if number != knows:
                end.peer.swallow()
            else:
                end.peer.finish(self.random.randint(0, end.peer.flight_bytes), BROKEN)
