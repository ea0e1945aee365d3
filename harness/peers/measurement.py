"""One measurement: servers and workers are started, watched through the phases, and gone when it returns.

Laws:

1. Latency is taken first, at a light rate; then deliveries are counted between two moments while publishers
   publish as fast as the window lets them. Starting and stopping are in neither.
2. Processor time is counted by the kernel in steps of 10 ms, of a process with all its threads, and read from
   `/proc`; a system without it counts nothing.
3. Who is pinned, is pinned with every thread it has; threads that it starts later inherit that. Only Linux
   can do so.
"""

import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from harness.peers.adapter import Adapter
from harness.peers.board import Board, BoardPhase, opened
from harness.peers.records import ages_ms, complete
from harness.peers.worker import Part
from harness.peers.workload import WorkloadShape, WorkloadTiming
from harness.processes import ProcessError, ProgramProcess, start

READY_TIMEOUT_S: Final = 60.0
"""Sixty clients connect in a second; a cluster elects a leader first, and a loaded machine is given more."""

SETTLE_S: Final = 0.5
"""Servers forward subscriptions to each other, and only some acknowledge it."""

QUIET_S: Final = 2.0
"""When nothing has been delivered for so long, nothing is on its way any more."""

WRITE_TIMEOUT_S: Final = 120.0
"""Ten million rows are written in some ten seconds."""

_POLL_S: Final = 0.05

_USER_FIELD: Final = 11
_SYSTEM_FIELD: Final = 12
"""Places in `/proc/PID/stat` after the process's name, which may itself contain spaces."""


@attrs.frozen
class PeerWork:
    """Microseconds of processor time per delivery, by program."""

    publishers_us: float
    servers_us: float
    subscribers_us: float


@attrs.frozen
class Figures:
    """The result of one measurement."""

    deliveries_per_s: float
    work: PeerWork
    p50_ms: float
    p99_ms: float


@attrs.frozen
class _PeerMark:
    """Everything counted up to a moment."""

    at_s: float
    delivered: int
    used_s: tuple[float, ...]

    def since(self, earlier: "_PeerMark") -> tuple[float, PeerWork]:
        delivered = self.delivered - earlier.delivered
        per_delivery = 1e6 / max(delivered, 1)
        work = (per_delivery * (now - then) for now, then in zip(self.used_s, earlier.used_s, strict=True))
        return delivered / (self.at_s - earlier.at_s), PeerWork(*work)


@attrs.frozen(eq=False)
class _PeerRunning:
    """A system at work."""

    board: Board
    publishers: ProgramProcess
    servers: list[ProgramProcess]
    subscribers: ProgramProcess

    def mark(self) -> _PeerMark:
        parties = ([self.publishers], self.servers, [self.subscribers])
        for program in (each for party in parties for each in party):
            program.check_alive()
        times_s = tuple(sum(used_s(program.process.pid) for program in party) for party in parties)
        return _PeerMark(trio.current_time(), sum(self.board.delivered), times_s)

    def pin(self, *, apart: bool) -> None:
        """Keep servers on one half of the cores and clients on the other, or let everybody go anywhere."""
        if sys.platform != "linux":
            return
        cores = sorted(os.sched_getaffinity(0))
        half = len(cores) // 2 if apart else 0
        for program in self.servers:
            _pin(program, cores[:half] or cores)
        for program in (self.publishers, self.subscribers):
            _pin(program, cores[half:])


def _pin(program: ProgramProcess, cores: Collection[int]) -> None:
    program.check_alive()
    assert sys.platform == "linux"
    for thread in Path(f"/proc/{program.process.pid}/task").iterdir():
        try:
            os.sched_setaffinity(int(thread.name), cores)
        except ProcessLookupError:
            continue


def used_s(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[_USER_FIELD]) + int(fields[_SYSTEM_FIELD])) / os.sysconf("SC_CLK_TCK")


async def _answer(worker: ProgramProcess, expected: str, timeout_s: float) -> None:
    answer = "nothing"
    with trio.move_on_after(timeout_s):
        answer = await worker.read_line()
    if answer != expected:
        raise ProcessError(f"{worker.name} printed {answer!r} instead of {expected}: {worker.complaints()}")


@asynccontextmanager
async def running(
    adapter: Adapter, shape: WorkloadShape, timing: WorkloadTiming, folder: Path
) -> AsyncIterator[_PeerRunning]:
    """Start and connect everything; all of it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="concord-peers-") as scratch:
        path = Path(scratch) / "board"
        with opened(path, shape.publishers, shape.subscribers) as board:
            async with trio.open_nursery() as nursery:
                servers = await adapter.start(nursery, shape.servers, Path(scratch))
                part = Part(
                    peer=adapter.name,
                    role="publish",
                    addresses=[server.address for server in servers],
                    publishers=shape.publishers,
                    subscribers=shape.subscribers,
                    rate_per_s=timing.rate_per_s,
                    board=str(path),
                    folder=str(folder),
                )
                # Publishers first: Concord's subscriptions travel towards advertisements that are there, and
                # JetStream's publishers make the stream.
                publishers = await _start_worker(nursery, part)
                subscribers = await _start_worker(nursery, attrs.evolve(part, role="subscribe"))
                yield _PeerRunning(board, publishers, [each.program for each in servers], subscribers)
                nursery.cancel_scope.cancel()


async def _start_worker(nursery: trio.Nursery, part: Part) -> ProgramProcess:
    name = f"{part.role} worker of {part.peer}"
    worker = await start(nursery, name, "harness.leash", ["harness.peers.worker", part.text()])
    await _answer(worker, "ready", READY_TIMEOUT_S)
    return worker


async def _arrived(board: Board) -> None:
    """Return when everything has been delivered, or nothing comes any more."""
    expected = sum(board.published) * len(board.delivered)
    delivered, since_s = -1, 0.0
    while (now := sum(board.delivered)) < expected:
        if now != delivered:
            delivered, since_s = now, trio.current_time()
        elif trio.current_time() - since_s > QUIET_S:
            return
        await trio.sleep(_POLL_S)


async def measure(adapter: Adapter, shape: WorkloadShape, timing: WorkloadTiming, folder: Path) -> Figures:
    """Measure a system once, and leave the datasets of the run in a folder."""
    async with running(adapter, shape, timing, folder) as system:
        board = system.board
        await trio.sleep(SETTLE_S)
        system.pin(apart=timing.pin != "never")
        board.enter(BoardPhase.PACED)
        await trio.sleep(timing.warm_up_s)
        since_ns = time.time_ns()
        await trio.sleep(timing.measure_s)
        until_ns = time.time_ns()
        system.pin(apart=timing.pin == "always")
        board.enter(BoardPhase.FLAT_OUT)
        await trio.sleep(timing.warm_up_s)
        earlier = system.mark()
        await trio.sleep(timing.measure_s)
        deliveries_per_s, work = system.mark().since(earlier)
        board.enter(BoardPhase.STOPPING)
        await _answer(system.publishers, "done", WRITE_TIMEOUT_S)
        await _arrived(board)
        board.enter(BoardPhase.OVER)
        await _answer(system.subscribers, "done", WRITE_TIMEOUT_S)
    complete(folder, shape.subscribers, shape.servers)
    return Figures(deliveries_per_s, work, *ages_ms(folder, since_ns, until_ns))
