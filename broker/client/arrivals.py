"""Waits for the sockets of all connections of a program together.

Where many connections get something at the same time, a task that waits for each would be woken for each, and
all would have read before the first delivery is had. Here one task waits for all, reads a few, and lets those
who got something go on before it reads the next.

Law: what is called when bytes have arrived raises nothing, and is never called after `unwatch`.
"""

import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import trio
from attrs import Factory, define

READ_COUNT: Final = 8
"""Connections that are read before others go on: more would let the first wait, fewer cost a round each."""

HAS_EPOLL: Final = hasattr(select, "epoll")
"""Elsewhere each connection waits for itself."""

if HAS_EPOLL or TYPE_CHECKING:
    from select import EPOLLIN, epoll


@define(eq=False)
class SocketArrivals:
    """The sockets that are waited for in one run of Trio, and what to call for each."""

    _epoll: "epoll"
    _calls: dict[int, Callable[[], None]] = Factory(dict)
    _scope: trio.CancelScope = Factory(trio.CancelScope)

    def watch(self, descriptor: int, call: Callable[[], None]) -> None:
        """Call whenever there is something to read, or the connection has ended."""
        self._calls[descriptor] = call
        self._epoll.register(descriptor, EPOLLIN)

    def unwatch(self, descriptor: int) -> None:
        """Do that no more; the last one ends the task."""
        del self._calls[descriptor]
        self._epoll.unregister(descriptor)
        if not self._calls:
            _current.set(None)
            self._scope.cancel()

    async def run(self) -> None:
        """Wait, for as long as a socket is watched."""
        with self._scope, self._epoll:
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                for descriptor, _ in self._epoll.poll(0, READ_COUNT):
                    call = self._calls.get(descriptor)
                    if call is not None:
                        call()


_current: Final = trio.lowlevel.RunVar[SocketArrivals | None]("concord_arrivals", None)


def arrivals() -> SocketArrivals:
    """Return what waits in this run of Trio."""
    current = _current.get()
    if current is None:
        current = SocketArrivals(epoll())
        _current.set(current)
        trio.lowlevel.spawn_system_task(current.run)
    return current
