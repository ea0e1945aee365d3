"""The WebSocket listener of real brokers, and peers that say what they like to it."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import attrs
import pytest
import trio
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Message,
    Ping,
    Pong,
    Request,
    TextMessage,
)

from broker import connect
from broker.addresses import Address
from broker.messages import Fault, Subscribe, Subscribed, Welcome
from broker.server import server as server_module
from broker.server.origins import Origins, read_origins
from broker.server.settings import Settings, SettingsError, Tls
from broker.server.transport import HandshakeError
from broker.server.websocket import MESSAGE_BYTES, SUBPROTOCOL, WebSockets
from broker.wire import DEFAULT_LIMITS, Decoder, DeliveredBatch, Peer, encode
from tests.broker.server.overlay import ANY_PORT, WAIT_S, Running, client_hello, running, settings, until
from tests.broker.server.test_access import client_context, files_of

T = TypeVar("T")


def with_pages(wanted: Settings, *origins: str) -> Settings:
    return attrs.evolve(wanted, listen_ws=ANY_PORT, ws_origins=origins)


@define
class PagePeer:
    """A peer that speaks WebSocket and sends frames."""

    stream: trio.abc.Stream
    protocol: WSConnection = field(factory=lambda: WSConnection(ConnectionType.CLIENT))
    decoder: Decoder = field(factory=lambda: Decoder(DEFAULT_LIMITS, Peer.SERVER))
    events: list[Event] = field(factory=list)
    messages: list[object] = field(factory=list)
    message_bytes: int = 0

    async def send(self, event: Event) -> None:
        await self.stream.send_all(self.protocol.send(event))

    async def next_event(self, kind: type[T]) -> T:
        """The next event of a kind; frames in others before it are kept."""
        with trio.fail_after(WAIT_S):
            while True:
                for event in self.protocol.events():
                    self.events.append(event)
                while self.events:
                    event = self.events.pop(0)
                    if isinstance(event, BytesMessage):
                        self.message_bytes += len(event.data)
                        assert self.message_bytes <= MESSAGE_BYTES
                        self.message_bytes *= not event.message_finished
                        self.messages += self.decoder.feed(event.data)
                    if isinstance(event, kind):
                        return event
                received = await self.stream.receive_some()
                assert received, f"the connection ended before a {kind.__name__}"
                self.protocol.receive_data(bytes(received))

    async def receive_a(self, kind: type[T]) -> T:
        """The next frame of a kind; others before it are ignored."""
        while True:
            while self.messages:
                if isinstance(message := self.messages.pop(0), kind):
                    return message
            await self.next_event(Message)


@asynccontextmanager
async def page(broker: Running, context: ssl.SSLContext | None = None) -> AsyncIterator[PagePeer]:
    """A peer whose WebSocket is open."""
    stream: trio.abc.Stream = await trio.open_tcp_stream("127.0.0.1", broker.server.ws_port)
    if context is not None:
        stream = trio.SSLStream(stream, context, server_hostname="localhost", https_compatible=True)
    async with stream:
        peer = PagePeer(stream)
        await peer.send(
            Request(host=f"127.0.0.1:{broker.server.ws_port}", target="/", subprotocols=[SUBPROTOCOL])
        )
        accepted = await peer.next_event(AcceptConnection)
        assert accepted.subprotocol == SUBPROTOCOL
        assert accepted.extensions == []
        yield peer


async def greeted(peer: PagePeer) -> None:
    await peer.send(BytesMessage(client_hello("page")))
    await peer.receive_a(Welcome)


async def test_a_page_gets_what_a_program_publishes_over_tcp() -> None:
    async with running(with_pages(settings("B1"))) as one, page(one) as peer:
        await greeted(peer)
        await peer.send(BytesMessage(encode(Subscribe(1, "x > 0", True, 10, 1 << 20, "disconnect"))))
        await peer.receive_a(Subscribed)
        async with connect(one.address) as alice, alice.advertise("x > 0") as publisher:
            await publisher.publish({"x": 1}, b"payload")
        delivered = await peer.receive_a(DeliveredBatch)
        assert delivered.frames[0].endswith(b"payload")
        await peer.send(BytesMessage(encode(Fault("left", "goodbye"))))
        assert (await peer.next_event(CloseConnection)).code == 1000


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_where_messages_begin_and_end_means_nothing(size: int) -> None:
    frames = client_hello("page")
    async with running(with_pages(settings("B1"))) as one, page(one) as peer:
        for place in range(0, len(frames), size):
            await peer.send(BytesMessage(frames[place : place + size]))
        await peer.receive_a(Welcome)
        asked = [encode(Subscribe(n, "x > 0", True, 10, 1 << 20, "disconnect")) for n in (1, 2, 3)]
        await peer.send(BytesMessage(b"".join(asked)[:-1], message_finished=False))
        await peer.receive_a(Subscribed)
        await peer.send(BytesMessage(b"".join(asked)[-1:]))
        assert [(await peer.receive_a(Subscribed)).number for _ in range(2)] == [2, 3]


async def test_text_is_refused_in_words() -> None:
    async with running(with_pages(settings("B1"))) as one, page(one) as peer:
        await peer.send(TextMessage("hello"))
        closed = await peer.next_event(CloseConnection)
        assert (closed.code, closed.reason) == (1003, "frames come in binary messages, not in text")


async def test_a_frame_that_is_too_large_is_refused_before_it_has_come() -> None:
    async with running(with_pages(settings("B1"))) as one, page(one) as peer:
        await peer.send(BytesMessage(b"\x7f\xff\xff\xff\x01\x00", message_finished=False))
        assert (await peer.receive_a(Fault)).code == "oversize"


async def test_pings_are_answered_between_the_messages_of_a_peer_that_reads_late() -> None:
    count, size = 60, 200_000
    async with running(with_pages(settings("B1"))) as one, page(one) as peer:
        await greeted(peer)
        await peer.send(BytesMessage(encode(Subscribe(1, "x > 0", True, count, 64 << 20, "disconnect"))))
        await peer.receive_a(Subscribed)
        async with connect(one.address) as alice, alice.advertise("x > 0") as publisher:
            for number in range(1, count + 1):
                await publisher.publish({"x": number}, bytes(size))
                await peer.send(Ping(bytes([number])))
        frames: list[bytes] = []
        while len(frames) < count:
            frames += (await peer.receive_a(DeliveredBatch)).frames
        assert {len(frame) > size for frame in frames} == {True}
        await peer.send(Ping(b"last"))
        while (await peer.next_event(Pong)).payload != b"last":
            pass


async def test_a_page_that_closes_is_gone_at_the_broker() -> None:
    async with running(with_pages(settings("B1"))) as one, page(one) as peer:
        await greeted(peer)
        assert one.server.websockets is not None
        assert one.server.websockets.open_count == 1
        await peer.send(CloseConnection(1001))
        assert (await peer.next_event(CloseConnection)).code == 1001
        await until(lambda: not one.server.node.connections)
        counts = one.server.websockets
        await until(lambda: counts.open_count == 0)


async def test_pages_speak_tls_where_everybody_does(tmp_path: Path) -> None:
    tls = files_of(tmp_path, "B1")
    wanted = with_pages(settings("B1", tls=attrs.evolve(tls, authority=None)))
    async with running(wanted) as one, page(one, client_context(None)) as peer:
        await greeted(peer)


async def answer_to(broker: Running, request: bytes) -> str:
    """Everything that the broker says to a request that it refuses."""
    async with await trio.open_tcp_stream("127.0.0.1", broker.server.ws_port) as stream:
        await stream.send_all(request)
        with trio.fail_after(WAIT_S):
            return b"".join([received async for received in stream]).decode()


def upgrade(host: str, *origins: str) -> bytes:
    headers = [
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        *(f"Origin: {each}" for each in origins),
    ]
    return "\r\n".join(["GET / HTTP/1.1", *headers, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (upgrade("127.0.0.1:1", "https://evil.example"), "403 Forbidden: pages of 'https://evil.example'"),
        (upgrade("127.0.0.1:1", "http://127.0.0.1", "http://127.0.0.1"), "403 Forbidden: a request has one"),
        (b"GET / HTTP/1.1\r\nHost: b\r\n\r\n", "400 Bad Request: this is the port for WebSocket"),
        (b"POST / HTTP/1.1\r\nHost: b\r\n\r\n", "Request method must be GET"),
        (upgrade("\xff"), "400 Bad Request"),
        (bytes(100) + b"\r\n\r\n", "400 Bad Request"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000, "400 Bad Request"),
    ],
)
async def test_who_may_not_connect_gets_the_reason(request_: bytes, answer: str) -> None:
    async with running(with_pages(settings("B1"))) as one:
        assert answer in await answer_to(one, request_)
        totals, websockets = one.server.exchange.totals, one.server.websockets
        assert websockets is not None
        await until(lambda: totals.refused == 1 == websockets.refused_count)


async def test_who_asks_for_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HANDSHAKE_TIMEOUT_S", 0.05)
    async with running(with_pages(settings("B1"))) as one:
        assert await answer_to(one, b"GET / HTTP/1.1\r\n") == ""
        await until(lambda: one.server.exchange.totals.refused == 1)


@define
class _Bytes:
    """A transport whose peer says what it likes, and reads everything."""

    chunks: list[bytes]

    async def receive(self) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""

    def send_now(self, content: bytes) -> int:
        return len(content)

    async def send_all(self, content: memoryview) -> None:
        """Take it."""

    async def finish(self) -> None:
        self.chunks.clear()

    async def close(self) -> None:
        self.chunks.clear()


def masked(first: int, payload: bytes, size: int) -> bytes:
    """A frame with a mask of zeros, which says that it has a size."""
    head = bytes([first, 0x80 | size]) if size < 126 else bytes([first, 0xFE]) + size.to_bytes(2, "big")
    return head + bytes(4) + payload


FRAMES = st.builds(
    masked,
    st.sampled_from([0x82, 0x02, 0x80, 0x00, 0x81, 0x88, 0x89, 0x8A, 0x83, 0xC2]) | st.integers(0, 255),
    st.binary(max_size=20),
    st.integers(0, 30) | st.integers(0, 65_535),
)


@given(
    st.sampled_from([upgrade("b"), upgrade("\xff")]) | st.binary(), st.lists(FRAMES | st.binary(min_size=1))
)
async def test_whatever_comes_ends_one_connection_and_nothing_else(
    asking: bytes, frames: list[bytes]
) -> None:
    below = _Bytes([asking, *frames] if asking else [])
    try:
        transport = await WebSockets(origins("*")).upgrade(below)
    except HandshakeError:
        return
    while await transport.receive():
        with suppress(OSError):
            transport.send_now(b"answer")
    await transport.finish()
    await transport.close()


def origins(*allowed: str) -> Origins:
    return Origins(read_origins(allowed), frozenset({"broker.example"}))


@pytest.mark.parametrize(
    ("allowed", "origin", "host", "may"),
    [
        ((), "http://127.0.0.1:8000", "127.0.0.1:7413", True),
        ((), "http://[::1]:8000", "[::1]:7413", True),
        ((), "http://localhost", "LOCALHOST:7413", True),
        ((), "https://broker.example", "broker.example", True),
        ((), "http://127.0.0.1:8000", "localhost:7413", False),
        ((), "http://rebound.example", "rebound.example:7413", False),
        ((), "null", "127.0.0.1:7413", False),
        ((), "http://[", "127.0.0.1:7413", False),
        (("https://shop.example",), "https://shop.example", "127.0.0.1:7413", True),
        (("https://shop.example",), "http://shop.example", "127.0.0.1:7413", False),
        (("https://shop.example",), "http://127.0.0.1", "127.0.0.1:7413", False),
        (("HTTPS://Shop.example:8443", "null"), "https://shop.example:8443", "b", True),
        (("null",), "null", "b", True),
        (("*",), "http://anything.example", "b", True),
    ],
)
def test_a_page_may_connect_from_where_it_is_allowed(
    allowed: tuple[str, ...],
    origin: str,
    host: str,
    may: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert (origins(*allowed).objection(origin, host) == "") is may


@pytest.mark.parametrize(
    "text", ["shop.example", "https://", "https://a.example/b", "https://u@a.example", "https://["]
)
def test_what_is_no_origin_is_refused_before_anything_is_opened(text: str) -> None:
    with pytest.raises(SettingsError, match="--ws-origin"):
        with_pages(settings("B1"), text)


def test_options_about_pages_have_the_rules_of_the_others() -> None:
    with pytest.raises(SettingsError, match="--ws-origin is of use only together with --listen-ws"):
        attrs.evolve(settings("B1"), ws_origins=("*",))
    everywhere = Address("0.0.0.0", 7413)  # noqa: S104 - what must not happen by accident
    with pytest.raises(SettingsError, match="others could read"):
        attrs.evolve(settings("B1"), listen_ws=everywhere)
    with pytest.raises(SettingsError, match="TLS alone keeps nobody out"):
        attrs.evolve(settings("B1"), listen_ws=everywhere, tls=Tls(Path("cert.pem"), Path("key.pem")))
