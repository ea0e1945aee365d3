"""A subscriber's side of the machine: deliveries in runs, and gaps. No I/O.

Law: the user has had a delivery when the next one is asked for, or when the block is left without an error.
Deliveries that were yielded together are had together.
"""

from collections.abc import Iterator
from itertools import count, islice
from typing import Final

from attrs import define, field

from broker.client.delivery import Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.machine import ClientMachine
from broker.errors import ClosedError

_NOTHING: Final[Iterator[Delivery]] = iter(())


@define(eq=False)
class Reading:
    """One subscription being read. `batch` iterates over the deliveries of the run that was taken last."""

    inbox: Inbox
    _machine: ClientMachine
    batch: Iterator[Delivery] = field(default=_NOTHING, init=False)
    is_closed: bool = field(default=False, init=False)
    _count: int = field(default=0, init=False)

    def advance(self) -> bool | Gap:
        """Take the next run into `batch`, or return the gap before it; false if neither has come.

        Call it when `batch` is exhausted: its deliveries were had, and their credit is given back.

        Raises:
            ConcordError: nothing more will come, and this says why.
        """
        self.inbox.in_use_count = 1
        if self._count:
            self._machine.session.credit(self.inbox, self._count)
            self._count = 0
        arrived = self.inbox.take()
        if arrived is None:
            self._check()
            return False
        if isinstance(arrived, Gap):
            return arrived
        self.batch = map(Delivery, self.inbox.read(iter(arrived)), count(self.inbox.first))
        self._count = len(arrived)
        return True

    def take(self, max_count: int) -> list[Delivery]:
        """Return so many deliveries of `batch` at most, to be had together; none if it is exhausted."""
        taken = list(islice(self.batch, max_count))
        self.inbox.in_use_count = len(taken) or 1
        return taken

    def _check(self) -> None:
        if self.inbox.ended is not None:
            raise self.inbox.ended
        if self.is_closed:
            raise ClosedError(f"subscription {self.inbox.filter!r} was used after its block had been left")
        self._machine.check()

    def close(self, *, had_last: bool) -> None:
        """Leave; `had_last` says whether the program is done with what it got last."""
        self.is_closed = True
        self.inbox.notice_progress(had_last=had_last)
        self.batch = _NOTHING
        self._machine.session.unsubscribe(self.inbox)
