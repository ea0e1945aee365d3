"""`concord broker --workers N`: several brokers of one machine, started, watched and ended together.

The first worker is the uplink of all others, and has the uplinks of the settings. All listen on the address
of the settings, where the system deals out connections, and each on one of its own: the port of the settings
and its number. A client returns to the worker that it got, so that its session goes on.

Laws:

* A worker that ends is started again, unless it never got ready: then its settings are wrong, and all end.
* Workers end with this process, however it ends: their standard input is a pipe that it holds.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from subprocess import PIPE
from typing import Final

import attrs
import click
import structlog
import trio

from broker.addresses import Address, parse_address
from broker.commands.signals import asking_to_end
from broker.exception_groups import leaves
from broker.server.server import shared_socket
from broker.server.settings import Settings, SettingsError

RESTART_S: Final = 1.0
"""Before a worker is started again: one that ends at once must not take a whole core."""

WORKERS_MAX: Final = 256
"""More than a machine has cores for; each takes 40 MiB and a port."""

LOOPBACK: Final = {False: "127.0.0.1", True: "::1"}
"""Where workers dial each other if they listen on all addresses, by whether these are of IPv6."""

READY: Final = "listening on "

_log = structlog.get_logger()


class WorkerError(click.ClickException):
    """A worker could not begin; it has said why."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"worker {name} ended with status {status} before it was ready")


def worker_settings(settings: Settings, place: int) -> Settings:
    """Return the settings of one worker, from 1, of those that were given for all."""
    front = settings.listen
    own = _further(front, place)
    advertised = settings.advertise_address
    dialled = Address(LOOPBACK[":" in front.host], 0) if front.is_wildcard else front
    first = _further(Address((advertised or dialled).host, front.port), 1)
    return attrs.evolve(
        settings,
        name=_name_of(settings.name, place),
        listen=own,
        listen_shared=front,
        listen_ws=settings.listen_ws if place == 1 else None,
        ws_origins=settings.ws_origins if place == 1 else (),
        advertise_address=None if advertised is None else _further(advertised, place),
        uplinks=settings.uplinks if place == 1 else (first,),
        journal=None if settings.journal is None else settings.journal / str(place),
        metrics=None if settings.metrics is None else _further(settings.metrics, place - 1),
    )


def _further(address: Address, count: int) -> Address:
    """Return the address so many ports further; a free port stays one."""
    further = attrs.evolve(address, port=address.port + count if address.port else 0)
    try:
        return parse_address(str(further))
    except ValueError:
        raise SettingsError(f"--listen {address}: no ports are left for the workers behind it") from None


def _name_of(name: str, place: int) -> str:
    return name if place == 1 else f"{name}-{place}"


def supervise(settings: Settings, count: int) -> None:
    """Run so many workers until a signal asks for the end. Raises `ConcordError` if they cannot begin."""
    for place in range(1, count + 1):
        worker_settings(settings, place)
    if settings.journal is not None:
        _make(settings.journal)
    try:
        held = shared_socket(settings.listen, 1)
    except (OSError, ValueError) as error:
        raise SettingsError(f"--listen {settings.listen}: {error}") from error
    with closing(held):
        front = attrs.evolve(settings.listen, port=held.getsockname()[1])
    try:
        trio.run(_Workers(settings.name, front, count).run)
    except BaseExceptionGroup as group:
        raise next(leaves(group)) from None


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"--journal {directory}: {error.strerror}") from error


@attrs.define(eq=False)
class _Workers:
    """The processes of the workers, by their places."""

    name: str
    front: Address
    count: int
    _processes: dict[int, trio.Process] = attrs.Factory(dict)
    _ready: set[int] = attrs.Factory(set)
    _is_ending: bool = False

    async def run(self) -> None:
        """Start the first, then the others; end all when a signal asks for it."""
        with asking_to_end() as asked:
            async with trio.open_nursery() as nursery:
                await nursery.start(self._keep, 1)
                async with trio.open_nursery() as starting:
                    for place in range(2, self.count + 1):
                        starting.start_soon(nursery.start, self._keep, place)
                click.echo(f"listening on {self.front}")
                await asked()
                self._end()
                nursery.start_soon(self._hurry, asked)
                while self._processes:
                    await next(iter(self._processes.values())).wait()
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()

    def _end(self) -> None:
        self._is_ending = True
        for process in self._processes.values():
            process.terminate()

    async def _hurry(self, asked: Callable[[], Awaitable[None]]) -> None:
        """Let workers end at once when a second signal asks for it."""
        await asked()
        self._end()

    async def _keep(self, place: int, task_status: "trio.TaskStatus[None]") -> None:
        """Run a worker, again and again; it has started when it is ready for the first time."""
        name = _name_of(self.name, place)
        while not self._is_ending:
            status = await self._run_once(place, task_status)
            if place not in self._ready:
                raise WorkerError(name, status)
            if not self._is_ending:
                _log.error("worker ended, and is started again", worker=name, status=status)
                await trio.sleep(RESTART_S)

    async def _run_once(self, place: int, task_status: "trio.TaskStatus[None]") -> int:
        arguments = [*sys.argv[1:], f"--listen={self.front}", f"--worker={place}"]
        program = [sys.executable, "-m", "broker", *arguments]
        process = await trio.lowlevel.open_process(program, stdin=PIPE, stdout=PIPE)
        self._processes[place] = process
        try:
            assert process.stdout is not None
            async for printed in process.stdout:
                self._read(place, printed.decode(), task_status)
            return await process.wait()
        finally:
            del self._processes[place]
            if process.returncode is None:
                process.terminate()

    def _read(self, place: int, printed: str, task_status: "trio.TaskStatus[None]") -> None:
        """Take note that a worker is ready, and say where pages can connect."""
        for line in printed.splitlines():
            if line.startswith(READY) and "://" in line:
                click.echo(line)
        if place not in self._ready:
            self._ready.add(place)
            task_status.started()


async def end_with_supervisor() -> None:
    """Ask this worker to end when the process that started it is gone, however that happened."""
    async with trio.lowlevel.FdStream(os.dup(0)) as held:
        async for _ in held:
            pass
    os.kill(os.getpid(), signal.SIGTERM)
