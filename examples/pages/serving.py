"""A web server for one page: Starlette on Hypercorn's Trio worker, everything from this package.

The page is a folder `static/` beside this file; what changes goes over one WebSocket per tab. A tab that does
not read as fast as frames are made is sent fewer: a frame is made only when the one before it has been sent.
"""

import json
import logging
import socket
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

__all__ = ["Json", "Stage", "Tab", "check_free", "now_ms", "served"]

STATIC: Final = Path(__file__).parent / "static"

HOST: Final = "127.0.0.1"
"""A demo is for whoever started it: it lets people kill brokers."""

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


async def _talk(web: WebSocket, stage: Stage) -> None:
    """Serve one tab until it is closed."""
    tab = stage()
    await web.accept()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_show, web, tab)
            await _listen(web, tab)
            nursery.cancel_scope.cancel()
    finally:
        tab.close()


async def _show(web: WebSocket, tab: Tab) -> None:
    while True:
        try:
            await web.send_text(json.dumps(tab.frame(), separators=(",", ":")))
        except (WebSocketDisconnect, RuntimeError):
            return  # It went between two frames; the listener sees that too.
        await trio.sleep(FRAME_S)


async def _listen(web: WebSocket, tab: Tab) -> None:
    while True:
        try:
            text = await web.receive_text()
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

    async def talk(web: WebSocket) -> None:
        await _talk(web, stage)

    return _guarded(
        Starlette(
            routes=[
                Route("/", index),
                WebSocketRoute("/live", talk),
                Mount("/static", StaticFiles(directory=STATIC)),
            ]
        )
    )


def check_free(port: int) -> None:
    """Say that a port is taken before anything is started for it."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise ConcordError(f"--port {port}: {error.strerror}; give another one, or 0") from error


async def served(page: str, stage: Stage, port: int, task_status: trio.TaskStatus[str]) -> None:
    """Serve until cancelled; started with the address of the page."""
    config = Config()
    config.bind = [f"{HOST}:{port}"]
    config.graceful_timeout = 0.5
    config.errorlog = logging.getLogger("concord.demo")
    async with trio.open_nursery() as nursery:
        addresses = await nursery.start(serve, _application(page, stage), config)
        task_status.started(f"{addresses[0]}/")
