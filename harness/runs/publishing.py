"""Publishers of a run, as any user would write them: they advertise, publish when it is due, and flush."""

from collections.abc import Iterator
from time import time_ns

import trio
from attrs import define

from broker import Client, Publisher, connect
from broker.filters.constraints import Value
from harness.runs.crew import Crew
from harness.runs.ledger import Ledger
from harness.runs.matching import audience_size
from harness.runs.pace import due_times
from harness.runs.plan import Seat

__all__ = ["publish"]


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
