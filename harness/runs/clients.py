"""Publishers and subscribers of a run, as any user would write them.

Publishers advertise, publish when it is due, and flush. Subscribers note what they are delivered, and when.

A broker that was restarted without a journal has forgotten a subscription, and the client makes a new one
in its place. The trace tells the two apart: the second gets the subscriber's name with a number, `sub-3#2`,
and positions from 0.
"""

from collections.abc import Iterator
from time import time_ns
from typing import Final

import trio
from attrs import define, field

from broker import Client, Deliveries, GapError, Publisher, SubscriptionEndedError, connect
from broker.filters.constraints import Value
from harness.runs.crew import Crew, Ledger, Slowness, audience_size, is_ordered
from harness.runs.plan import Seat, due_times, stream_name

FORGOTTEN: Final = "forgotten"
"""The reason of a gap behind which another subscription goes on."""


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
    """Publishes what its publisher has to publish, and notes it."""

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
        """Wait until everything is taken over. If the id has changed, one more tells what became of it."""
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
        """When each publication is due, and what it is."""
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
            # Too slow, and told to end then: that is an outcome, and nobody else's matter.
            crew.ended[name] = str(error)


@define(eq=False)
class _Reader:
    """Notes the deliveries of one subscription. `stream` is what the trace calls it."""

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
