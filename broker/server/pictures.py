"""Pictures of the station for the journal, and room for what comes.

Laws:

1. A picture is of the state between two steps. A small one is taken at once, any other in a process of its
   own (`broker.server.apart`): the broker goes on meanwhile. It is written in a thread.
2. It is taken when replaying what came since the last one would take `REPLAY_S` (told from how long it took
   to apply), or when `GROWTH_BYTES` have been written, or after `AGE_S` if anything was: so a start is quick
   and the directory bounded. A large state is pictured more rarely: at most `PART_MAX` of the broker's time,
   and `APART_PART_MAX` of another process's.
3. The next segment is reserved as soon as one is begun. If there is no room on the disk, nothing more is
   taken from clients (`JournalState.is_full`), and it is asked for until there is some.
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
"""A fifth of the two seconds in which a broker is to be back. Python and its modules take as long, and all of
it takes several times as long on busy processors. Pictures hold up nobody, so more of them are cheap."""

REPLAY_FACTOR: Final = 3.0
"""Replaying takes so many times as long as applying did: frames are decoded again, which was not timed."""

GROWTH_BYTES: Final = 256 * 1024 * 1024
"""The directory holds at most about twice this, two pictures, and two segments."""

AGE_S: Final = 600.0
"""A quiet broker's picture is not older, so that it does not replay the same few inputs for weeks."""

PART_MAX: Final = 0.05
"""The part of the time that pictures may take of the broker's own."""

APART_PART_MAX: Final = 0.25
"""The same of the time of processes apart: they yield to the broker, but not to others."""

AT_ONCE_S: Final = 0.005
"""A picture that was taken in less is taken at once the next time, too: a fork takes about as long."""

LOOK_S: Final = 0.1
"""How often it looks whether anything is due: much shorter than half a segment lasts."""

ROOM_LOOK_S: Final = 1.0
"""How often it asks for room when there was none."""

_log = structlog.get_logger()


class Album(Protocol):
    """What this needs of a journal (`broker.journal.Journal`)."""

    @property
    def appended(self) -> int:
        """The number of the last record."""

    @property
    def written_bytes(self) -> int:
        """What was written since it was opened."""

    @property
    def wants_room(self) -> bool:
        """Whether `make_room` has something to do."""

    @property
    def is_full(self) -> bool:
        """Whether publications are refused."""

    def make_room(self) -> bool:
        """Reserve what comes next; blocks."""

    def snapshot(self, content: bytes, upto: int) -> bool:
        """Keep a picture; blocks. Return whether there was room."""


class Blocking(Protocol):
    """Makes a call that blocks, where it holds up nobody else."""

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
class Pictures:
    """Looks after one journal. `applied_s` says how long all inputs together took to apply.

    `replay_s` is what the journal took to replay at the start. `looked` is called after every look for room.
    """

    album: Album
    _picture: Callable[[], bytes]
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
            # What a picture makes superfluous is room too.
            if self.is_due or (self.album.is_full and not self._is_costly):
                await self.take()
            if not has_spare:
                await trio.sleep(ROOM_LOOK_S)
                continue
            self._wanted = trio.Event()
            with trio.move_on_after(LOOK_S):
                await self._wanted.wait()

    def hurry(self) -> None:
        """Look now if there is no segment in reserve: the last one has just been begun."""
        if self.album.wants_room:
            self._wanted.set()

    async def _look_for_room(self) -> bool:
        """Reserve the next segment if there is none; return whether it is there."""
        has_spare = not self.album.wants_room or await self._blocking(self.album.make_room)
        if self.album.is_full != self._was_full:
            self._was_full = not self._was_full
            if self._was_full:
                _log.error("journal has no room left: publications are refused until there is some")
            else:
                _log.info("journal has room again: publications are taken")
        self._looked()
        return has_spare

    @property
    def age_s(self) -> float:
        """How long ago the last picture was taken, or the broker was started."""
        return self._clock() - self.taken_at_s

    @property
    def _is_costly(self) -> bool:
        """Whether another picture already would take too much of the time."""
        return self.age_s * PART_MAX < self.last_stall_s or self.age_s * APART_PART_MAX < self._apart_s

    @property
    def is_due(self) -> bool:
        """Whether it is time for a picture."""
        if self.album.appended == self._upto or self._is_costly:
            return False
        return (
            self._replay_s + (self._applied_s() - self._applied_before_s) * REPLAY_FACTOR >= REPLAY_S
            or self.album.written_bytes - self._written_before >= GROWTH_BYTES
            or self.age_s >= AGE_S
        )

    async def take(self) -> None:
        """Take a picture and write it. Raises `JournalError`."""
        async with self._taking:
            if self.album.appended != self._upto:
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
                content = self._picture()
            self.last_stall_s = perf_counter() - started_s
        self._is_small = perf_counter() - started_s <= AT_ONCE_S
        is_kept = await self._blocking(self.album.snapshot, content, upto)
        self.last_bytes = len(content)
        if is_kept:
            _log.debug("picture taken", records=upto, size_bytes=len(content), stall_s=self.last_stall_s)
        else:
            _log.warning("journal has no room for a snapshot", size_bytes=len(content))

    async def _taken_elsewhere(self, elsewhere: Elsewhere) -> bytes | None:
        """Take it in another process; None if that is not possible, and is not tried again."""
        content = None
        with trio.CancelScope() as self._waiting:
            try:
                content = await elsewhere(self._picture)
                self.last_stall_s = elsewhere.last_stall_s
            except ApartError as error:
                _log.warning("pictures hold up this broker from now on", reason=str(error))
                self._elsewhere = None
        return content

    def stay(self) -> None:
        """Nobody is held up any more: take what is left to take here and at once."""
        self._elsewhere = None
        self._waiting.cancel()

    def _noted(self) -> None:
        self.taken_at_s = self._clock()
        self._upto = self.album.appended
        self._replay_s = 0.0
        self._applied_before_s = self._applied_s()
        self._written_before = self.album.written_bytes
