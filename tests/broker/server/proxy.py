"""A network between two ends of a test, which cuts connections at any byte, or lets them hang half-open."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import trio
from attrs import define, field

from broker.addresses import Address

_GONE = (OSError, trio.BrokenResourceError, trio.ClosedResourceError)


@define(eq=False)
class Passage:
    """One connection that goes through the proxy; the next `left_bytes` pass, in both directions together."""

    near: trio.SocketStream
    far: trio.SocketStream
    left_bytes: float
    hangs: bool
    ended: trio.Event = field(factory=trio.Event)

    async def carry(self, source: trio.SocketStream, target: trio.SocketStream) -> None:
        with suppress(*_GONE):
            while received := await source.receive_some():
                part = received[: max(0, int(min(self.left_bytes, len(received))))]
                self.left_bytes -= len(received)
                if part:
                    await target.send_all(part)
                if self.left_bytes < 0:
                    break
        if self.left_bytes < 0 and self.hangs:
            await trio.sleep_forever()
        self.ended.set()


@define(eq=False)
class Proxy:
    """Listens at `endpoint` and passes everything on to `target`.

    The connections that come get their fates from `fates` in turn: after how many bytes each is cut, and
    whether it then hangs half-open instead of being closed. When there is none left, they live on.
    """

    target: Address
    fates: list[tuple[int, bool]] = field(factory=list)
    port: int = 0
    passages: list[Passage] = field(factory=list)
    count: int = 0
    is_down: bool = False

    @property
    def endpoint(self) -> Address:
        return Address("127.0.0.1", self.port)

    @property
    def address(self) -> str:
        return str(self.endpoint)

    async def serve(self, near: trio.SocketStream) -> None:
        self.count += 1
        if self.is_down:
            await trio.aclose_forcefully(near)
            return
        left_bytes, hangs = self.fates.pop(0) if self.fates else (float("inf"), False)
        try:
            far = await trio.open_tcp_stream(self.target.host, self.target.port)
        except OSError:
            await trio.aclose_forcefully(near)
            return
        passage = Passage(near, far, left_bytes, hangs)
        self.passages.append(passage)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(passage.carry, near, far)
                nursery.start_soon(passage.carry, far, near)
                await passage.ended.wait()
                nursery.cancel_scope.cancel()
        finally:
            self.passages.remove(passage)
            near.socket.close()
            far.socket.close()

    def cut(self) -> None:
        """Close every connection that goes through here."""
        for passage in self.passages:
            passage.ended.set()

    def doom(self, fates: list[tuple[int, bool]]) -> None:
        """Decide the fate of the connections that are there, and of those to come."""
        self.fates = list(fates)
        for passage in self.passages:
            if self.fates:
                passage.left_bytes, passage.hangs = self.fates.pop(0)

    def hang(self) -> None:
        """Let every connection that goes through here carry nothing more, and stay open."""
        for passage in self.passages:
            passage.left_bytes, passage.hangs = -1, True


@asynccontextmanager
async def proxied(target: Address, *fates: tuple[int, bool]) -> AsyncIterator[Proxy]:
    """Run a proxy in front of a listener while the block lasts."""
    proxy = Proxy(target, list(fates))
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        proxy.port = listeners[0].socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, proxy.serve, listeners)
        yield proxy
        nursery.cancel_scope.cancel()
