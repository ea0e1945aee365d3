"""Exactly once, with Spark itself: executors and drivers are killed in the middle of a batch."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select

import pytest

from broker.client.blocking import connect
from tests.broker.client.stage import stage
from tests.sources import ROOT

pytestmark = pytest.mark.timeout(600)
"""Spark is started twice, once as a cluster: four Java machines, which may have little of the processors."""

COUNT = 70
EXECUTOR = b"CoarseGrainedExecutorBackend"


@contextmanager
def driver(master: str, broker: str, folder: Path, port: int = 0) -> Iterator["subprocess.Popen[str]"]:
    """A driver in a session of its own, which is killed with all that it has started."""
    program = [sys.executable, "-m", "tests.broker.spark.driver", master, broker, str(folder), str(port)]
    process = subprocess.Popen(  # noqa: S603 - the program beside this one
        program,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill(process.pid)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def members(session: int) -> Iterator[Path]:
    """The processes of a session."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(place.name)) == session:
                yield place


def kill(session: int) -> None:
    for place in members(session):
        with suppress(ProcessLookupError):
            os.kill(int(place.name), signal.SIGKILL)


@contextmanager
def task_in_the_middle(port: socket.socket, started: "subprocess.Popen[str]") -> Iterator[int]:
    """A task that is held in the middle of a batch, by the executor that runs it."""
    assert started.stdout is not None
    ready, _, _ = select([port.fileno(), started.stdout.fileno()], [], [])
    assert port.fileno() in ready, "the driver has ended"
    connection, _ = port.accept()
    with connection, connection.makefile() as said:
        yield executor_of(Path("/proc", said.readline().strip()))


def executor_of(place: Path) -> int:
    while EXECUTOR not in (place / "cmdline").read_bytes():
        place = place.parent / (place / "stat").read_text().rpartition(")")[2].split()[1]
    return int(place.name)


def test_killed_executors_and_a_killed_driver_lose_and_repeat_nothing(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        stage() as broker,
        connect(broker.address) as client,
        client.advertise("exists(n)") as publisher,
        connect(broker.address, name="spark") as owner,
    ):
        for number in (1, 2):
            with owner.subscribe(f"side == {number - 1}", durable=f"killed-{number}"):
                pass
        for n in range(COUNT):
            publisher.publish({"n": n, "side": n % 2})
        publisher.flush()
        with (
            driver("local-cluster[2,1,1024]", broker.address, tmp_path, port.getsockname()[1]) as first,
            task_in_the_middle(port, first) as executor,
        ):
            os.kill(executor, signal.SIGKILL)
            with task_in_the_middle(port, first) as another:  # The same task, run again.
                assert another != executor
                kill(first.pid)
        publisher.publish({"n": COUNT, "side": 0}, confirm=True)
        with driver("local[2]", broker.address, tmp_path) as second:
            assert second.stdout is not None
            printed = second.stdout.read()
        rows = json.loads(printed)
        assert sorted(rows) == [[n, n // 2 + 1] for n in range(COUNT + 1)]
        kept = owner.durable_subscriptions()
        assert [each["taken"] for each in kept] == [each["emitted"] for each in kept]
