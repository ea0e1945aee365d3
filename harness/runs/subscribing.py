"""Subscribers of a run, as any user would write them: they note what they are delivered, and when.

A broker that was restarted without a journal has forgotten a subscription, and the client makes a new one
in its place. The trace tells the two apart: the second gets the subscriber's name with a number, `sub-3#2`,
and positions from 0.
"""

from time import time_ns
from typing import Final

import trio
from attrs import define, field

from broker import Client, Deliveries, GapError, SubscriptionEndedError, connect
from harness.runs.crew import Crew, Slowness, is_ordered
from harness.runs.plan import Seat, stream_name

__all__ = ["subscribe"]

FORGOTTEN: Final = "forgotten"
"""The reason of a gap behind which another subscription goes on."""


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
