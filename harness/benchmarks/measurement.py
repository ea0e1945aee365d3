"""One measurement: servers and workers are started, watched for a while, and gone when it returns.

Laws:

1. Throughput is read from the board at two moments while everything runs; starting and stopping are not in
   it.
2. Latency is taken at a rate far below what is possible, so that it says how long an event is under way and
   not how long it queues. Afterwards every subscriber must have been delivered everything.
3. Processor time is counted by the kernel in steps of 10 ms and read from `/proc`; a system without it counts
   nothing.
"""

import json
import os
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from harness.benchmarks.jobs import Ages, LoadBoard, LoadJob, opened
from harness.benchmarks.rounds import BenchmarkScenario, RoundTiming
from harness.overlay import start_brokers
from harness.processes import ProcessError, ProgramProcess, ServerProcess, start, start_server

READY_TIMEOUT_S: Final = 60.0
"""Sixty clients connect and subscribe through five brokers in a second; a loaded machine is given more."""

ARRIVAL_TIMEOUT_S: Final = 10.0
"""Everything published is delivered within milliseconds of the last event, or was lost."""

_POLL_S: Final = 0.01

_USER_FIELD: Final = 11
_SYSTEM_FIELD: Final = 12
"""Places in `/proc/PID/stat` after the process's name, which may itself contain spaces."""


@attrs.frozen
class Target:
    """The measured system, and how its brokers are started."""

    kind: str
    """`concord` or `relay`."""
    ordering: str = "pairwise"
    journals: Path | None = None
    """Where the brokers keep their journals, if they keep any."""
    reads: bool = True
    """Whether subscribers look at what they are delivered. Reading costs: the client decodes on demand."""


@attrs.frozen
class Work:
    """Microseconds of processor time per delivery, by program."""

    publishers_us: float
    brokers_us: float
    subscribers_us: float


@attrs.frozen
class Throughput:
    """Events per second, summed over all publishers or all subscribers."""

    events_per_s: float
    deliveries_per_s: float
    work: Work


@attrs.frozen
class Latency:
    """From just before `publish` to the subscriber's loop, over all deliveries."""

    p50_ms: float
    p99_ms: float
    own_p50_ms: float | None
    """Of publishers at the subscriber's own broker, if there are any."""
    other_p50_ms: float | None
    """Of publishers elsewhere."""


@attrs.frozen
class _Mark:
    """Everything counted up to a moment."""

    at_s: float
    published: int
    delivered: int
    used_s: tuple[float, ...]

    def since(self, earlier: "_Mark") -> Throughput:
        lasted_s = self.at_s - earlier.at_s
        delivered = self.delivered - earlier.delivered
        per_delivery = 1e6 / max(delivered, 1)
        work = (per_delivery * (now - then) for now, then in zip(self.used_s, earlier.used_s, strict=True))
        return Throughput((self.published - earlier.published) / lasted_s, delivered / lasted_s, Work(*work))


def _used_s(programs: Iterable[ProgramProcess]) -> float:
    """Seconds of processor time that running programs have used together since they started."""
    return sum(_one_used_s(Path("/proc") / str(program.process.pid) / "stat") for program in programs)


def _one_used_s(stat: Path) -> float:
    try:
        fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[_USER_FIELD]) + int(fields[_SYSTEM_FIELD])) / os.sysconf("SC_CLK_TCK")


@attrs.frozen(eq=False)
class _Running:
    board: LoadBoard
    publishers: list[ProgramProcess]
    subscribers: list[ProgramProcess]
    servers: list[ServerProcess]

    def check(self) -> None:
        for programs in self.parties():
            for program in programs:
                program.check_alive()

    def parties(self) -> tuple[list[ProgramProcess], list[ProgramProcess], list[ProgramProcess]]:
        return self.publishers, [server.program for server in self.servers], self.subscribers

    def mark(self) -> _Mark:
        return _Mark(
            trio.current_time(),
            sum(self.board.published),
            sum(self.board.delivered),
            tuple(_used_s(programs) for programs in self.parties()),
        )


@contextmanager
def _board_file(scenario: BenchmarkScenario) -> Iterator[tuple[Path, LoadBoard]]:
    with tempfile.TemporaryDirectory(prefix="concord-benchmark-") as folder:
        path = Path(folder) / "board"
        with opened(path, scenario.publishers, scenario.subscribers) as board:
            yield path, board


async def _start_servers(
    nursery: trio.Nursery, target: Target, scenario: BenchmarkScenario
) -> list[ServerProcess]:
    if target.kind == "concord":
        options = ("--ordering", target.ordering)
        brokers = await start_brokers(nursery, scenario.uplinks(), options, journals=target.journals)
        return list(brokers.values())
    assert not scenario.is_spread, "relays pass frames one way"
    relays: list[ServerProcess] = []
    for number in range(1, scenario.brokers + 1):
        source = ("--from", relays[-1].address) if relays else ()
        relays.append(await start_server(nursery, f"relay {number}", "harness.benchmarks.relay", source))
    return relays


def _shares(clients: int, processes: int) -> Iterator[range]:
    """Divide places among processes as evenly as they go."""
    for process in range(processes):
        yield range(clients * process // processes, clients * (process + 1) // processes)


async def _start_workers(nursery: trio.Nursery, job: LoadJob, processes: int) -> list[ProgramProcess]:
    clients = job.publishers if job.role == "publish" else job.subscribers
    workers = []
    for share in _shares(clients, processes):
        part = attrs.evolve(job, clients=len(share), first=share.start)
        name = f"{job.role} worker of {job.target}"
        workers.append(await start(nursery, name, "harness.benchmarks.workers", [part.text()]))
    for worker in workers:
        with trio.fail_after(READY_TIMEOUT_S):
            answer = await worker.read_line()
        if answer != "ready":
            raise ProcessError(f"{worker.name} printed {answer!r} instead of ready")
    return workers


@asynccontextmanager
async def _running(
    target: Target, scenario: BenchmarkScenario, rate_per_s: float | None
) -> AsyncIterator[_Running]:
    """Start and connect everything, waiting for `go`; all of it ends with the block."""
    with _board_file(scenario) as (path, board):
        async with trio.open_nursery() as nursery:
            servers = await _start_servers(nursery, target, scenario)
            publishing = LoadJob(
                target=target.kind,
                role="publish",
                addresses=tuple(
                    server.address for server in (servers if scenario.is_spread else servers[:1])
                ),
                clients=0,
                first=0,
                publishers=scenario.publishers,
                subscribers=scenario.subscribers,
                board=str(path),
                reads=target.reads,
                rate_per_s=None if rate_per_s is None else rate_per_s / scenario.publishers,
            )
            ends = publishing.addresses if scenario.is_spread else (servers[-1].address,)
            subscribing = attrs.evolve(publishing, role="subscribe", addresses=ends)
            # Publishers first: subscriptions travel towards advertisements that are already there.
            publishers = await _start_workers(nursery, publishing, scenario.publisher_processes)
            subscribers = await _start_workers(nursery, subscribing, scenario.subscriber_processes)
            yield _Running(board, publishers, subscribers, servers)
            nursery.cancel_scope.cancel()


async def _go(programs: list[ProgramProcess]) -> None:
    for program in programs:
        await program.write_line("go")


async def throughput(target: Target, scenario: BenchmarkScenario, timing: RoundTiming) -> Throughput:
    """Publish as fast as it goes, and count between two moments."""
    async with _running(target, scenario, None) as running:
        await _go(running.publishers)
        await trio.sleep(timing.warm_up_s)
        earlier = running.mark()
        await trio.sleep(timing.measure_s)
        later = running.mark()
        running.check()
    return later.since(earlier)


async def _all_arrived(board: LoadBoard) -> None:
    expected = sum(board.published)
    with trio.move_on_after(ARRIVAL_TIMEOUT_S):
        while min(board.delivered) < expected:  # noqa: ASYNC110 - other processes write the board, and set no event
            await trio.sleep(_POLL_S)
    if any(count != expected for count in board.delivered):
        raise ProcessError(f"{expected} events were published, and delivered {sorted(board.delivered)} times")


async def latency(target: Target, scenario: BenchmarkScenario, timing: RoundTiming) -> Latency:
    """Publish at a steady light rate, and time every delivery after the warm-up."""
    async with _running(target, scenario, timing.rate_per_s) as running:
        await _go(running.publishers)
        await trio.sleep(timing.warm_up_s)
        await _go(running.subscribers)
        await trio.sleep(timing.measure_s)
        running.check()
        for program in running.publishers:
            await program.close_input()
            await program.process.wait()
        await _all_arrived(running.board)
        ages = Ages()
        for program in running.subscribers:
            await program.close_input()
            measured = json.loads(await program.read_line())
            ages.own_ns.extend(measured["own_ns"])
            ages.other_ns.extend(measured["other_ns"])
    return _percentiles(ages)


def _percentiles(ages: Ages) -> Latency:
    every_ns = [*ages.own_ns, *ages.other_ns]
    if not every_ns:
        raise ProcessError("nothing was delivered while latency was measured")
    return Latency(
        _percentile_ms(every_ns, 50),
        _percentile_ms(every_ns, 99),
        _percentile_ms(ages.own_ns, 50) if ages.own_ns else None,
        _percentile_ms(ages.other_ns, 50) if ages.other_ns else None,
    )


def _percentile_ms(ages_ns: list[int], percent: int) -> float:
    return sorted(ages_ns)[(len(ages_ns) - 1) * percent // 100] / 1e6
