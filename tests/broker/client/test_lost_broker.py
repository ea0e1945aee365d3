"""Clients whose broker, a process of its own, is killed and never started again."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import trio

from broker import Delivery, Gap, connect
from tests.broker.server.overlay import WAIT_S, running, settings
from tests.sources import ROOT

LINK_TIMEOUT_S = 1.0


@asynccontextmanager
async def process_below(uplink: str) -> AsyncIterator[tuple[trio.Process, str]]:
    """A broker in a process of its own, with its address."""
    options = ["--name", "B2", "--listen", "127.0.0.1:0", "--uplink", uplink, "--log-level", "error"]
    command = [sys.executable, "-m", "broker", "broker", *options, "--link-timeout", str(LINK_TIMEOUT_S)]
    async with trio.open_nursery() as nursery:
        run = partial(trio.run_process, command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
        process: trio.Process = await nursery.start(run)
        assert process.stdout is not None
        said = b""
        while b"\n" not in said:
            said += await process.stdout.receive_some()
        yield process, said.split()[-1].decode()
        nursery.cancel_scope.cancel()


async def test_after_a_kill_for_good_everything_goes_on_at_another_broker() -> None:
    async with (
        running(settings("B1", link_timeout_s=LINK_TIMEOUT_S)) as root,
        process_below(root.address) as (process, address),
        connect(root.address, name="alice") as alice,
        connect([address, root.address], name="bob") as bob,
        alice.advertise("n >= 0") as publisher,
        bob.advertise("n < 0") as answers,
        alice.subscribe("n < 0") as answered,
        bob.subscribe("n >= 0", durable="mine") as deliveries,
    ):
        with trio.fail_after(WAIT_S):
            identity = answers.id
            await publisher.publish({"n": 1}, confirm=True)
            assert (await anext(deliveries)).attributes == {"n": 1}
            os.kill(process.pid, signal.SIGKILL)
            await answers.publish({"n": -1}, confirm=True)
            items = deliveries.with_gaps()
            assert await anext(items) == Gap(None)
            await publisher.publish({"n": 2}, confirm=True)
            assert (await anext(deliveries)).attributes == {"n": 2}
            assert (bob.broker, answers.id != identity) == ("B1", True)
            seen = answered.with_gaps()
            # Whether the root or the client is first to take the broker for lost, the gap comes once.
            assert {type(await anext(seen)) for _ in range(2)} == {Gap, Delivery}
