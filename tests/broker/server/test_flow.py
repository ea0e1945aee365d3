"""Nothing gets stuck however small the windows are, in whatever direction events go."""

import pytest
import trio

import broker
from broker import connect
from broker.node import credit, exchange, greeting, links, subscriptions
from tests.broker.server.overlay import Running, chain

COUNT = 400


async def publish(one: Running, name: str, done: trio.Event) -> None:
    async with connect(one.address, name=name) as client, client.advertise("kind == 'x'") as publisher:
        for _ in range(COUNT):
            await publisher.publish({"kind": "x"}, payload=bytes(100))
            await trio.lowlevel.checkpoint()
        await done.wait()


async def listen(deliveries: broker.Deliveries, publishers: int, received: list[tuple[str, int]]) -> None:
    async for delivery in deliveries:
        received.append((delivery.publisher, delivery.sequence))
        if len(received) == COUNT * publishers:
            return


@pytest.mark.parametrize("ordering", ["fifo", "pairwise"])
@pytest.mark.parametrize("waiting_count_max", [0, 20_000])
async def test_every_subscriber_gets_everything_through_the_smallest_windows(
    ordering: str, waiting_count_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SHARED_BYTES", "SHARE_BYTES_MIN", "SHARE_BYTES_MAX", "FIRST_BYTES"):
        monkeypatch.setattr(credit, name, 300)
    monkeypatch.setattr(greeting, "LinkSize", lambda: credit.LinkSize(300))
    monkeypatch.setattr(links, "OUTBOX_BYTES", 500)
    monkeypatch.setattr(subscriptions, "OUTBOX_BYTES", 500)
    monkeypatch.setattr(exchange, "WAITING_COUNT_MAX", waiting_count_max)
    done = trio.Event()
    received: dict[str, list[tuple[str, int]]] = {"top": [], "middle": [], "leaf": []}
    async with (
        chain("B1", "B2", "B3", ordering=ordering) as brokers,
        connect(brokers[0].address, name="top") as top,
        connect(brokers[1].address, name="middle") as middle,
        connect(brokers[2].address, name="leaf") as leaf,
        top.subscribe("kind == 'x'") as at_top,
        middle.subscribe("kind == 'x'") as at_middle,
        leaf.subscribe("kind == 'x'") as at_leaf,
        trio.open_nursery() as publishing,
    ):
        for number, one in enumerate(brokers):
            publishing.start_soon(publish, one, f"p{number}", done)
        async with trio.open_nursery() as listening:
            listening.start_soon(listen, at_top, len(brokers), received["top"])
            listening.start_soon(listen, at_middle, len(brokers), received["middle"])
            listening.start_soon(listen, at_leaf, len(brokers), received["leaf"])
        done.set()
    assert set(received["top"]) == set(received["middle"]) == set(received["leaf"])
    assert all(len(set(each)) == COUNT * len(brokers) for each in received.values())
    assert ordering == "fifo" or received["top"] == received["middle"] == received["leaf"]
