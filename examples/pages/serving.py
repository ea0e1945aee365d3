"""A web server for one page: Starlette on Hypercorn's Trio worker, everything from this package.

The page is a folder `static/` beside this file; what changes goes over one WebSocket per tab, which
`guarding` opens for the page alone. A tab that does not read as fast as frames are made is sent fewer: a
frame is made only when the one before it has been sent.
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
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from concord import ConcordError
from examples.pages.guarding import Guard

STATIC: Final = Path(__file__).parent / "static"

HOST: Final = "127.0.0.1"
"""A demo serves the person who started it only, for it lets people kill brokers."""

FRAME_S: Final = 0.05
"""Twenty frames a second; between two of them the page moves things by itself."""

REQUEST_BYTES_MAX: Final = 4096
"""Longer than any message of a page."""

PLACEHOLDER: Final = "{{ token }}"
"""Where the token of the run goes in a page."""

Json = dict[str, object]


def now_ms() -> float:
    """The clock that browsers show as `Date.now()`."""
    return time.time() * 1000


class Tab(Protocol):
    """One open page."""

    def frame(self) -> Json:
        """What to show now."""

    async def do(self, request: Json) -> None:
        """The person did something."""

    def close(self) -> None:
        """The person has gone."""


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
            message = await web.receive()
        except RuntimeError:
            return
        if message["type"] == "websocket.disconnect":
            return
        request = _read(message.get("text") or "")
        if request is not None:
            await tab.do(request)


def _read(text: str) -> Json | None:
    """Return the request in a message; None if there is none."""
    try:
        found = json.loads(text) if len(text) <= REQUEST_BYTES_MAX else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _application(page: str, stage: Stage) -> Guard:
    async def index(_: Request) -> Response:
        text = (STATIC / f"{page}.html").read_text(encoding="utf-8")
        # Nobody keeps a page with a token in it.
        headers = {"cache-control": "no-store"}
        return HTMLResponse(text.replace(PLACEHOLDER, guard.token), headers=headers)

    async def talk(web: WebSocket) -> None:
        await _talk(web, stage)

    guard = Guard(
        Starlette(
            routes=[
                Route("/", index),
                WebSocketRoute("/live", talk),
                # The client of pages is a link to where it is made.
                Mount("/static", StaticFiles(directory=STATIC, follow_symlink=True)),
            ]
        )
    )
    return guard


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
    config.websocket_max_message_size = REQUEST_BYTES_MAX
    config.errorlog = logging.getLogger("concord.demo")
    async with trio.open_nursery() as nursery:
        addresses = await nursery.start(serve, _application(page, stage), config)
        task_status.started(f"{addresses[0]}/")
