"""A web server for one page: Starlette on Hypercorn's Trio worker, everything from this package.

The page is a folder `static/` beside this file; what changes goes over one WebSocket per tab. A tab that does
not read as fast as frames are made is sent fewer: a frame is made only when the one before it has been sent.
"""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from broker import ConcordError

__all__ = ["Json", "Stage", "Tab", "now_ms", "served"]

STATIC: Final = Path(__file__).parent / "static"

FRAME_S: Final = 0.05
"""Twenty frames a second; between two of them the page moves things by itself."""

REQUEST_BYTES_MAX: Final = 4096
"""Longer than anything that a page says."""

_POLICY: Final = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'"
_HEADERS: Final = {"content-security-policy": _POLICY, "cache-control": "no-cache"}
"""A page takes nothing from elsewhere, and is asked for again when this package has changed."""

Json = dict[str, object]


def now_ms() -> float:
    """The clock that browsers show as `Date.now()`."""
    return time.time() * 1000


class Tab(Protocol):
    """One open page."""

    def frame(self) -> Json:
        """What to show now."""
        ...

    async def do(self, request: Json) -> None:
        """The person did something."""
        ...

    def close(self) -> None:
        """The person has gone."""
        ...


Stage = Callable[[], Tab]


async def _talk(socket: WebSocket, stage: Stage) -> None:
    """Serve one tab until it is closed."""
    tab = stage()
    await socket.accept()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_show, socket, tab)
            await _listen(socket, tab)
            nursery.cancel_scope.cancel()
    finally:
        tab.close()


async def _show(socket: WebSocket, tab: Tab) -> None:
    while True:
        try:
            await socket.send_text(json.dumps(tab.frame(), separators=(",", ":")))
        except (WebSocketDisconnect, RuntimeError):
            return  # It went between two frames; the listener sees that too.
        await trio.sleep(FRAME_S)


async def _listen(socket: WebSocket, tab: Tab) -> None:
    while True:
        try:
            text = await socket.receive_text()
        except (WebSocketDisconnect, RuntimeError):
            return
        try:
            request = json.loads(text) if len(text) <= REQUEST_BYTES_MAX else None
        except ValueError:
            request = None
        if isinstance(request, dict):
            await tab.do(request)


def _guarded(app: ASGIApp) -> ASGIApp:
    """Every answer says that a page takes nothing from elsewhere."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await app(scope, receive, send_guarded)

    return guarded


def _application(page: str, stage: Stage) -> ASGIApp:
    async def index(_: Request) -> Response:
        return FileResponse(STATIC / f"{page}.html")

    async def talk(socket: WebSocket) -> None:
        await _talk(socket, stage)

    return _guarded(
        Starlette(
            routes=[
                Route("/", index),
                WebSocketRoute("/live", talk),
                Mount("/static", StaticFiles(directory=STATIC)),
            ]
        )
    )


async def served(page: str, stage: Stage, port: int, task_status: trio.TaskStatus[str]) -> None:
    """Serve until cancelled; started with the address of the page."""
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.graceful_timeout = 0.5
    config.errorlog = logging.getLogger("concord.demo")
    try:
        async with trio.open_nursery() as nursery:
            addresses = await nursery.start(serve, _application(page, stage), config)
            task_status.started(f"{addresses[0]}/")
    except* OSError as group:
        reason = group.exceptions[0].args[-1]
        raise ConcordError(f"--port {port}: {reason}; give another one, or 0 for a free one") from None
