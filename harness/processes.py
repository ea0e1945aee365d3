"""Processes that serve: started on a free port, known to be ready, and gone when the nursery is.

Laws:

1. A process belongs to a nursery. However that nursery ends (done, failed, Ctrl-C), the process is asked to
   end, and killed if it does not.
2. A server ends also when this program is killed; other programs see that their input ends.
3. A server has printed `listening on HOST:PORT` before anyone is given its address.
4. A process that ends too early is an error that shows the last lines it wrote on standard error.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import IO, Any, Final

import attrs
import trio

START_TIMEOUT_S: Final = 20.0
"""A broker starts in half a second; a loaded machine is given forty times that."""

_LINE_MAX_BYTES: Final = 64 * 1024 * 1024
"""Workers answer with one line each, the longest of which lists some hundred thousand latencies; their jobs
list every client and its address."""

_LOG_MAX_BYTES: Final = 16 * 1024 * 1024
"""Far more than a broker logs in the minutes that a program of the harness runs."""

_TAIL_LINES: Final = 5
_LISTENING: Final = "listening on "


class ProcessError(Exception):
    """A process failed or ended too early."""


@attrs.define(eq=False)
class ProgramProcess:
    """A running process: lines go in, lines come out, complaints are kept."""

    name: str
    process: trio.Process
    _complaints: IO[bytes] = attrs.field(repr=False)
    _last_words: list[str] = attrs.field(factory=list, repr=False)
    _received: bytearray = attrs.field(factory=bytearray, repr=False)
    _writing: trio.Lock = attrs.field(factory=trio.Lock, repr=False)

    async def read_line(self) -> str:
        """The next line it prints; a `ProcessError` if it ends before."""
        assert self.process.stdout is not None
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > _LINE_MAX_BYTES:
                raise ProcessError(f"{self.name} prints a line without an end")
            chunk = await self.process.stdout.receive_some()
            if not chunk:
                raise ProcessError(f"{self.name} ended too early: {self.complaints() or 'it said nothing'}")
            self._received += chunk
        line = self._received[:end].decode()
        del self._received[: end + 1]
        return line

    async def write_line(self, line: str) -> None:
        """Write a line to the program's standard input; several tasks may do so at the same time."""
        assert self.process.stdin is not None
        try:
            async with self._writing:
                await self.process.stdin.send_all(line.encode() + b"\n")
        except trio.BrokenResourceError as error:
            raise ProcessError(f"{self.name} ended too early: {self.complaints()}") from error

    async def close_input(self) -> None:
        """Close the program's standard input, which ends a worker."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    def complaints(self) -> str:
        """Return the last lines that the program wrote on standard error, as one."""
        return " / ".join(self.logged()[-_TAIL_LINES:])

    def logged(self) -> list[str]:
        """Return every line that the program has written on standard error."""
        if self._complaints.closed:
            return self._last_words
        # Reading at a place of its own: the process writes where the file's shared place is.
        text = os.pread(self._complaints.fileno(), _LOG_MAX_BYTES, 0).decode(errors="replace")
        return text.splitlines()

    def close_complaints(self) -> None:
        """Keep the lines it wrote, and let go of the file; called when it has ended."""
        self._last_words = self.logged()
        self._complaints.close()

    def check_alive(self) -> None:
        """Raise `ProcessError` if the program has ended."""
        if self.process.poll() is not None:
            raise ProcessError(f"{self.name} ended too early: {self.complaints()}")


@attrs.frozen
class ServerProcess:
    """A program that listens."""

    program: ProgramProcess
    host: str
    port: int

    @property
    def address(self) -> str:
        """As `--broker` and `connect` take it."""
        return f"{self.host}:{self.port}"


async def orders() -> AsyncIterator[Mapping[str, Any]]:
    """Yield the orders on standard input, an object of JSON a line, until it ends."""
    received = bytearray()
    async with trio.lowlevel.FdStream(0) as stream:
        while chunk := await stream.receive_some():
            received += chunk
            assert len(received) <= _LINE_MAX_BYTES
            *lines, rest = received.split(b"\n")
            received = bytearray(rest)
            for line in lines:
                yield json.loads(line)


async def _run(name: str, command: Sequence[str], task_status: trio.TaskStatus[ProgramProcess]) -> None:
    """Run a process until it ends or this is cancelled, in which case it is asked to end and then killed."""
    with tempfile.TemporaryFile() as complaints:
        run = partial(
            trio.run_process,
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            check=False,
        )
        async with trio.open_nursery() as nursery:
            program = ProgramProcess(name, await nursery.start(run), complaints)
            try:
                task_status.started(program)
                await program.process.wait()
            finally:
                program.close_complaints()
                with trio.CancelScope(shield=True):
                    await program.close_input()


async def start(nursery: trio.Nursery, name: str, module: str, arguments: Sequence[str]) -> ProgramProcess:
    """Start `python -m module arguments` in the nursery, which ends it when it is cancelled."""
    program = await nursery.start(_run, name, [sys.executable, "-m", module, *arguments])
    assert isinstance(program, ProgramProcess)
    return program


async def start_server(
    nursery: trio.Nursery, name: str, module: str, arguments: Sequence[str]
) -> ServerProcess:
    """Start a program of ours that listens, and wait until it does."""
    return await _listening(name, await start(nursery, name, "harness.leash", [module, *arguments]))


async def start_listening(nursery: trio.Nursery, name: str, command: Sequence[str]) -> ServerProcess:
    """Start any program that listens, and wait until it does."""
    program = await nursery.start(_run, name, command)
    assert isinstance(program, ProgramProcess)
    return await _listening(name, program)


async def _listening(name: str, program: ProgramProcess) -> ServerProcess:
    with trio.move_on_after(START_TIMEOUT_S):
        line = await program.read_line()
        if not line.startswith(_LISTENING):
            raise ProcessError(f"{name} printed {line!r} instead of {_LISTENING}HOST:PORT")
        host, _, port = line.removeprefix(_LISTENING).rpartition(":")
        return ServerProcess(program, host, int(port))
    raise ProcessError(f"{name} does not listen after {START_TIMEOUT_S:.0f} s: {program.complaints()}")
