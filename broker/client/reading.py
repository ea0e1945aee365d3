"""A subscriber's side of the machine: deliveries in runs, and gaps. No I/O.

Law: the user has had a delivery when the next one is asked for, or when the block is left without an error.
Deliveries that were yielded together are had together. With `ack="manual"` all this has no effect: what was
acknowledged was had, and nothing else.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice, repeat
from typing import Final

from attrs import define, field

from broker.client.delivery import NOT_MANUAL, Delivery, Gap
from broker.client.inbox import Inbox
from broker.client.life import ClientLife
from broker.client.machine import ClientMachine
from broker.errors import ClosedError

_NOTHING: Final[Iterator[Delivery]] = iter(())


def _of_history(_: int) -> None:
    """Take the acknowledgement of what no broker keeps."""


@define(eq=False)
class Reading:
    """One subscription being read. `batch` iterates over the deliveries of the run that was taken last.

    `acknowledge` is what a delivery calls, with its era and its position, when the program acknowledges it.
    """

    inbox: Inbox
    _machine: ClientMachine
    delivery_class: type[Delivery] = Delivery
    batch: Iterator[Delivery] = field(default=_NOTHING, init=False)
    is_closed: bool = field(default=False, init=False)
    acknowledge: Callable[[int, int], None] = field(init=False)
    _count: int = field(default=0, init=False)
    _gathered: list[Delivery] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.acknowledge = self.acknowledged

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
        self._begin(arrived)
        return True

    def _begin(self, arrived: list[bytes]) -> None:
        """Begin with a run of deliveries that was taken."""
        inbox = self.inbox
        if not inbox.max_open or inbox.read_era != inbox.era:
            self._count += len(arrived)  # They are had when the next ones are asked for.
        self._read(arrived)

    def _read(self, frames: list[bytes]) -> None:
        inbox = self.inbox
        reading, positions = inbox.read(iter(frames)), count(inbox.first)
        if not inbox.max_open:
            self.batch = map(self.delivery_class, reading, positions)
        else:
            acknowledge = partial(self.acknowledge, inbox.read_era)
            self.batch = map(self.delivery_class.open, repeat(acknowledge), reading, positions)

    def begin_past(self, frames: list[bytes]) -> None:
        """Read what a history has. It has no positions, and nothing of it is acknowledged."""
        seen = self.inbox.seen
        assert seen is not None, "what comes behind a history may have been in it"
        new = filter(seen.is_new, frames)
        if not self.inbox.max_open:
            self.batch = map(self.delivery_class, new)
        else:
            self.batch = map(self.delivery_class.open, repeat(_of_history), new, repeat(0))

    # --- lists ---

    def gather(self, max_count: int) -> bool:
        """Take deliveries of `batch` into a list of at most so many; return whether there are any."""
        self._gathered += islice(self.batch, max_count - len(self._gathered))
        self.inbox.in_use_count = len(self._gathered) or 1
        return bool(self._gathered)

    def may_gather(self, max_count: int) -> bool:
        """Whether the list may get more deliveries, with no gap between."""
        if len(self._gathered) >= max_count or self.is_closed or self._machine.life is ClientLife.CLOSED:
            return False
        return self.inbox.has_run or self.inbox.may_get_more

    def extend(self) -> bool:
        """Take the next run into the exhausted `batch`, if there is one; the list is not had by that."""
        if not self.inbox.has_run:
            return False
        arrived = self.inbox.take()
        assert isinstance(arrived, list)
        self._begin(arrived)
        return True

    def gathered(self) -> list[Delivery]:
        """Return the list; its deliveries are had together."""
        gathered, self._gathered = self._gathered, []
        return gathered

    def put_back(self) -> None:
        """Put the list back into `batch`."""
        if rest := [*self.gathered(), *self.batch]:
            self.inbox.first = rest[0].position
            self.inbox.in_use_count = 1
            self._read([each.frame for each in rest])

    # --- acknowledgements ---

    def acknowledged(self, era: int, position: int) -> None:
        """Take the acknowledgement of all deliveries up to this position, which is of that era.

        Raises:
            ValueError: no delivery has come at that position, or none is to be acknowledged.
            ClosedError: the subscription's block has been left.
        """
        inbox = self.inbox
        if not inbox.max_open:
            raise ValueError(NOT_MANUAL)
        if self.is_closed:
            text = f"a delivery of {inbox.filter!r} was acknowledged after its block had been left"
            raise ClosedError(f"{text}: it comes again")
        if era != inbox.era:
            return
        if position > inbox.yielded:
            raise ValueError(f"ack: position {position} has not been delivered; {inbox.yielded} is the last")
        self._machine.session.acknowledge(inbox, position)

    def check_open(self) -> None:
        """Raise if the subscription has been left, or the client has failed."""
        self._check()

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
