"""Snapshots of the station for the journal, and room for its next segment.

Laws:

1. A snapshot is of the state between two steps. A small one is taken at once, any other in a process of its
   own (`broker.server.apart`): the broker goes on meanwhile. It is written in a thread.
2. It is taken when replaying the records since the last one would take `REPLAY_S` (estimated from the time
   that applying them took), or when `GROWTH_BYTES` have been written, or after `AGE_S` if anything was: so a
   start is quick and the directory limited. A snapshot of a large state is taken more rarely: at most
   `PART_MAX` of the broker's time, and `APART_PART_MAX` of another process's.
3. The next segment is reserved as soon as one is begun. While there is no room on the disk, clients'
   publications are refused (`JournalState.is_full`), and the reservation is tried again.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Final, Protocol

import structlog
import trio
from attrs import define, field

from broker.server.apart import ApartError
from broker.server.collector import undisturbed

REPLAY_S: Final = 0.4
"""A fifth of the two seconds in which a broker is to recover. Python and its modules take as long, and all of
it takes several times as long on busy processors. Snapshots delay no client, so more of them are cheap."""

REPLAY_FACTOR: Final = 3.0
"""Replaying takes so many times as long as applying did: frames are decoded again, which was not timed."""

GROWTH_BYTES: Final = 256 * 1024 * 1024
"""The directory holds at most about twice this, two snapshots, and two segments."""

AGE_S: Final = 600.0
"""A quiet broker's snapshot is not older, so that it does not replay the same few inputs for weeks."""

PART_MAX: Final = 0.05
"""The part of the time that snapshots may take of the broker's own."""

APART_PART_MAX: Final = 0.25
"""The same of the time of processes apart: they yield to the broker, but not to others."""

AT_ONCE_S: Final = 0.005
"""A snapshot that was taken in less is taken at once the next time, too: a fork takes about as long."""

LOOK_S: Final = 0.1
"""How often a snapshot is checked for being due: much shorter than half a segment lasts."""

ROOM_LOOK_S: Final = 1.0
"""How often a reservation is tried again while there is no room."""

_log = structlog.get_logger()


class SnapshotJournal(Protocol):
    """The part of a journal (`broker.journal.Journal`) that snapshots need."""

    @property
    def appended(self) -> int:
        """The number of the last record."""

    @property
    def written_bytes(self) -> int:
        """The bytes written since the journal was opened."""

    @property
    def wants_room(self) -> bool:
        """Return whether no next segment is reserved."""

    @property
    def is_full(self) -> bool:
        """Return whether publications are refused."""

    def make_room(self) -> bool:
        """Reserve the next segment; return whether it is there. Blocks."""

    def snapshot(self, content: bytes, upto: int) -> bool:
        """Write a snapshot; return whether there was room. Blocks."""


class Blocking(Protocol):
    """Makes a blocking call in a thread."""

    async def __call__(self, call: Callable[..., bool], *arguments: object) -> bool:
        """Return what the call returns."""


class Elsewhere(Protocol):
    """Calls something with the state of this moment in another process (`broker.server.apart.Apart`)."""

    last_stall_s: float

    async def __call__(self, call: Callable[[], bytes]) -> bytes:
        """Return what the call returns. Raises `ApartError`."""


async def _in_thread(call: Callable[..., bool], *arguments: object) -> bool:
    return await trio.to_thread.run_sync(call, *arguments)


@define(eq=False)
class SnapshotKeeper:
    """Takes the snapshots of one journal. `applied_s` returns how long applying all inputs took.

    `replay_s` is what the journal took to replay at the start. `looked` is called after every look for room.
    """

    journal: SnapshotJournal
    _snapshot: Callable[[], bytes]
    _applied_s: Callable[[], float]
    _looked: Callable[[], None]
    _replay_s: float = 0.0
    _clock: Callable[[], float] = trio.current_time
    _blocking: Blocking = _in_thread
    _elsewhere: Elsewhere | None = None
    taken_at_s: float = field(default=0.0, init=False)
    last_bytes: int = field(default=0, init=False)
    last_stall_s: float = field(default=0.0, init=False)
    _apart_s: float = field(default=0.0, init=False)
    _is_small: bool = field(default=False, init=False)
    _taking: trio.Lock = field(factory=trio.Lock, init=False)
    _waiting: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _upto: int = field(default=0, init=False)
    _applied_before_s: float = field(default=0.0, init=False)
    _written_before: int = field(default=0, init=False)
    _was_full: bool = field(default=False, init=False)
    _wanted: trio.Event = field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        replay_s = self._replay_s
        self._noted()
        if replay_s:
            # What was replayed at this start would be replayed again at the next.
            self._replay_s, self._upto = replay_s, -1

    async def run(self) -> None:
        """Look for ever. Raises `JournalError` when the disk fails."""
        while True:
            has_spare = await self._look_for_room()
            # What a snapshot makes superfluous is room too.
            if self.is_due or (self.journal.is_full and not self._is_costly):
                await self.take()
            if not has_spare:
                await trio.sleep(ROOM_LOOK_S)
                continue
            self._wanted = trio.Event()
            with trio.move_on_after(LOOK_S):
                await self._wanted.wait()

    def hurry(self) -> None:
        """Reserve a segment at once if none is reserved: the last one has just been begun."""
        if self.journal.wants_room:
            self._wanted.set()

    async def _look_for_room(self) -> bool:
        """Reserve the next segment if there is none; return whether it is there."""
        has_spare = not self.journal.wants_room or await self._blocking(self.journal.make_room)
        if self.journal.is_full != self._was_full:
            self._was_full = not self._was_full
            if self._was_full:
                _log.error("journal has no room left: publications are refused until there is some")
            else:
                _log.info("journal has room again: publications are taken")
        self._looked()
        return has_spare

    @property
    def age_s(self) -> float:
        """Return how long ago the last snapshot was taken, or the broker was started."""
        return self._clock() - self.taken_at_s

    @property
    def _is_costly(self) -> bool:
        """Return whether another snapshot now would take too much of the time."""
        return self.age_s * PART_MAX < self.last_stall_s or self.age_s * APART_PART_MAX < self._apart_s

    @property
    def is_due(self) -> bool:
        """Return whether a snapshot is due (law 2)."""
        if self.journal.appended == self._upto or self._is_costly:
            return False
        return (
            self._replay_s + (self._applied_s() - self._applied_before_s) * REPLAY_FACTOR >= REPLAY_S
            or self.journal.written_bytes - self._written_before >= GROWTH_BYTES
            or self.age_s >= AGE_S
        )

    async def take(self) -> None:
        """Take a snapshot and write it. Raises `JournalError`."""
        async with self._taking:
            if self.journal.appended != self._upto:
                await self._take()

    async def _take(self) -> None:
        started_s, self._apart_s = perf_counter(), 0.0
        self._noted()
        upto = self._upto
        content = None
        if self._elsewhere is not None and not self._is_small:
            content = await self._taken_elsewhere(self._elsewhere)
            self._apart_s = perf_counter() - started_s
        if content is None:
            started_s = perf_counter()
            self._noted()
            upto = self._upto
            with undisturbed():
                content = self._snapshot()
            self.last_stall_s = perf_counter() - started_s
        self._is_small = perf_counter() - started_s <= AT_ONCE_S
        is_kept = await self._blocking(self.journal.snapshot, content, upto)
        self.last_bytes = len(content)
        if is_kept:
            _log.debug("snapshot taken", records=upto, size_bytes=len(content), stall_s=self.last_stall_s)
        else:
            _log.warning("journal has no room for a snapshot", size_bytes=len(content))

    async def _taken_elsewhere(self, elsewhere: Elsewhere) -> bytes | None:
        """Take a snapshot in another process; return None if that failed, and do not try it again."""
        content = None
        with trio.CancelScope() as self._waiting:
            try:
                content = await elsewhere(self._snapshot)
                self.last_stall_s = elsewhere.last_stall_s
            except ApartError as error:
                _log.warning("snapshots hold up this broker from now on", reason=str(error))
                self._elsewhere = None
        return content

    def stay(self) -> None:
        """Take later snapshots in this process and at once: no client can be delayed any more."""
        self._elsewhere = None
        self._waiting.cancel()

    def _noted(self) -> None:
        self.taken_at_s = self._clock()
        self._upto = self.journal.appended
        self._replay_s = 0.0
        self._applied_before_s = self._applied_s()
        self._written_before = self.journal.written_bytes
