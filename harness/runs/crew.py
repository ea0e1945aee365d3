"""The clients of one process: publishers and subscribers as users write them, and their shared state.

Publishers advertise, publish when it is due, and flush. Subscribers note what they are delivered, and when.

A broker that was restarted without a journal has forgotten its publishers: the client gets a new id, and what
was left in its window is published again under that, numbered from 1. The first number after the change says
how many those were, and so which (`Ledger`). It has forgotten subscriptions, too, and the client makes new
ones in their place. The trace distinguishes the two: the second gets the subscriber's name with a number,
`sub-3#2`, and positions from 0.

What should have been delivered is worked out after the run by matching every publication with every filter.
A publisher's process does it for its own publishers: it knows which event became which number, and events are
the same whenever they are made again.
"""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from time import time_ns
from typing import Final

import trio
from attrs import define, field

from broker import Client, Deliveries, GapError, Publisher, SubscriptionEndedError, connect
from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.trace import RowFiles
from harness.runs.plan import Seat, due_times, stream_name, subscriber_seats
from harness.scenarios import Interests, Scenario, interests
from harness.traces import MATCHES

RECENT_MAX: Final = 200_000
"""Publications remembered for the case that they are published again: more than a client's window holds."""

FORGOTTEN: Final = "forgotten"
"""The reason of a gap behind which another subscription goes on."""


@define(eq=False)
class Slowness:
    """How slowly a subscription is read at present; `per_second` is None if it is not slow."""

    per_second: float | None = None
    until_s: float = 0.0

    async def endure(self) -> None:
        """Take as long over a delivery as a slow program would."""
        if self.per_second is None:
            return
        left_s = self.until_s - trio.current_time()
        if left_s <= 0:
            self.per_second = None
        elif self.per_second > 0:
            await trio.sleep(min(left_s, 1 / self.per_second))
        else:
            await trio.sleep(left_s)


@define(eq=False)
class Crew:
    """The state of one process of clients. `started_s` is by Trio's clock, once `go` is set.

    `expected` counts the deliveries of what these clients published, or is None if that is not known at once.
    """

    scenario: Scenario
    addresses: Mapping[str, str]
    rows: RowFiles
    folder: Path
    go: trio.Event = field(factory=trio.Event)
    started_s: float = 0.0
    published: int = 0
    delivered: int = 0
    expected: int | None = 0
    gaps: int = 0
    publishing: int = 0
    slowness: dict[str, Slowness] = field(factory=dict)
    restarts: dict[str, list[int]] = field(factory=dict)
    ended: dict[str, str] = field(factory=dict)
    interests: Interests = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.interests = interests(self.scenario.filters, self.scenario.seed)

    def chance(self, *words: str) -> Random:
        """Return a source of chance that is the same in every run."""
        return Random("/".join((str(self.scenario.seed), *words)))  # noqa: S311 - repeatable, not secret


def is_ordered(seed: int, name: str, percent: float) -> bool:
    """Return whether a subscription is one of those that ask for order."""
    chance = Random(f"{seed}/{name}/ordered")  # noqa: S311 - repeatable, not secret
    return chance.random() * 100 < percent


@define
class _Span:
    """Publications in a row under one id. `first` is the own number of the one numbered `sequence`."""

    id: str
    sequence: int
    first: int
    count: int


@define(eq=False)
class Ledger:
    """Records every publication. `times_ns` has when each was published, however often it was sent."""

    broker: str
    _rows: RowFiles
    id: str = ""
    times_ns: "array[int]" = field(factory=lambda: array("q"), init=False, repr=False)
    _recent: deque[tuple[int, bool]] = field(factory=lambda: deque(maxlen=RECENT_MAX), init=False)
    _spans: list[_Span] = field(factory=list, init=False)

    def note(self, publisher: str, sequence: int, published_ns: int, *, ordered: bool) -> None:
        """Note that `publish` gave the next publication this number, under the id it has by now."""
        if publisher != self.id:
            self._rename(publisher, min(sequence - 1, len(self._recent)))
        self._row(sequence, published_ns, ordered=ordered)
        self._recent.append((published_ns, ordered))
        self._spans[-1].count += 1
        self.times_ns.append(published_ns)

    @property
    def count(self) -> int:
        """Return the number so far."""
        return len(self.times_ns)

    def _rename(self, publisher: str, resent: int) -> None:
        """From here on it has another id, and the latest publications have been sent again under that."""
        self.id = publisher
        self._forget(resent)
        self._spans.append(_Span(publisher, 1, self.count - resent, resent))
        latest = list(self._recent)[len(self._recent) - resent :]
        for sequence, (published_ns, ordered) in enumerate(latest, 1):
            self._row(sequence, published_ns, ordered=ordered)

    def _forget(self, count: int) -> None:
        """The last publications are known under another id now."""
        while count:
            span = self._spans[-1]
            taken = min(count, span.count)
            span.count -= taken
            count -= taken
            if not span.count:
                self._spans.pop()

    def _row(self, sequence: int, published_ns: int, *, ordered: bool) -> None:
        self._rows.append(self.id, sequence, self.broker, ordered, published_ns)

    def identities(self) -> Iterator[tuple[str, int]]:
        """Every publication's last id and number, in the order in which they were published."""
        for span in self._spans:
            for offset in range(span.count):
                yield span.id, span.sequence + offset


def audience_size(crew: Crew, seat: Seat) -> int:
    """Return how many subscriptions match a publisher's events, if that is the same for all of them."""
    if crew.scenario.filters.kind != "overlap":
        crew.expected = None
        return 0
    event = next(crew.interests.events(seat.name, seat.place))
    return sum(len(names) for text, names in _audiences(crew) if parse(text).match(event))


def write_matches(
    crew: Crew, seats: Sequence[Seat], ledgers: Mapping[str, Ledger], restarts: Mapping[str, list[int]]
) -> None:
    """Write the matches of some publishers.

    `restarts` says when streams of subscribers began anew: each publication belongs to the stream of its
    time.
    """
    rows = MATCHES.writer(crew.folder, crew.rows.stem)
    audiences = [(parse(text), names) for text, names in _audiences(crew)]
    for seat in seats:
        for publisher, sequence, published_ns, wanted_by in _wanted(
            crew, seat, ledgers[seat.name], audiences
        ):
            for name in wanted_by:
                began_before = bisect_right(restarts.get(name, ()), published_ns)
                stream = stream_name(name, began_before)
                rows.append(stream, publisher, sequence)
    rows.flush()


def _audiences(crew: Crew) -> Iterator[tuple[str, list[str]]]:
    """Every filter, with the subscriptions that have it."""
    found: dict[str, list[str]] = {}
    for seat in subscriber_seats(crew.scenario):
        for name in seat.roles:
            found.setdefault(crew.interests.wanted(name, seat.place), []).append(name)
    yield from found.items()


def _wanted(
    crew: Crew, seat: Seat, ledger: Ledger, audiences: Sequence[tuple[Filter, list[str]]]
) -> Iterator[tuple[str, int, int, list[str]]]:
    events = islice(crew.interests.events(seat.name, seat.place), ledger.count)
    for (publisher, sequence), event, published_ns in zip(
        ledger.identities(), events, ledger.times_ns, strict=True
    ):
        for filter_, names in audiences:
            if filter_.match(event):
                yield publisher, sequence, published_ns, names


async def publish(crew: Crew, seat: Seat, ledger: Ledger, task_status: trio.TaskStatus[None]) -> None:
    """Publish for the time of the scenario; stay connected until cancelled."""
    async with connect(crew.addresses[seat.name], name=seat.name, retry=True) as client:
        await _advertise(crew, seat, ledger, client, task_status)


async def _advertise(
    crew: Crew, seat: Seat, ledger: Ledger, client: Client, task_status: trio.TaskStatus[None]
) -> None:
    async with client.advertise(crew.interests.advertised(seat.name, seat.place)) as publisher:
        task_status.started()
        await crew.go.wait()
        crew.publishing += 1
        author = _Author(crew, seat, ledger, publisher, audience_size(crew, seat))
        try:
            with trio.move_on_at(crew.started_s + crew.scenario.duration_s):
                await author.write_all()
            with trio.move_on_after(crew.scenario.drain_s):
                await author.settle()
        finally:
            crew.publishing -= 1
        await trio.sleep_forever()


@define(eq=False)
class _Author:
    """Publishes the events of its publisher, and records them."""

    crew: Crew
    seat: Seat
    ledger: Ledger
    publisher: Publisher
    audience: int

    async def write_all(self) -> None:
        """Publish for ever, whenever it is due."""
        for due_s, event, payload, ordered in self._works():
            delay_s = self.crew.started_s + due_s - trio.current_time()
            if delay_s > 0:
                await trio.sleep(delay_s)
            await self._write(event, payload, ordered=ordered)

    async def settle(self) -> None:
        """Wait until everything is taken over. If the id has changed, one more shows what became of it."""
        await self.publisher.flush()
        if self.ledger.count and self.publisher.id != self.ledger.id:
            _, event, payload, ordered = next(self._works(self.ledger.count))
            await self._write(event, payload, ordered=ordered)
            await self.publisher.flush()

    async def _write(self, event: dict[str, Value], payload: bytes, *, ordered: bool) -> None:
        published_ns = time_ns()
        sequence = await self.publisher.publish(event, payload, ordered=ordered)
        self.ledger.note(self.publisher.id, sequence, published_ns, ordered=ordered)
        self.crew.published += 1
        if self.crew.expected is not None:
            self.crew.expected += self.audience

    def _works(self, skipped: int = 0) -> Iterator[tuple[float, dict[str, Value], bytes, bool]]:
        """Yield each publication with the time when it is due."""
        publishers = self.crew.scenario.publishers
        low, high = publishers.payload_bytes, max(publishers.payload_bytes, publishers.payload_bytes_max)
        sizes, flags = self.crew.chance(self.seat.name, "sizes"), self.crew.chance(self.seat.name, "flags")
        payload = bytes(high)
        times = due_times(publishers, self.crew.chance(self.seat.name, "times"))
        events = self.crew.interests.events(self.seat.name, self.seat.place)
        for number, (due_s, event) in enumerate(zip(times, events, strict=False)):
            size = low if low == high else sizes.randint(low, high)
            is_ordered = flags.random() * 100 < publishers.ordered_percent
            if number >= skipped:
                yield due_s, event, payload if size == high else payload[:size], is_ordered


async def subscribe(crew: Crew, seat: Seat, task_status: trio.TaskStatus[None]) -> None:
    """Subscribe to everything that one connection is for, and read until cancelled."""
    async with (
        connect(crew.addresses[seat.name], name=seat.name, retry=True) as client,
        trio.open_nursery() as nursery,
    ):
        for name in seat.roles:
            await nursery.start(_attend, crew, seat, name, client)
        task_status.started()


async def _attend(
    crew: Crew, seat: Seat, name: str, client: Client, task_status: trio.TaskStatus[None]
) -> None:
    subscribers = crew.scenario.subscribers
    crew.slowness[name] = Slowness()
    async with client.subscribe(
        crew.interests.wanted(name, seat.place),
        ordered=is_ordered(crew.scenario.seed, name, subscribers.ordered_percent),
        bound_bytes=subscribers.bound_bytes,
        policy="drop" if subscribers.policy == "drop" else "disconnect",
    ) as deliveries:
        task_status.started()
        reader = _Reader(crew, seat.broker, name, deliveries)
        try:
            await reader.read()
        except SubscriptionEndedError as error:
            # A slow consumer that its broker ends is an outcome of the run, not an error.
            crew.ended[name] = str(error)


@define(eq=False)
class _Reader:
    """Records the deliveries of one subscription. `stream` is its name in the trace."""

    crew: Crew
    broker: str
    name: str
    deliveries: Deliveries
    stream: str = field(init=False)
    position: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.stream = self.name

    async def read(self) -> None:
        """Read for ever, each gap in its place."""
        while True:
            try:
                await self._note()
            except GapError as gap:
                self.crew.gaps += 1
                if gap.reason == FORGOTTEN:
                    self._begin_again()

    def _begin_again(self) -> None:
        starts = self.crew.restarts.setdefault(self.name, [])
        starts.append(time_ns())
        self.stream, self.position = stream_name(self.name, len(starts)), 0

    async def _note(self) -> None:
        """Note deliveries up to the next gap."""
        crew, append = self.crew, self.crew.rows.append
        slowness = crew.slowness[self.name]
        async for delivery in self.deliveries:
            row = (self.stream, self.broker, self.position, delivery.publisher, delivery.sequence)
            append(*row, time_ns())
            self.position += 1
            crew.delivered += 1
            if slowness.per_second is not None:
                await slowness.endure()
