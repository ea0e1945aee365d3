"""Frames of clients inside binary messages of WebSocket, so that pages in browsers can speak to a broker.

Laws:

1. The contents of binary messages, one behind the other, are the byte stream of the connection: where a
   message begins or ends means nothing. Text is refused, and no extension (compression) is agreed on.
2. Nothing of a message waits here until the rest of it has come, so messages need no limit; frames have one.
3. A ping is answered before more is read: who does not read its answers is not read either.
4. A page may connect only if `Origins` allows it. A program that is no browser names no origin.
"""

import errno
from http import HTTPStatus
from typing import Final, NoReturn

import trio
from attrs import define, field
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import ProtocolError

from broker.server.origins import Origins
from broker.server.transport import LINGER_S, HandshakeError, Transport

SUBPROTOCOL: Final = "concord"
"""The name of what is spoken, for clients that offer several."""

MESSAGE_BYTES: Final = 16 * 1024
"""A browser gives a message to its page when all of it is there: large ones would come late over slow links,
and never over those that break often."""

EVENTS_AT_ONCE: Final = 512
"""Messages taken before others have their turn: some milliseconds of work, however small each of them is."""


@define(eq=False)
class WebSocketTransport:
    """A connection over which both ends speak WebSocket. What `send_now` does not send, `send_all` does."""

    _below: Transport
    _protocol: WSConnection
    _counts: "WebSockets"
    _rest: bytes = b""
    """The end of messages whose beginning may be sent: nothing comes between."""
    _sending: trio.Lock = field(factory=trio.Lock)
    _has_more: bool = False
    _is_over: bool = False

    async def receive(self) -> memoryview | bytes | bytearray:
        """Return what has arrived, at least a byte; nothing at the end."""
        while not self._is_over:
            if self._has_more:
                await trio.lowlevel.checkpoint()
            else:
                received = await self._below.receive()
                if not received:
                    break
                self._protocol.receive_data(bytes(received))
            if content := await self._contents():
                return content
        return b""

    async def _contents(self) -> bytes:
        """Return what binary messages carry, and handle what else has come."""
        contents: list[bytes | bytearray] = []
        self._has_more = True
        for _ in range(EVENTS_AT_ONCE):
            event = next(self._protocol.events(), None)
            if event is None:
                self._has_more = False
                break
            if isinstance(event, BytesMessage):
                contents.append(event.data)
            elif not await self._goes_on(event):
                self._is_over = True
                break
        return b"".join(contents)

    async def _goes_on(self, event: Event) -> bool:
        """Answer an event that carries nothing; return whether the connection goes on."""
        if isinstance(event, Ping):
            await self._answer(event.response())
        elif isinstance(event, TextMessage):
            reason = "frames come in binary messages, not in text"
            await self._answer(CloseConnection(CloseReason.UNSUPPORTED_DATA, reason))
        elif isinstance(event, CloseConnection):
            await self._answer(event.response())
        return not isinstance(event, TextMessage | CloseConnection)

    async def _answer(self, event: Event) -> None:
        """Send what is no message between two messages."""
        async with self._sending:
            await self._send_rest()
            answer = self._protocol.send(event)
            await self._below.send_all(memoryview(answer))

    async def _send_rest(self) -> None:
        rest, self._rest = self._rest, b""
        if rest:
            await self._below.send_all(memoryview(rest))

    def send_now(self, content: bytes) -> int:
        """Put it into messages; return its size if all of them could be sent without waiting, or else 0.

        Raises:
            BrokenPipeError: the peer has said that it takes no more.
        """
        if self._protocol.state is not ConnectionState.OPEN:
            raise BrokenPipeError(errno.EPIPE, "the other end has closed the WebSocket")
        parts = (content[at : at + MESSAGE_BYTES] for at in range(0, len(content), MESSAGE_BYTES))
        messages = b"".join(self._protocol.send(BytesMessage(part)) for part in parts)
        sent_bytes = 0 if self._sending.locked() else self._below.send_now(messages)
        self._rest = messages[sent_bytes:]
        return 0 if self._rest else len(content)

    async def send_all(self, content: memoryview) -> None:  # noqa: ARG002 - it is in the rest of its messages
        """Send the rest of what `send_now` has begun."""
        async with self._sending:
            await self._send_rest()

    async def finish(self) -> None:
        """Say that nothing more comes, and give the peer a moment to read that and to answer."""
        with trio.move_on_after(LINGER_S):
            try:
                if not self._is_over:
                    await self._answer(CloseConnection(CloseReason.NORMAL_CLOSURE))
                while await self.receive():
                    pass
            except (OSError, trio.BrokenResourceError, ProtocolError):
                pass  # It has gone, which is as good.

    async def close(self) -> None:
        """Free the socket."""
        self._counts.open_count -= 1
        await self._below.close()


@define(eq=False)
class WebSockets:
    """What pages have to ask for, and how many have asked."""

    origins: Origins
    accepted_count: int = 0
    refused_count: int = 0
    open_count: int = 0

    async def upgrade(self, below: Transport) -> WebSocketTransport:
        """Answer the request of a peer to speak WebSocket.

        Raises:
            HandshakeError: it asks for something else, or may not; it has got the reason.
            OSError, BrokenResourceError: it has gone.
        """
        protocol = WSConnection(ConnectionType.SERVER)
        try:
            await self._greet(below, protocol)
        except HandshakeError:
            self.refused_count += 1
            raise
        self.accepted_count += 1
        self.open_count += 1
        return WebSocketTransport(below, protocol, self)

    async def _greet(self, below: Transport, protocol: WSConnection) -> None:
        request = await _request(below, protocol)
        origins = [value.decode("latin-1") for name, value in request.extra_headers if name == b"origin"]
        if objection := self._objection(origins, request.host):
            await _refuse(below, protocol, HTTPStatus.FORBIDDEN, objection)
        agreed = SUBPROTOCOL if SUBPROTOCOL in request.subprotocols else None
        await below.send_all(memoryview(protocol.send(AcceptConnection(subprotocol=agreed))))

    def _objection(self, origins: list[str], host: str) -> str:
        if len(origins) > 1:
            return "a request has one Origin"
        return self.origins.objection(origins[0], host) if origins else ""


async def _request(below: Transport, protocol: WSConnection) -> Request:
    """Read until the request is there. Raises `HandshakeError` if it is none for a WebSocket."""
    while received := await below.receive():
        try:
            protocol.receive_data(bytes(received))
            event = next(protocol.events(), None)
        except (ProtocolError, ValueError) as error:
            reason = f"this is the port for WebSocket connections of a broker: {error}"
            await _refuse(below, protocol, HTTPStatus.BAD_REQUEST, reason)
        if isinstance(event, Request):
            return event
    raise HandshakeError("the connection ended before its request")


async def _refuse(below: Transport, protocol: WSConnection, status: HTTPStatus, reason: str) -> NoReturn:
    """Answer with the status and a line of text. Raises `HandshakeError`."""
    body = f"{status.value} {status.phrase}: {reason}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    try:
        answer = protocol.send(RejectConnection(status_code=status.value, headers=headers, has_body=True))
        answer += protocol.send(RejectData(data=body))
    except ProtocolError:
        answer = b""  # Whatever this is, it is no request of HTTP.
    await below.send_all(memoryview(answer))
    await below.finish()
    raise HandshakeError(reason)
