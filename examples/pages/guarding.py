"""Refuses every request that does not come from a demo's own page, opened under one of its own addresses.

Any web page can make a browser send requests to this machine, and a demo lets people kill brokers. Laws:

1. The Host of a request is a name of this machine with the port that is served. A foreign name that resolves
   to this machine (DNS rebinding) is refused.
2. A WebSocket, and every request that is neither GET nor HEAD, has the Origin of the page itself.
3. A WebSocket shows the token of this run, which is in the page and nowhere else.
4. Everything that changes something goes over a WebSocket. GET and HEAD only read.
"""

from collections.abc import Sequence
from http import HTTPStatus
from secrets import compare_digest, token_urlsafe
from typing import Final
from urllib.parse import parse_qs

from attrs import define, field, frozen
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES: Final = ("127.0.0.1", "localhost")
"""The names that people open a demo under, which listens on this machine alone."""

DEFAULT_PORT: Final = 80
"""A port that browsers leave out of Host and Origin."""

TABS_MAX: Final = 32
"""Open at once: each is sent twenty frames a second."""

READING: Final = frozenset({"GET", "HEAD"})

TOKEN_BYTES: Final = 32

_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self' ws://127.0.0.1:* ws://localhost:*; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
"""A page takes nothing from elsewhere but from brokers of this machine, is shown inside no other page, and is
asked for again when this package has changed."""

Header = tuple[bytes, bytes]


@frozen
class _Refusal:
    reason: str
    status: HTTPStatus = HTTPStatus.FORBIDDEN


@define(eq=False)
class Guard:
    """Stands before an application, and counts its open tabs."""

    app: ASGIApp
    token: str = field(factory=lambda: token_urlsafe(TOKEN_BYTES))
    tabs: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of ASGI."""
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
        elif refusal := self._refusal(scope):
            await _refuse(scope, refusal, send)
        elif scope["type"] == "http":
            await self.app(scope, receive, _with_headers(send))
        else:
            await self._open(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.tabs += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.tabs -= 1

    def _refusal(self, scope: Scope) -> _Refusal | None:
        """Return why a request is refused, or None if it is not."""
        is_socket = scope["type"] == "websocket"
        if not scope["query_string"].isascii():
            return _Refusal("an address has only ASCII; write %XX for other bytes", HTTPStatus.BAD_REQUEST)
        served = _served(scope)
        host = _only(scope["headers"], b"host").lower()
        if host not in served:
            return _Refusal(f"the Host {host!r} is not served here; open http://{served[0]}/")
        if not is_socket and scope["method"] in READING:
            return None
        origin = _only(scope["headers"], b"origin")
        if origin != f"http://{host}":
            return _Refusal(f"the Origin {origin!r} is none of ours; only the demo's own page may do this")
        return self._socket_refusal(scope) if is_socket else None

    def _socket_refusal(self, scope: Scope) -> _Refusal | None:
        if not compare_digest(_token(scope), self.token.encode()):
            return _Refusal("the token is not the one of this run; load the demo's page again")
        if self.tabs >= TABS_MAX:
            reason = f"{TABS_MAX} tabs are open, which is the limit; close one"
            return _Refusal(reason, HTTPStatus.SERVICE_UNAVAILABLE)
        return None


def _served(scope: Scope) -> Sequence[str]:
    """Return every Host that this server has, the best one first."""
    port: int = scope["server"][1]
    hosts = [f"{name}:{port}" for name in NAMES]
    return [*NAMES, *hosts] if port == DEFAULT_PORT else hosts


def _only(headers: Sequence[Header], name: bytes) -> str:
    """Return the value of a header that is there once; otherwise nothing, which matches nothing."""
    values = [value for each, value in headers if each.lower() == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


def _token(scope: Scope) -> bytes:
    # As text: as bytes `%ff` could not be read.
    values = parse_qs(scope["query_string"].decode()).get("token", [])
    return values[0].encode() if len(values) == 1 else b""


async def _refuse(scope: Scope, refusal: _Refusal, send: Send) -> None:
    """Answer with the status and one line of text. A WebSocket is refused before it is opened."""
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    body = f"{refusal.status.value} {refusal.status.phrase}: {refusal.reason}\n".encode()
    headers = {
        **_HEADERS,
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(body)),
        "connection": "close",
    }
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": f"{kind}.start", "status": refusal.status.value, "headers": raw})
    await send({"type": f"{kind}.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
