"""Drives a client's machine by a thread of its own, for programs without a loop.

Laws:

* All decisions are in `broker.client.machine`. Every caller of it holds `lock`: the thread that reads, writes
  and keeps time, and the threads of users.
* Coroutines of `Client`, `Publisher` and `Deliveries` never suspend here: where they would wait, the calling
  thread waits on a condition. So `ThreadShell.run` gets a result from them at once.
* The thread sleeps in `select` alone; a call wakes it by a byte to `_bell`.
"""

import selectors
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from math import inf
from typing import Any, Final, TypeVar, cast

from attrs import define, field

from broker.client.driver import ALONE_BYTES, Driver, address_of, explain_error
from broker.client.life import ClientLife, Wants

JOIN_S: Final = 1.0
"""How long leaving waits for the thread: it only has to notice, unless it is looking up a name."""

_READ: Final = selectors.EVENT_READ
_WRITE: Final = selectors.EVENT_WRITE
_Result = TypeVar("_Result")


class _ExpiredError(Exception):
    """A deadline of this thread is over."""


class _UnwantedError(Exception):
    """The machine does not want the transport that is being opened."""


@define(eq=False)
class _ConditionLot:
    """Where threads wait until they are woken. They hold the shell's lock before and after."""

    _shell: "ThreadShell"
    _condition: threading.Condition

    async def park(self) -> None:
        """Wait until `unpark_all` is called, or a deadline of this thread is over."""
        deadline_s = self._shell.deadline_s()
        timeout_s = None if deadline_s == inf else max(0.0, deadline_s - time.monotonic())
        if not self._condition.wait(timeout_s) and timeout_s is not None:
            raise _ExpiredError

    def unpark_all(self) -> None:
        """Wake all who wait now."""
        self._condition.notify_all()


class _Deadline(threading.local):
    """The deadline of the call that this thread makes."""

    of: Callable[[], float] | None = None


@define(eq=False)
class ThreadShell:
    """Moves the bytes of one machine over sockets to its addresses."""

    tls: ssl.SSLContext | None
    driver: Driver = field(init=False)
    lock: AbstractContextManager[object] = field(factory=threading.RLock, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _selector: selectors.BaseSelector = field(factory=selectors.DefaultSelector, init=False)
    _bell: socket.socket = field(init=False)
    _ear: socket.socket = field(init=False)
    _has_rung: bool = field(default=False, init=False)
    _socket: socket.socket | None = field(default=None, init=False)
    _watched: tuple[socket.socket | None, int] = field(default=(None, 0), init=False)
    _rest: bytes = field(default=b"", init=False)
    _written_bytes: int = field(default=0, init=False)
    _deadline: _Deadline = field(factory=_Deadline, init=False)

    def __attrs_post_init__(self) -> None:
        self._ear, self._bell = socket.socketpair()
        self._ear.settimeout(0)
        self._bell.settimeout(0)
        self._selector.register(self._ear, _READ)

    # --- for callers ---

    def run(self, coroutine: Coroutine[Any, Any, _Result]) -> _Result:
        """Return what the coroutine returns; this thread waits where it would."""
        with self.lock:
            try:
                coroutine.send(None)
            except StopIteration as done:
                result: _Result = done.value
                return result
        raise AssertionError("a coroutine waited for something that is not of this shell")

    def start(self, *, retry: bool) -> None:
        """Begin to serve connections."""
        name = f"concord client {self.driver.machine.session.name}"
        self._thread = threading.Thread(target=self._serve, args=(retry,), name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave without waiting for the broker, and wait until the thread has ended."""
        with self.lock:
            self.driver.close()
        self._ring()
        if self._thread is not None:
            self._thread.join(JOIN_S)

    def deadline_s(self) -> float:
        """Return when the call that this thread makes is given up."""
        deadline = self._deadline.of
        return inf if deadline is None else deadline()

    # --- for the driver ---

    def now_s(self) -> float:
        """Return the time of a clock that never goes back."""
        return time.monotonic()

    def lot(self) -> _ConditionLot:
        """Return a lot where threads wait."""
        return _ConditionLot(self, threading.Condition(cast("threading.Lock", self.lock)))

    async def pause(self) -> None:
        """Do nothing: other threads run anyway."""

    async def run_until(self, work: Callable[[], Awaitable[object]], deadline_s: Callable[[], float]) -> None:
        """Run `work`, and give it up where it waits when the deadline is over."""
        before, self._deadline.of = self._deadline.of, deadline_s
        try:
            await work()
        except _ExpiredError:
            return
        finally:
            self._deadline.of = before

    def send_soon(self) -> None:
        """Send what comes alone here and now; what comes in floods leaves together, by the thread."""
        if self._socket is not None and self._written_bytes < ALONE_BYTES and not self._rest:
            self._rest = self._send(self.driver.machine.take_output())
        self._ring()

    def set_alarm(self, deadline_s: float) -> None:  # noqa: ARG002 - the thread asks the machine
        """Let the thread look when to wake."""
        self._ring()

    def hang_up(self) -> None:
        """End the attempt; if nothing is half written, send what the machine has left."""
        if self.driver.is_idle and self._socket is not None:
            self._send(self.driver.machine.take_output())
        self._ring()

    def _ring(self) -> None:
        """Wake the thread, unless it is awake or this is it."""
        if not self._has_rung and threading.current_thread() is not self._thread:
            self._has_rung = True
            self._bell.send(b"\0")

    def _send(self, output: bytes) -> bytes:
        """Send the bytes that the system takes, and return the rest. The next write raises an error again."""
        if not output or self._socket is None:
            return output
        try:
            return output[self._socket.send(output) :]
        except OSError:
            return output

    # --- the thread ---

    def _serve(self, retry: bool) -> None:  # noqa: FBT001 - a thread's argument
        """Serve one connection after another, until the machine is closed."""
        driver, machine = self.driver, self.driver.machine
        try:
            with self.lock:
                machine.start(self.now_s(), retry=retry)
            while machine.life is not ClientLife.CLOSED:
                if machine.wants is Wants.DIAL:
                    self._attempt()
                else:
                    self._wait(None, 0)
        except Exception as error:  # noqa: BLE001 - whatever it is, the user's next call raises it
            with self.lock:
                machine.fail(error, self.now_s())
        finally:
            with self.lock:
                driver.close()
                self._selector.close()
                self._ear.close()
                self._has_rung = True
                self._bell.close()

    def _wait(self, sock: socket.socket | None, events: int) -> int:
        """Sleep until one of these events, a call or a deadline; return which events there are."""
        machine = self.driver.machine
        self._watch(sock, events)
        with self.lock:
            timeout_s = machine.next_deadline() - self.now_s()
        found = self._selector.select(None if timeout_s == inf else max(0.0, timeout_s))
        with self.lock:
            if self._has_rung:
                self._has_rung = False
                self._ear.recv(16)
            if machine.next_deadline() <= self.now_s():
                machine.tick(self.now_s())
            self.driver.settle()
        return next((mask for key, mask in found if key.fileobj is sock), 0)

    def _watch(self, sock: socket.socket | None, events: int) -> None:
        """Let `select` look at this socket, and at no other one."""
        if self._watched == (sock, events):
            return
        if self._watched[0] is not None:
            self._selector.unregister(self._watched[0])
        if sock is not None:
            self._selector.register(sock, events)
        self._watched = (sock, events)

    def _attempt(self) -> None:
        """Open a socket and use it until it ends, or until the machine does not want it any more."""
        driver = self.driver
        cause: Exception | None = None
        with self.lock:
            driver.machine.dialling(self.now_s())
        try:
            sock = self._open()
        except OSError as error:
            cause = error
        except _UnwantedError:
            pass
        else:
            cause = self._converse(sock)
        with self.lock:
            driver.lost(None if cause is None else explain_error(cause), cause)

    def _open(self) -> socket.socket:
        """Connect to the first address of the host that answers."""
        broker = address_of(self.driver.machine.address)
        last = OSError(f"{broker.host} has no address")
        for family, kind, number, _, where in socket.getaddrinfo(
            broker.host, broker.port, type=socket.SOCK_STREAM
        ):
            sock = socket.socket(family, kind, number)
            sock.settimeout(0)
            try:
                self._connect(sock, where)
                return sock if self.tls is None else self._secured(sock, self.tls, broker.host)
            except _UnwantedError:
                self._close(sock)
                raise
            except OSError as error:
                self._close(sock)
                last = error
        raise last

    def _connect(self, sock: socket.socket, where: object) -> None:
        sock.connect_ex(where)  # type: ignore[arg-type]  # what getaddrinfo gave
        self._wait_wanted(sock, _WRITE)
        if number := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(number, "cannot connect")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _secured(self, sock: socket.socket, tls: ssl.SSLContext, host: str) -> socket.socket:
        """Return the socket inside TLS, after the handshake."""
        self._watch(None, 0)
        secured = tls.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
        try:
            while True:
                try:
                    secured.do_handshake()
                except ssl.SSLWantReadError:
                    self._wait_wanted(secured, _READ)
                except ssl.SSLWantWriteError:
                    self._wait_wanted(secured, _WRITE)
                else:
                    return secured
        except BaseException:
            self._close(secured)
            raise

    def _wait_wanted(self, sock: socket.socket, events: int) -> None:
        while not self._wait(sock, events):
            if self.driver.machine.wants is Wants.CLOSE:
                raise _UnwantedError

    def _converse(self, sock: socket.socket) -> Exception | None:
        """Read and write until the connection ends; return what broke it, if something did."""
        driver, machine = self.driver, self.driver.machine
        with self.lock:
            self._socket, self._rest, self._written_bytes = sock, b"", 0
            machine.connected(self.now_s())
            driver.is_idle = False
        try:
            while machine.wants is not Wants.CLOSE:
                with self.lock:
                    self._write()
                if self._wait(sock, _READ | _WRITE if self._rest else _READ) & _READ and not self._read(sock):
                    return None
        except OSError as error:
            return error
        finally:
            with self.lock:
                self._socket = None
                driver.is_idle = False
            self._close(sock)
        return None

    def _close(self, sock: socket.socket) -> None:
        self._watch(None, 0)
        sock.close()

    def _read(self, sock: socket.socket) -> bool:
        """Feed what has arrived; return whether the connection goes on."""
        driver, machine = self.driver, self.driver.machine
        size_bytes = machine.session.limits.read_bytes
        while True:
            try:
                content = sock.recv(size_bytes)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return True
            if not content:
                return False
            with self.lock:
                machine.received(content, self.now_s())
                driver.settle()
            if not isinstance(sock, ssl.SSLSocket) or not sock.pending():
                return True

    def _write(self) -> None:
        """Send everything that the machine has, as far as the system takes it."""
        driver, machine, sock = self.driver, self.driver.machine, self._socket
        if sock is None or driver.is_idle:
            return
        while output := self._rest or machine.take_output():
            self._written_bytes = len(output)
            try:
                self._rest = output[sock.send(output) :]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                self._rest = output
            if self._rest:
                return
        driver.is_idle = True
        machine.written(self.now_s())
        if machine.is_changed:
            driver.settle()
