"""An honest publisher and subscriber, with their latencies and losses while their broker is attacked."""

import time
from typing import Final

import trio
from attrs import Factory, define, frozen

from broker import Deliveries, Publisher, connect

PACE_HZ: Final = 500
PAYLOAD: Final = bytes(100)
WINDOW: Final = 2000
_MS: Final = 1000.0


@frozen
class Got:
    """The measurements of honest clients: events per second at full speed, latencies at 500 a second."""

    events_per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float


@define(eq=False)
class _Pair:
    """The counts and latencies of a publisher and a subscriber."""

    published: int = 0
    delivered: int = 0
    latencies_s: list[float] = Factory(list)
    moved: trio.Event = Factory(trio.Event)


async def measure(address: str, seconds: float) -> Got:
    """Publish for so long at full speed, then for so long at a pace. Everything has to be delivered, once."""
    async with (
        connect(address, name="honest") as publishing,
        connect(address, name="reader") as reading,
        reading.subscribe("kind == 'tick'") as deliveries,
        publishing.advertise("kind == 'tick'") as publisher,
    ):
        fast = await _run(publisher, deliveries, seconds, None)
        rate = fast.delivered / seconds
        paced = await _run(publisher, deliveries, seconds, 1 / PACE_HZ)
    latencies = sorted(paced.latencies_s)
    places = (len(latencies) // 2, len(latencies) * 99 // 100, -1)
    p50, p99, most = (latencies[place] * _MS for place in places)
    return Got(rate, p50, p99, most)


async def _run(publisher: Publisher, deliveries: Deliveries, seconds: float, pause_s: float | None) -> _Pair:
    pair = _Pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_publish, publisher, pair, seconds, pause_s)
        await _listen(deliveries, pair)
    return pair


async def _publish(publisher: Publisher, pair: _Pair, seconds: float, pause_s: float | None) -> None:
    until_s = trio.current_time() + seconds
    while trio.current_time() < until_s:
        if pause_s is not None:
            await trio.sleep(pause_s)
        while pair.published - pair.delivered >= WINDOW:
            pair.moved = trio.Event()
            await pair.moved.wait()
        await publisher.publish({"kind": "tick", "at_ns": time.perf_counter_ns()}, PAYLOAD)
        pair.published += 1
    await publisher.publish({"kind": "tick", "at_ns": 0}, PAYLOAD)


async def _listen(deliveries: Deliveries, pair: _Pair) -> None:
    last = 0
    async for delivery in deliveries:
        at_ns = delivery.attributes["at_ns"]
        assert isinstance(at_ns, int)
        assert not last or delivery.sequence == last + 1, "something is missing, or came twice"
        last = delivery.sequence
        if not at_ns:
            return
        pair.latencies_s.append((time.perf_counter_ns() - at_ns) / 1e9)
        pair.delivered += 1
        pair.moved.set()
