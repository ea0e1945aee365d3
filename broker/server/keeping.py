"""The journal of a running broker, from the first input to the last snapshot.

Law: a broker that ends in order leaves a snapshot of its last state, so that its next start replays nothing.
One that does not leaves the synced records, which cover every effect that a peer has seen.
"""

import os
from collections.abc import Callable
from functools import partial
from time import time_ns

import structlog
import trio
from attrs import define, field

from broker.journal import Journal
from broker.journal.journal import CHECK_S
from broker.node import Input, Node, Tick
from broker.server.apart import Apart
from broker.server.commit import Commit
from broker.server.memory import Memory
from broker.server.snapshots import SnapshotKeeper
from broker.station import snapshot_of

_log = structlog.get_logger()


@define(eq=False)
class Keeping:
    """One broker's journal, with its commit and its snapshots."""

    journal: Journal
    commit: Commit
    snapshots: SnapshotKeeper
    _node: Node
    _step: Callable[[Input], None] = field(default=lambda _: None, init=False)

    @classmethod
    def of(cls, memory: Memory, node: Node) -> "Keeping | None":
        """Keep the journal of a broker, if it has one."""
        journal = memory.journal
        if journal is None:
            return None
        totals = node.exchange.totals
        keeping: Keeping
        snapshots = SnapshotKeeper(
            journal,
            partial(snapshot_of, memory.station),
            lambda: totals.core_s,
            lambda: keeping.look(),  # noqa: PLW0108 - it is made below
            memory.replayed_s,
            elsewhere=Apart() if hasattr(os, "fork") else None,
        )
        keeping = cls(journal, Commit(journal), snapshots, node)
        return keeping

    def look(self) -> None:
        """Notify the node whether the journal has room."""
        self.commit.look(self._step)

    def begin(self, nursery: trio.Nursery, step: Callable[[Input], None]) -> None:
        """Start the tasks that write records and snapshots to the journal."""
        self._step = step
        self.commit.after_sync = self.snapshots.hurry
        nursery.start_soon(self.commit.run, step)
        nursery.start_soon(self.snapshots.run)
        nursery.start_soon(self._watch)

    async def _watch(self) -> None:
        """End the broker if its directory goes while it has nothing to write. Raises `JournalError`."""
        while True:
            await trio.sleep(CHECK_S)
            self.journal.check()

    async def finish(self) -> None:
        """Leave a last snapshot. Raises `JournalError`."""
        self._step(Tick(time_ns()))
        self.snapshots.stay()
        await self.snapshots.take()
        _log.info("journal closed", journal=str(self.journal.path), records=self.journal.synced)

    def close(self) -> None:
        """Write all records to disk and close the directory, however the broker ended."""
        self.journal.close()
