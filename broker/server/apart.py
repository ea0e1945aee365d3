"""Runs a function on the present state in a process of its own, while this process goes on and changes it.

A fork sees the state as it was, for the price of copying the tables of the memory's pages: a millisecond or
two, where encoding the state would stall the broker for seconds.

Laws.

1. The child does one thing that needs no thread, no lock and no I/O, writes the result into a pipe, and ends
   at once. So no lock that another thread held at the fork can block it.
2. It keeps no file and no socket of its parent but that pipe: whatever becomes of the parent, its journal
   is unlocked, its port free and its connections closed as if there were no child.
3. A child that is not needed any more is killed; none outlives the wait for it.
"""

import gc
import os
import signal
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Final, NoReturn

import trio
from attrs import define, field

CHUNK_BYTES: Final = 1024 * 1024

DONE: Final = b"\x01"
"""The last byte of a result that is whole. A child that died has not written it."""

NICE: Final = 5
"""The child yields to its parent: no client waits for a snapshot."""

SOME_FDS: Final = 4096
"""Descriptors are closed up to the system's limit, or to this if it does not say."""


class ApartError(Exception):
    """No process could be forked, or it has ended early."""


@define(eq=False)
class Apart:
    """Calls functions in processes of their own. `last_stall_s` is how long the last fork took."""

    last_stall_s: float = field(default=0.0, init=False)

    async def __call__(self, call: Callable[[], bytes]) -> bytes:
        """Return the result of a call with the present state: nothing is awaited before the fork.

        Raises:
            ApartError: it did not come to that.
        """
        started_s = perf_counter()
        try:
            pid, descriptor = _fork(call)
        except OSError as error:
            raise ApartError(f"no process to take a snapshot in: {error}") from error
        self.last_stall_s = perf_counter() - started_s
        content = b""
        try:
            content = await _read_all(descriptor)
        finally:
            if not content.endswith(DONE):
                os.kill(pid, signal.SIGKILL)
            with trio.CancelScope(
                shield=True
            ):  # It ends at once: giving back its memory is all that is left.
                await trio.to_thread.run_sync(os.waitpid, pid, 0)
        if not content.endswith(DONE):
            raise ApartError(f"the process that took a snapshot ended early, after {len(content)} bytes")
        return content[: -len(DONE)]


async def _read_all(descriptor: int) -> bytes:
    chunks = []
    async with trio.lowlevel.FdStream(descriptor) as pipe:
        while chunk := await pipe.receive_some(CHUNK_BYTES):
            chunks.append(chunk)
    return b"".join(chunks)


def _fork(call: Callable[[], bytes]) -> tuple[int, int]:
    """Return the child and the end of the pipe to read from. Raises `OSError`."""
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings():
            # Later Pythons warn of forks beside threads. The child does nothing that could wait for one.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if pid == 0:
        _be_child(call, writer)
    os.close(writer)
    return pid, reader


def _be_child(call: Callable[[], bytes], writer: int) -> NoReturn:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        gc.disable()
        _close_all_but(writer)
        os.nice(NICE)
        rest = memoryview(call() + DONE)
        while rest:
            rest = rest[os.write(writer, rest) :]
        status = 0
    finally:
        os._exit(status)


def _close_all_but(kept: int) -> None:
    limit = os.sysconf("SC_OPEN_MAX")
    os.closerange(0, kept)
    os.closerange(kept + 1, limit if limit > 0 else SOME_FDS)
