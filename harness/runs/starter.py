"""Starts many brokers quickly: one process that has loaded everything, and forks for each.

A broker that starts by itself spends half a second on loading, and thirty megabytes on what it has loaded.
Here all share that, and each is what `concord broker` would be: the same command, a process of its own that
can be killed, paused and restarted.

Laws:

1. On standard input come lines of JSON: `{"start": NAME, "arguments": [...], "log": PATH}`. On standard
   output: `{"name", "pid"}`, `{"name", "line"}` for what a broker prints, `{"name", "ended": status}`.
2. When the input ends, every broker is killed: they never outlive who asked for them. On Linux they do not
   outlive this process either, however it ends.
3. Nothing here knows Trio: a process with an event loop cannot be forked.

Run as `python -m harness.runs.starter`.
"""

import ctypes
import gc
import json
import os
import selectors
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NoReturn

import attrs

_CHUNK_BYTES: Final = 64 * 1024
_INPUT: Final = 0
_OUTPUT: Final = 1
_ERRORS: Final = 2

_PR_SET_PDEATHSIG: Final = 1
"""Of Linux's prctl: the signal to get when the parent ends."""


def _preload() -> None:
    """Load all that a broker will use, so that it is there after the fork."""
    import trio  # noqa: F401, PLC0415 - loaded for the children

    import broker.commands.broker  # noqa: F401, PLC0415 - likewise
    from broker.trace import prepare  # noqa: PLC0415 - likewise

    prepare()
    gc.collect()
    # What is there now is never looked at again by the collectors of the children, and so stays shared.
    gc.freeze()


def _report(**content: object) -> None:
    os.write(_OUTPUT, json.dumps(content).encode() + b"\n")


def _die_with_parent(parent: int) -> None:
    """See that a broker ends with this process, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _become(arguments: Sequence[str], output: int, log: str, parent: int) -> NoReturn:
    """In the child: run the command as if it had been started by itself."""
    os.setsid()
    _die_with_parent(parent)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for old, new in ((os.open(os.devnull, os.O_RDONLY), _INPUT), (output, _OUTPUT), (errors, _ERRORS)):
        os.dup2(old, new)
    os.closerange(_ERRORS + 1, os.sysconf("SC_OPEN_MAX"))
    status = 1
    try:
        from broker.commands import main as concord  # noqa: PLC0415 - for the child

        concord(arguments)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - nothing may get back into the starter's loop
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


@attrs.define(eq=False)
class _Lines:
    """Bytes of a pipe, cut into lines."""

    take: Callable[[bytes], None]
    _rest: bytes = b""

    def feed(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self.take(line)


@attrs.define(eq=False)
class _Starter:
    """All brokers, and the pipes they print into."""

    _selector: selectors.BaseSelector = attrs.field(factory=selectors.DefaultSelector)
    _names: dict[int, str] = attrs.field(factory=dict)
    _lines: dict[int, _Lines] = attrs.field(factory=dict)

    def serve(self) -> None:
        """Start brokers as ordered, and report their lines and ends, until the input ends."""
        woken, waker = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._watch(_INPUT, self._start)
        self._watch(woken, lambda _: None)
        while True:
            for key, _ in self._selector.select():
                if not self._read(key.fd):
                    return
            self._reap()

    def _watch(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._lines[descriptor] = _Lines(take)
        self._selector.register(descriptor, selectors.EVENT_READ)

    def _read(self, descriptor: int) -> bool:
        """Handle the bytes that have arrived; return False at the end of the orders."""
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._lines[descriptor].feed(chunk)
        if chunk:
            return True
        self._selector.unregister(descriptor)
        del self._lines[descriptor]
        os.close(descriptor)
        return descriptor != _INPUT

    def _start(self, line: bytes) -> None:
        order = json.loads(line)
        name, parent = str(order["start"]), os.getpid()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become(order["arguments"], writing, order["log"], parent)
        os.close(writing)
        self._names[pid] = name
        self._watch(reading, lambda said: _report(name=name, line=said.decode(errors="replace")))
        _report(name=name, pid=pid)

    def _reap(self) -> None:
        """Report the brokers that have ended."""
        while self._names:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            _report(name=self._names.pop(pid), pid=pid, ended=os.waitstatus_to_exitcode(status))

    def kill_all(self) -> None:
        """Kill all brokers, and wait for their ends."""
        for pid in self._names:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in self._names:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _preload()
    starter = _Starter()
    _report(ready=True)
    try:
        starter.serve()
    except BrokenPipeError:
        pass  # Nobody listens any more: the same as the end of the orders.
    finally:
        starter.kill_all()


if __name__ == "__main__":
    main()
