"""Writes the node's records to disk, and notifies the node when they are synced.

Laws:

1. Records are appended to the journal in memory in the step that made them. The node keeps
   their effects until they are on disk (`broker.node.effects`).
2. One sync at a time, in a thread. Records that come meanwhile are the next batch. So batches are as large as
   the disk is slow, and need no setting for their size.
3. A sync that fails ends the broker. What the disk has then is unknown, and a second sync would report
   success for pages that the system has given up: only a restart finds out.
"""

from collections.abc import Callable, Sequence
from time import perf_counter

import trio
from attrs import Factory, define, field

from broker.journal import Journal
from broker.node import Input, JournalState, Synced


@define(eq=False)
class Commit:
    """Writes the records of one broker to disk. `syncs`, `sync_s` and `records` are sums since the start.

    `after_sync` is called after every sync.
    """

    store: Journal
    syncs: int = field(default=0, init=False)
    sync_s: float = field(default=0.0, init=False)
    records: int = field(default=0, init=False)
    after_sync: Callable[[], None] = field(default=lambda: None, init=False)
    _wanted: trio.Event = field(factory=trio.Event, init=False)

    _first: int = field(default=Factory(lambda self: self.store.appended, takes_self=True), init=False)
    _state: JournalState = field(default=JournalState(has_room=True, is_full=False), init=False)

    @property
    def is_clear(self) -> bool:
        """Return whether every record is on disk."""
        return self.store.synced >= self.store.appended

    def record(self, records: Sequence[bytes]) -> None:
        """Take records; they will be on disk soon."""
        self._wanted.set()
        for record in records:
            self.store.append(record)

    async def run(self, step: Callable[[Input], None]) -> None:
        """Sync whenever there is something new, for ever. Raises `JournalError` when the disk fails."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            while not self.is_clear:
                await self._sync()
                self.look(step)
                step(Synced(self.store.synced - self._first))
                self.after_sync()

    def look(self, step: Callable[[Input], None]) -> None:
        """Notify the node whether there is room, if that has changed."""
        state = JournalState(self.store.has_room, self.store.is_full)
        if state != self._state:
            self._state = state
            step(state)

    async def _sync(self) -> None:
        before, started_s = self.store.synced, perf_counter()
        await trio.to_thread.run_sync(self.store.flush)
        self.sync_s += perf_counter() - started_s
        self.syncs += 1
        self.records += self.store.synced - before
