"""A real broker that is killed under load, and started again on the same port with the same journal."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random

import trio
from attrs import define, field

from broker import Deliveries, Publisher, connect
from tests.sources import ROOT

WAIT_S = 60
KILLS = 4
FLUSHED = 40


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@define
class Killed:
    """A broker that is started again whenever it has been killed."""

    port: int
    journal: Path
    process: trio.Process | None = None
    is_wanted: bool = True
    ready: trio.Event = field(factory=trio.Event)

    async def run(self) -> None:
        while self.is_wanted:
            async with trio.open_nursery() as nursery:
                run = partial(
                    trio.run_process,
                    [
                        sys.executable,
                        "-m",
                        "broker",
                        "broker",
                        "--name",
                        "B1",
                        "--listen",
                        f"127.0.0.1:{self.port}",
                        "--journal",
                        str(self.journal),
                        "--log-level",
                        "error",
                    ],
                    cwd=ROOT,
                    stdout=subprocess.PIPE,
                    check=False,
                )
                self.process = await nursery.start(run)
                assert self.process is not None
                assert self.process.stdout is not None
                if b"listening" in await self.process.stdout.receive_some():
                    self.ready.set()

    def kill(self) -> None:
        assert self.process is not None
        self.ready = trio.Event()
        os.kill(self.process.pid, signal.SIGKILL)


@asynccontextmanager
async def killed_often(journal: Path) -> AsyncIterator[Killed]:
    broker = Killed(free_port(), journal)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(broker.run)
        with trio.fail_after(WAIT_S):
            await broker.ready.wait()
            yield broker
        broker.is_wanted = False
        assert broker.process is not None
        broker.process.terminate()


async def publish(broker: Killed, publisher: Publisher, random: Random) -> int:
    """Publish and flush; kill the broker somewhere in the middle. Return how many were taken over."""
    kills = sorted(random.sample(range(1, FLUSHED), KILLS))
    last = 0
    for number in range(FLUSHED):
        burst = random.randrange(1, 300)
        kill_at = random.randrange(burst) if number in kills else -1
        for place in range(burst):
            last = await publisher.publish({"x": last + 1}, payload=bytes(random.randrange(500)))
            if place == kill_at:
                await broker.ready.wait()
                broker.kill()
        await publisher.flush()
    return last


async def test_what_flush_returned_for_survives_every_kill_and_comes_once_and_in_order(
    tmp_path: Path,
) -> None:
    received: list[int] = []

    async def read(deliveries: Deliveries) -> None:
        async for delivery in deliveries:
            assert delivery.sequence == delivery.attributes["x"]
            received.append(delivery.sequence)

    async with killed_often(tmp_path / "B1") as broker:
        async with (
            connect(f"127.0.0.1:{broker.port}", name="reader") as reader,
            reader.subscribe("x > 0") as deliveries,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(read, deliveries)
            async with (
                connect(f"127.0.0.1:{broker.port}", name="writer") as writer,
                writer.advertise("x > 0") as publisher,
            ):
                last = await publish(broker, publisher, Random(11))
            while len(received) < last:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        assert received == list(range(1, last + 1))
        with trio.fail_after(WAIT_S):
            await broker.ready.wait()


async def test_a_durable_subscription_misses_nothing_while_its_broker_is_killed(tmp_path: Path) -> None:
    async with killed_often(tmp_path / "B1") as broker:
        address = f"127.0.0.1:{broker.port}"
        async with connect(address, name="audit") as audit, audit.subscribe("x > 0", durable="all"):
            pass
        async with connect(address, name="writer") as writer, writer.advertise("x > 0") as publisher:
            last = await publish(broker, publisher, Random(12))
        await broker.ready.wait()
        received: list[int] = []
        async with (
            connect(address, name="audit") as audit,
            audit.subscribe("x > 0", durable="all") as deliveries,
        ):
            while len(received) < last:
                received.append((await anext(deliveries)).sequence)
        assert received == list(range(1, last + 1))
