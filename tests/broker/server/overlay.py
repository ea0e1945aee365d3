"""Brokers in this process, on real sockets, and raw peers that say what they like to them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import trio
from attrs import define, field

from broker.addresses import Address
from broker.messages import Hello, Welcome
from broker.server.server import Server
from broker.server.settings import Settings, Tls
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, Peer, encode

T = TypeVar("T")

WAIT_S = 20
"""Longer than anything here takes on a busy machine."""

ANY_PORT = Address("127.0.0.1", 0)


def settings(  # noqa: PLR0913 - each is an option that some test sets
    name: str,
    *uplinks: Address,
    ordering: str = "pairwise",
    link_timeout_s: float = 10,
    auth: Path | None = None,
    token: str = "",
    tls: Tls | None = None,
) -> Settings:
    return Settings(
        name=name,
        listen=ANY_PORT,
        uplinks=uplinks,
        ordering=ordering,
        link_timeout_s=link_timeout_s,
        auth=auth,
        token=token,
        tls=tls or Tls(),
    )


@define
class Running:
    """A broker that serves. `address` is for `connect`, `endpoint` for another broker's uplink."""

    server: Server

    @property
    def endpoint(self) -> Address:
        return Address("127.0.0.1", self.server.port)

    @property
    def address(self) -> str:
        return str(self.endpoint)

    @property
    def is_attached(self) -> bool:
        return self.server.exchange.core.uplink is not None

    def links(self) -> set[str]:
        return set(self.server.exchange.links)


@asynccontextmanager
async def running(wanted: Settings) -> AsyncIterator[Running]:
    """A broker that serves within the block, and has shut down in order after it."""
    server = Server.prepare(wanted)
    async with trio.open_nursery() as nursery:
        started = trio.Event()
        nursery.start_soon(server.run, started.set)
        with trio.fail_after(WAIT_S):
            await started.wait()
        try:
            yield Running(server)
        finally:
            server.stop()


async def until(condition: Callable[[], bool]) -> None:
    """Let the others run until it is so."""
    with trio.fail_after(WAIT_S):
        while not condition():
            await trio.lowlevel.checkpoint()


@asynccontextmanager
async def chain(
    *names: str, ordering: str = "pairwise", link_timeout_s: float = 10
) -> AsyncIterator[list[Running]]:
    """Brokers of which each is attached to the one before it."""
    if not names:
        yield []
        return
    async with chain(*names[:-1], ordering=ordering, link_timeout_s=link_timeout_s) as above:
        uplinks = [above[-1].endpoint] if above else []
        wanted = settings(names[-1], *uplinks, ordering=ordering, link_timeout_s=link_timeout_s)
        async with running(wanted) as last:
            await until(lambda: last.is_attached or not above)
            yield [*above, last]


@define
class RawPeer:
    """A peer that has dialled a broker and sends frames."""

    stream: trio.SocketStream
    _decoder: Decoder
    _messages: list[object] = field(factory=list)

    async def say(self, *frames: bytes) -> None:
        await self.stream.send_all(b"".join(frames))

    async def receive(self) -> object:
        """The next message, or None at the end of the connection."""
        with trio.fail_after(WAIT_S):
            while not self._messages:
                received = await self.stream.receive_some()
                if not received:
                    return None
                self._messages += self._decoder.feed(received)
        return self._messages.pop(0)

    async def receive_a(self, kind: type[T]) -> T:
        """The next message of a kind; others before it are ignored."""
        while True:
            message = await self.receive()
            assert message is not None, f"the connection ended before a {kind.__name__}"
            if isinstance(message, kind):
                return message


@asynccontextmanager
async def raw_peer(port: int, peer: Peer = Peer.SERVER) -> AsyncIterator[RawPeer]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        yield RawPeer(stream, Decoder(DEFAULT_LIMITS, peer))


def client_hello(name: str = "raw", token: str = "") -> bytes:
    return encode(Hello(VERSION, "client", name, "1", "", token))


def broker_hello(  # noqa: PLR0913 - the fields of the frame
    name: str,
    *,
    incarnation: str = "1",
    ordering: str = "pairwise",
    token: str = "",
    link_timeout_s: float = 10,
    session: str = "",
    received: int = 0,
) -> bytes:
    manner = settings("B0", ordering=ordering, link_timeout_s=link_timeout_s).manner
    return encode(Hello(VERSION, "broker", name, incarnation, manner, token, session, received))


@asynccontextmanager
async def raw_client(port: int, name: str = "raw") -> AsyncIterator[RawPeer]:
    """A client that has been welcomed."""
    async with raw_peer(port) as peer:
        await peer.say(client_hello(name))
        assert isinstance(await peer.receive(), Welcome)
        yield peer
