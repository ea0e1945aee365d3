"""The publications that wait for subscribers, and the rules of delivery by which the forms differ."""

from collections.abc import Callable, Sequence

from attrs import Factory, define

from ordering.interface import Event, Hops


@define(eq=False)
class Flight:
    """A publication at one broker, until every acknowledgement for it is in.

    `acks` are the paper's acks(p, h): by hop, the hops whose acknowledgements it awaits. `numbers` are those
    of the copies that left with a flag, by link, `number` that of the copy received from `origin`. `never`
    are the hops that await an acknowledgement of a lost hop (reading 10).
    """

    event: Event
    origin: Hops
    number: int = 0
    acks: dict[Hops, Hops] = Factory(dict)
    numbers: dict[Hops, int] = Factory(dict)
    never: Hops = 0

    def await_from(self, hop: Hops, source: Hops) -> None:
        """Add a hop, or several, to acks(p, hop)."""
        if source:
            self.acks[hop] = self.acks.get(hop, 0) | source

    def is_free(self, hop: Hops) -> bool:
        """Return whether the publication may go to this hop."""
        return hop not in self.acks and not hop & self.never

    def acknowledged(self, source: Hops) -> list[Hops]:
        """Take an acknowledgement; return the hops that await nothing more."""
        free = []
        for hop, awaited in list(self.acks.items()):
            if awaited & source:
                if awaited == source:
                    del self.acks[hop]
                    free.append(hop)
                else:
                    self.acks[hop] = awaited & ~source
        return [hop for hop in free if not hop & self.never]

    def forget(self, hop: Hops) -> None:
        """Forget a lost hop: nothing goes there, and its acknowledgements never come."""
        self.acks.pop(hop, None)
        self.never &= ~hop
        for other, awaited in list(self.acks.items()):
            if awaited & hop:
                self.never |= other
                self.acks[other] = awaited & ~hop
        self.acks = {other: awaited for other, awaited in self.acks.items() if awaited}


Due = Callable[[Hops, Sequence[Flight]], int]
"""Returns how many of the first flights in a subscriber's queue are to be delivered now."""


def when_all_are_free(hop: Hops, queue: Sequence[Flight]) -> int:
    """Return the length of the queue if all flights are free, else 0."""
    return len(queue) if all(flight.is_free(hop) for flight in queue) else 0


def the_free_prefix(hop: Hops, queue: Sequence[Flight]) -> int:
    """Return the number of flights before the first that still waits."""
    for position, flight in enumerate(queue):
        if not flight.is_free(hop):
            return position
    return len(queue)


@define(eq=False)
class Queues:
    """The delayed publications by local subscription; a subscription without any has no queue."""

    by_hop: dict[Hops, list[Flight]] = Factory(dict)
    waiting_count: int = 0

    def take(self, hop: Hops, flight: Flight) -> bool:
        """Delay a publication for a subscriber if it, or an earlier one, is not free; return whether."""
        if hop not in self.by_hop and flight.is_free(hop):
            return False
        self.by_hop.setdefault(hop, []).append(flight)
        self.waiting_count += 1
        return True

    def deliver(self, hop: Hops, is_due: Due) -> list[Flight]:
        """Remove the publications that are due; return them sorted by message id."""
        queue = self.by_hop.get(hop, [])
        due = is_due(hop, queue)
        delivered = sorted(queue[:due], key=_message_id)
        del queue[:due]
        self.waiting_count -= due
        if not queue:
            self.by_hop.pop(hop, None)
        return delivered

    def forget(self, hop: Hops) -> None:
        """Remove the queue of a lost subscriber."""
        self.waiting_count -= len(self.by_hop.pop(hop, ()))


def _message_id(flight: Flight) -> tuple[str, int]:
    return flight.event.publisher, flight.event.sequence
