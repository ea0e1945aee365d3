"""What a worker is told to do, and what each of its clients gets to do it with."""

import json
from typing import Final, Self

import attrs
import trio

from harness.benchmarks.board import Board

__all__ = ["BATCH", "Ages", "Client", "Job"]

BATCH: Final = 64
"""Events between two looks at the board, and frames in one write of a relay's publisher."""

WINDOW: Final = 8192
"""Events that may be under way. It keeps a publisher from filling the queue of a slower subscriber, which a
broker would end for being slow; and it is some 30 ms of the fastest scenario, far more than an event is
under way."""

PAUSE_S: Final = 0.002
"""How long a publisher that is too far ahead lets others work: far less than a window lasts, and long enough
that looking again costs nothing that could be seen."""


@attrs.frozen
class Job:
    """One worker's part in a measurement."""

    target: str
    """What the clients speak to: `concord` or `relay`."""
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
    """Whether subscribers look at what they are delivered."""
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
class Client:
    """One publisher or subscriber of a worker."""

    job: Job
    place: int
    """Where it counts, on its side of the board."""
    board: Board
    ages: Ages
    """What all clients of a worker have measured."""
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
        """What the client calls itself."""
        return f"{self.job.role}-{self.place}"

    async def room(self) -> None:
        """Return when the slowest subscriber is less than a window behind; let others work meanwhile."""
        await trio.lowlevel.checkpoint()
        while self.board.backlog() > WINDOW:  # noqa: ASYNC110 - other processes write the board, and set no event
            await trio.sleep(PAUSE_S)

    async def due(self, started: float, event: int, rate_per_s: float) -> None:
        """Return when it is time for the given event of this publisher; publishers take turns."""
        turn = self.place / self.job.publishers
        await trio.sleep_until(started + (event + turn) / rate_per_s)
