"""Several processes that go from tick to tick together: each has a part of the brokers.

Law: a tick ends when every part has ended it. What parts send each other is passed on by this process.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

import attrs

from harness.large.part import BrokerSize, LargeCounts, LargePart, Sent
from harness.large.shape import LargeShape

TICKS_MAX: Final = 10_000
"""Far more than anything takes to settle: what is still under way then never ends."""


class Orders(Protocol):
    """A part, here or in another process: an order is begun at all parts before the first is ended."""

    def begin(self, order: str, *arguments: object) -> None:
        """Begin to carry out an order."""

    def end(self) -> Any:
        """Return the result of the order that was begun."""


@attrs.define(eq=False)
class _Here:
    part: LargePart
    _result: Any = None

    def begin(self, order: str, *arguments: object) -> None:
        self._result = getattr(self.part, order)(*arguments)

    def end(self) -> Any:
        return self._result


@attrs.define(eq=False)
class _There:
    _pipe: Connection

    def begin(self, order: str, *arguments: object) -> None:
        self._pipe.send((order, arguments))

    def end(self) -> Any:
        return self._pipe.recv()


def _serve(pipe: Connection, shape: LargeShape, number: int, parts: int) -> None:
    """In another process: carry out orders until there are no more."""
    part = LargePart(shape, number, parts)
    while True:
        try:
            order, arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(getattr(part, order)(*arguments))


@attrs.define(eq=False)
class Lockstep:
    """All parts. `ticks` counts those so far."""

    shape: LargeShape
    parts: Sequence[Orders]
    ticks: int = 0

    def order(self, order: str, *arguments: object) -> list[Any]:
        """Give an order to all parts; return their results."""
        for part in self.parts:
            part.begin(order, *arguments)
        return [part.end() for part in self.parts]

    def settle(self) -> int:
        """Let ticks pass until nothing is under way; return how many that took."""
        begun = self.ticks
        arriving: list[list[Sent]] = [[] for _ in self.parts]
        while True:
            arriving, is_busy = self._tick(arriving)
            if not is_busy:
                return self.ticks - begun
            assert self.ticks - begun < TICKS_MAX, "something is under way for ever"

    def publish(self, batches: Iterator[Sequence[int]]) -> int:
        """Publish a batch of events in each tick, then let everything settle; return the ticks."""
        begun = self.ticks
        arriving: list[list[Sent]] = [[] for _ in self.parts]
        for numbers in batches:
            self.order("publish", numbers)
            arriving, _ = self._tick(arriving)
        is_busy = True
        while is_busy:
            arriving, is_busy = self._tick(arriving)
            assert self.ticks - begun < TICKS_MAX, "something is under way for ever"
        return self.ticks - begun

    def _tick(self, arriving: list[list[Sent]]) -> tuple[list[list[Sent]], bool]:
        for part, sent in zip(self.parts, arriving, strict=True):
            part.begin("tick", sent)
        found = [part.end() for part in self.parts]
        self.ticks += 1
        following: list[list[Sent]] = [[] for _ in self.parts]
        for leaving, _ in found:
            for sent in leaving:
                following[self.shape.part(sent[0], len(self.parts))].append(sent)
        return following, any(is_busy for _, is_busy in found)

    def take(self) -> LargeCounts:
        """Return the counts of all parts since the last call."""
        total = LargeCounts()
        for counts in self.order("take"):
            total.add(counts)
        return total

    def sizes(self) -> list[BrokerSize]:
        """Return the sizes of all brokers."""
        return [size for sizes in self.order("sizes") for size in sizes]


@contextmanager
def lockstep(shape: LargeShape, jobs: int) -> Iterator[Lockstep]:
    """Start so many processes; one job is done here."""
    if jobs == 1:
        yield Lockstep(shape, [_Here(LargePart(shape, 0, 1))])
        return
    context = get_context("spawn")
    with ExitStack() as stack:
        parts = []
        for number in range(jobs):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, shape, number, jobs), daemon=True)
            process.start()
            there.close()
            # The end of the pipe ends the process.
            stack.callback(process.join)
            stack.callback(here.close)
            parts.append(_There(here))
        yield Lockstep(shape, parts)
