"""How long an overlay of real brokers takes to heal: five of them, and two are killed for good.

B1 is the root, B2 and B3 are below it, B4 is below B2 and B5 below B3. B1 and B2 are killed at once. B3 has
lost its root, B4 all brokers above it: B4 finds B3 by the addresses it has received before. A publisher and a
subscriber at B4 and at B5 go on all the time. What is measured is the time from the kill until each of the
two subscribers gets an event again that the publisher at the other broker has published since.

At the end the two subscribers' deliveries are compared: every publisher's events in order and none twice, and
what both got, in the same order.

Run as `python -m harness.benchmarks.healing`. Almost all of the time is the link timeout: a broker whose
connection breaks is waited for so long before it counts as lost.
"""

import json
import time
from collections.abc import AsyncIterable
from itertools import pairwise
from statistics import median
from typing import Final

import click
import trio
from attrs import define, field

from broker import Publisher, connect
from broker.client import Delivery
from harness import outcomes
from harness.overlay import start_brokers
from harness.processes import ProcessError, ServerProcess

UPLINKS: Final = {"B1": None, "B2": "B1", "B3": "B1", "B4": "B2", "B5": "B3"}
KILLED: Final = ("B1", "B2")
WATCHED: Final = ("B4", "B5")
"""Where a publisher and a subscriber are; after the loss the way between them leads over B3."""

PACE_S: Final = 0.005
"""Between two events of a publisher: short beside everything that is measured."""

QUIET_S: Final = 0.5
"""How long everything runs before the kill, so that events are on their way everywhere."""

AFTERWARDS: Final = 100
"""So many events each subscriber gets from the other broker after the overlay has healed."""

TIMEOUT_S: Final = 60.0
"""On top of the link timeout; healing itself takes a fraction of a second."""


@define
class WatchedSubscriber:
    """One subscriber's deliveries (publisher and number, in order), and when events came across again."""

    broker: str
    got: list[tuple[str, int]] = field(factory=list)
    healed_after_s: float = 0.0
    across_count: int = 0
    is_done: trio.Event = field(factory=trio.Event)

    async def listen(self, deliveries: AsyncIterable[object], killed_s: list[float]) -> None:
        """Note everything; when enough has come from the other broker since the kill, it is done."""
        async for delivery in deliveries:
            if not isinstance(delivery, Delivery):
                continue  # A gap: something may have been lost, which is what this is about.
            event = delivery.attributes
            at, number, sent_s = str(event["at"]), event["number"], event["sent_s"]
            assert isinstance(number, int)
            assert isinstance(sent_s, float)
            self.got.append((at, number))
            if at == self.broker or not killed_s or sent_s < killed_s[0]:
                continue
            self.healed_after_s = self.healed_after_s or time.monotonic() - killed_s[0]
            self.across_count += 1
            if self.across_count == AFTERWARDS:
                self.is_done.set()


@define
class Healing:
    """The result of one run: the later of the two subscribers, and the violations of order."""

    healed_after_s: float
    deliveries: int
    faults: list[str]


def faults_in(one: list[tuple[str, int]], other: list[tuple[str, int]]) -> list[str]:
    """Return the violations of two subscribers: repeats, or two events in different order."""
    faults = []
    for name, got in (("one", one), ("the other", other)):
        for at in WATCHED:
            numbers = [number for place, number in got if place == at]
            if any(later <= earlier for earlier, later in pairwise(numbers)):
                faults.append(f"{name} got events of {at} repeated or out of order")
    common = set(one) & set(other)
    if [each for each in one if each in common] != [each for each in other if each in common]:
        faults.append("the two got the same events in different order")
    return faults


async def measure(link_timeout_s: float) -> Healing:
    """One run with brokers of its own. Raises `ProcessError` if the overlay does not heal."""
    subscribers = [WatchedSubscriber(name) for name in WATCHED]
    with trio.move_on_after(link_timeout_s + TIMEOUT_S):
        async with trio.open_nursery() as nursery:
            servers = await start_brokers(nursery, UPLINKS, ("--link-timeout", str(link_timeout_s)))
            killed_s: list[float] = []
            for subscriber in subscribers:
                await nursery.start(_take_part, servers[subscriber.broker], subscriber, killed_s)
            await trio.sleep(QUIET_S)
            killed_s.append(time.monotonic())
            for name in KILLED:
                servers[name].program.process.kill()
            for subscriber in subscribers:
                await subscriber.is_done.wait()
            nursery.cancel_scope.cancel()
    one, other = subscribers
    if not (one.is_done.is_set() and other.is_done.is_set()):
        raise ProcessError(f"the overlay did not heal within {link_timeout_s + TIMEOUT_S:g} s")
    healed_after_s = max(one.healed_after_s, other.healed_after_s)
    return Healing(healed_after_s, len(one.got) + len(other.got), faults_in(one.got, other.got))


async def _take_part(
    server: ServerProcess,
    subscriber: WatchedSubscriber,
    killed_s: list[float],
    task_status: trio.TaskStatus[None],
) -> None:
    """Publish and subscribe at one broker, until cancelled."""
    async with (
        connect(server.address, name=f"at {subscriber.broker}") as client,
        client.subscribe("number > 0") as deliveries,
        client.advertise("number > 0") as publisher,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(subscriber.listen, deliveries.with_gaps(), killed_s)
        nursery.start_soon(_publish, publisher, subscriber.broker)
        task_status.started()


async def _publish(publisher: Publisher, at: str) -> None:
    number = 0
    while True:
        number += 1
        await publisher.publish({"at": at, "number": number, "sent_s": time.monotonic()})
        await trio.sleep(PACE_S)


async def _measure_all(repeat: int, link_timeout_s: float) -> list[Healing]:
    return [await measure(link_timeout_s) for _ in range(repeat)]


@click.command(epilog="Example: python -m harness.benchmarks.healing --link-timeout 2 --repeat 5")
@click.option("--link-timeout", type=click.FloatRange(min=0, min_open=True), default=2.0, show_default=True)
@click.option("--repeat", type=click.IntRange(min=1), default=5, show_default=True)
def command(link_timeout: float, repeat: int) -> None:
    """Kill the root and a middle broker of five, and time how long it takes until events cross again."""
    runs = outcomes.run(_measure_all, repeat, link_timeout)
    times = sorted(run.healed_after_s for run in runs)
    figures = {
        "link_timeout_s": link_timeout,
        "runs": len(runs),
        "healed_after_s_p50": round(median(times), 3),
        "healed_after_s_max": round(times[-1], 3),
        "deliveries": sum(run.deliveries for run in runs),
        "faults": [fault for run in runs for fault in run.faults],
    }
    click.echo(json.dumps(figures))


if __name__ == "__main__":
    command()
