"""The processes that publish and subscribe while something is measured, several clients in each.

A worker prints `ready` once all its clients are connected and have advertised or subscribed, begins on the
line `go`, and ends when its input does. A subscriber that measures latency then prints every latency, in
nanoseconds, as one JSON object of two lists. Counts are on the board that all processes share.

Run as `python -m harness.benchmarks.workers JOB`, with the job as JSON.
"""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import attrs
import trio

from harness.benchmarks import concord_clients, relay_clients
from harness.benchmarks.board import opened
from harness.benchmarks.jobs import Ages, Client, Job

__all__ = ["main"]

_LINE_BYTES: Final = 64
_STANDARD_INPUT: Final = 0

_Drive = Callable[[Client, "trio.TaskStatus[None]"], Awaitable[None]]

_DRIVES: Final[dict[tuple[str, str], _Drive]] = {
    ("concord", "publish"): concord_clients.publish,
    ("concord", "subscribe"): concord_clients.subscribe,
    ("relay", "publish"): relay_clients.publish,
    ("relay", "subscribe"): relay_clients.subscribe,
}


async def _drive(client: Client, task_status: trio.TaskStatus[None]) -> None:
    await _DRIVES[client.job.target, client.job.role](client, task_status)


async def _obey(go: trio.Event) -> None:
    """Begin when told to, return when the input ends: so a worker never outlives who started it."""
    async with trio.lowlevel.FdStream(_STANDARD_INPUT) as orders:
        while await orders.receive_some(_LINE_BYTES):
            go.set()


async def _work(job: Job) -> None:
    ages = Ages()
    go, halt = trio.Event(), trio.Event()
    with opened(Path(job.board), job.publishers, job.subscribers) as board:
        async with trio.open_nursery() as nursery:
            for place in range(job.first, job.first + job.clients):
                await nursery.start(_drive, Client(job, place, board, ages, go, halt))
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await _obey(go)
            halt.set()
            if job.role == "subscribe":
                nursery.cancel_scope.cancel()
    if job.role == "subscribe" and job.rate_per_s is not None:
        sys.stdout.write(json.dumps(attrs.asdict(ages)) + "\n")


def main() -> None:
    """Do the job named on the command line."""
    trio.run(_work, Job.from_text(sys.argv[1]))


if __name__ == "__main__":
    main()
