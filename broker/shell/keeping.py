"""The journal of a running broker: what looks after it from the first input to the last picture.

Law: a broker that ends in order leaves a picture of its last state, so that its next start replays nothing.
One that does not leaves what was synced, which is everything that anybody was told.
"""

import os
from functools import partial

import structlog
import trio
from attrs import define

from broker.journal import Journal
from broker.shell.apart import Apart
from broker.shell.commit import Commit
from broker.shell.exchange import Exchange
from broker.shell.memory import Memory
from broker.shell.pictures import Pictures
from broker.station import picture_of

__all__ = ["Keeping"]

_log = structlog.get_logger()


@define(eq=False)
class Keeping:
    """One broker's journal, with its commit and its pictures."""

    journal: Journal
    commit: Commit
    pictures: Pictures
    _exchange: Exchange

    @classmethod
    def of(cls, memory: Memory, exchange: Exchange) -> "Keeping | None":
        """Look after the journal of a broker, if it has one."""
        journal, commit = memory.journal, exchange.commit
        if journal is None or commit is None:
            return None
        picture = partial(picture_of, memory.station)
        totals = exchange.totals
        pictures = Pictures(
            journal,
            picture,
            lambda: totals.core_s,
            exchange.grant_withheld,
            memory.replayed_s,
            elsewhere=Apart() if hasattr(os, "fork") else None,
        )
        return cls(journal, commit, pictures, exchange)

    def begin(self, nursery: trio.Nursery) -> None:
        """From now on every input is written down before anybody hears of what follows from it."""
        self._exchange.station.begin(self.commit.record)
        self.commit.after_sync = self.pictures.hurry
        nursery.start_soon(self.commit.run, self._exchange.seal, self._exchange.send_sealed)
        nursery.start_soon(self.pictures.run)

    async def finish(self) -> None:
        """Leave a last picture. Raises `JournalError`."""
        self._exchange.settle()
        self.pictures.stay()
        await self.pictures.take()
        _log.info("journal closed", journal=str(self.journal.path), records=self.journal.synced)

    def close(self) -> None:
        """Get everything to disk and let go of the directory, however the broker ended."""
        self.journal.close()
