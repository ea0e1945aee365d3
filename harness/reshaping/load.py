"""The load on an overlay that changes its shape: at each broker a client that publishes and reads everything.

Laws.

1. Everybody reads everything: so all deliveries of two subscriptions are to be in one order, and each
   subscription is to have each event once, unless it got a gap.
2. What is missing is counted by author and number, whatever id a publisher has by then; what is repeated or
   out of order by publishers' ids: what a client publishes again at another broker is another event.
3. Order holds on each side of a gap, and not across it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, pairwise, product
from time import monotonic_ns
from typing import TYPE_CHECKING, Final

import trio
from attrs import Factory, define, frozen

from broker import Client, Deliveries, GapError, connect

if TYPE_CHECKING:
    from broker.filters.constraints import Value

EVERYTHING: Final = "number >= 0"
NS_PER_MS: Final = 1e6

SETTLE_S: Final = 30.0
"""For the last deliveries: a loaded machine is given its time."""

POLL_S: Final = 0.05

Key = tuple[str, int]


@define(eq=False)
class Attendance:
    """One client's subscription: what it was delivered, how late in milliseconds, and its gaps.

    `parts` are the deliveries between gaps, by publishers' ids.
    """

    name: str
    seen: list[Key] = Factory(list)
    parts: list[list[Key]] = Factory(lambda: [[]])
    late_ms: list[tuple[str, float]] = Factory(list)
    gaps: int = 0


@frozen
class ReshapingVerdict:
    """What the subscriptions have seen. `unseen` counts what is missing behind a gap."""

    published: int
    delivered: int
    lost: int
    repeated: int
    disordered: int
    gaps: int
    unseen: int

    @property
    def is_whole(self) -> bool:
        """Return whether every promise was kept."""
        return not (self.lost or self.repeated or self.disordered)


@define(eq=False)
class Load:
    """The clients of one overlay; each knows all brokers, its own first. What goes down begins at `root`.

    They publish from `go` on.
    """

    root: str
    per_second: float
    published: dict[str, int] = Factory(dict)
    seats: dict[str, Attendance] = Factory(dict)
    go: trio.Event = Factory(trio.Event)
    is_over: bool = False

    async def attend(
        self, name: str, addresses: Callable[[], Sequence[str]], task_status: trio.TaskStatus[None]
    ) -> None:
        """Publish and read as the client of one broker, until cancelled."""
        seat = self.seats[name] = Attendance(name)
        async with (
            connect(list(addresses()), name=f"load-{name}", retry=True) as client,
            client.subscribe(EVERYTHING) as deliveries,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(_read, seat, deliveries)
            await nursery.start(self._publish, name, client)
            task_status.started()

    async def _publish(self, name: str, client: Client, task_status: trio.TaskStatus[None]) -> None:
        async with client.advertise(EVERYTHING) as publisher:
            task_status.started()
            self.published[name] = 0
            await self.go.wait()
            while not self.is_over:
                event: dict[str, Value] = {
                    "author": name,
                    "number": self.published[name],
                    "at_ns": monotonic_ns(),
                }
                self.published[name] += 1
                await publisher.publish(event)
                await trio.sleep(1 / self.per_second)

    async def settle(self) -> None:
        """End publishing, and wait for the last deliveries."""
        self.is_over = True
        with trio.move_on_after(SETTLE_S):
            while any(len(seat.seen) < self.total and not seat.gaps for seat in self.seats.values()):  # noqa: ASYNC110 - it ends once
                await trio.sleep(POLL_S)
        await trio.sleep(POLL_S)

    @property
    def total(self) -> int:
        """Return how many events there are."""
        return sum(self.published.values())

    def judge(self) -> ReshapingVerdict:
        """Return what was lost, repeated or out of order (law 1)."""
        seats = self.seats.values()
        missing = {seat.name: self.total - len(set(seat.seen)) for seat in seats}
        return ReshapingVerdict(
            published=self.total,
            delivered=sum(len(seat.seen) for seat in seats),
            lost=sum(missing[seat.name] for seat in seats if not seat.gaps),
            repeated=sum(map(_repeated, seats)),
            disordered=sum(
                _inversions(ours, theirs)
                for one, other in combinations(seats, 2)
                for ours, theirs in product(one.parts, other.parts)
            ),
            gaps=sum(seat.gaps for seat in seats),
            unseen=sum(missing[seat.name] for seat in seats if seat.gaps),
        )

    def marks(self) -> Mapping[str, int]:
        """Return how many deliveries each seat has had, to be given to `late_ms` later."""
        return {name: len(seat.late_ms) for name, seat in self.seats.items()}

    def late_ms(self, since: Mapping[str, int]) -> list[float]:
        """Return how late all events since some marks were, from everywhere to everywhere."""
        return sorted(late for name, seat in self.seats.items() for _, late in seat.late_ms[since[name] :])

    def down_ms(self) -> list[float]:
        """Return how late the root's events were everywhere else."""
        return sorted(
            late
            for seat in self.seats.values()
            for author, late in seat.late_ms
            if author == self.root != seat.name
        )

    def up_ms(self) -> list[float]:
        """Return how late everybody else's events were at the root."""
        return sorted(late for author, late in self.seats[self.root].late_ms if author != self.root)


async def _read(seat: Attendance, deliveries: Deliveries) -> None:
    with suppress(trio.Cancelled):
        while True:
            try:
                async for delivery in deliveries:
                    attributes = delivery.attributes
                    author = str(attributes["author"])
                    seat.seen.append((author, int(str(attributes["number"]))))
                    seat.parts[-1].append((delivery.publisher, delivery.sequence))
                    late_ns = monotonic_ns() - int(str(attributes["at_ns"]))
                    seat.late_ms.append((author, late_ns / NS_PER_MS))
            except GapError:
                seat.gaps += 1
                seat.parts.append([])


def _repeated(seat: Attendance) -> int:
    """Return how many deliveries a subscription had before."""
    delivered = [key for part in seat.parts for key in part]
    return len(delivered) - len(set(delivered))


def _inversions(one: Sequence[Key], other: Sequence[Key]) -> int:
    """Return how many neighbours in one list stand the other way round in the other."""
    places = {key: place for place, key in enumerate(other)}
    common = [places[key] for key in one if key in places]
    return sum(before > after for before, after in pairwise(common))


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value below which that part of sorted values is, or 0 of none."""
    return values[min(int(part * len(values)), len(values) - 1)] if values else 0.0


def lateness(load: Load) -> Iterator[tuple[str, float]]:
    """Yield how late events were on their ways down and up, in milliseconds."""
    for way, values in (("down", load.down_ms()), ("up", load.up_ms())):
        for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
            yield f"{way}_{name}_ms", round(quantile(values, part), 2)


def as_row(load: Load) -> Mapping[str, float]:
    """Return the verdict and the lateness of a run, by name."""
    verdict = load.judge()
    counts = {
        name: getattr(verdict, name)
        for name in ("published", "delivered", "lost", "repeated", "disordered", "gaps", "unseen")
    }
    return {**counts, **dict(lateness(load))}


def is_kept(figures: Mapping[str, float]) -> bool:
    """Return whether nothing was lost, repeated or out of order, and no subscription got a gap."""
    return not any(figures[name] for name in ("lost", "repeated", "disordered", "gaps"))
