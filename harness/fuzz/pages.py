"""Throws requests at the page of a demo: `python -m harness.fuzz.pages --seconds 60 --seed 1`.

A case is a request as a web server hands it on, honest but for some parts, and messages for the socket that
it may open. Every request is answered; a socket is opened only for the page itself with the token of the run,
and nothing is done without one. Whatever is said in it, the page goes on.

The demos stand behind the harness, which imports none of them: the one to attack is looked up by its name.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from pkgutil import resolve_name
from random import Random
from typing import Any, Final
from urllib.parse import unquote

import trio
from attrs import define, field, frozen

from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, command_for
from harness.fuzz.mutations import spoilt

TOKEN: Final = "the-token-of-this-run"  # noqa: S105 - it guards nothing
PORT: Final = 8080
HOSTS: Final = (f"127.0.0.1:{PORT}".encode(), f"localhost:{PORT}".encode())

Json = dict[str, object]
Message = MutableMapping[str, Any]
Application = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

_ODD_HOSTS: Final = (
    *(b"", b"evil.example", b"evil.example:8080", b"127.0.0.1", b"127.0.0.1:8080.evil.example", b"\xff:8080"),
    *(b"127.0.0.1:8080 ", b"127.0.0.1:8080@evil.example", b"LOCALHOST:8080", b"x" * 4000, b"[::1]:8080"),
)
_ODD_ORIGINS: Final = (
    *(b"", b"null", b"http://evil.example", b"https://127.0.0.1:8080", b"http://127.0.0.1:8080/"),
    *(b"\xff\xfe", b"http://localhost:8080", b"http://127.0.0.1:8080.evil.example"),
    *(b"HTTP://127.0.0.1:8080", b"x" * 4000),
)
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X" * 200)
_PATHS: Final = (
    *(b"/", b"/live", b"/static/game.js", b"/static/", b"/static", b"/static/../serving.py"),
    *(b"/nowhere", b"/static/%2e%2e/serving.py", b"/static/%00", b"/static//etc/passwd", b"/%ff", b"*"),
    *(b"", b"//", b"/static/" + b"x" * 5000, b"/static/" + b"x/" * 2000, b"/static/\\..\\serving.py"),
    *(b"/live/", b"/static/."),
)
_QUERIES: Final = (
    *(b"", b"token", b"token=", b"token=%ff", b"token=\xff", b"token=%00", b"token=guess", b"&" * 3000),
    *(b"token=%C3%A9", b"token=%ud800", b"token=" + b"x" * 9000, b";token=" + TOKEN.encode(), b"a=1&" * 2000),
    *(f"{query}token={TOKEN}".encode() for query in ("token=x&", "token=&", "%00&", "TOKEN=x&", "x=%ff&")),
)
_MESSAGES: Final = (
    b'{"do": "show", "ordering": "pairwise"}',
    b'{"do": "show", "ordering": "other"}',
    b'{"do": "views", "names": ["Ada", "Ben", 3, null, [], {}]}',
    b'{"do": "take", "name": "Ada"}',
    b'{"do": "take", "name": ["Ada"]}',
    b'{"do": "release"}',
    b'{"do": "step", "dx": 1, "dy": 0}',
    b'{"do": "step", "dx": -999999999999999999999999, "dy": 1e999}',
    b'{"do": "tag"}',
    b'{"do": "kill", "broker": "Frankfurt"}',
    b'{"do": "kill", "broker": NaN}',
    b'{"do": {"do": "kill"}}',
    b"[]",
    b'"\\ud800"',
)


@frozen
class PageCase:
    """A request for a page or for a socket, and what is said in the socket."""

    kind: str
    method: str
    path: bytes
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    messages: tuple[str | bytes, ...]

    @property
    def may_do(self) -> bool:
        """Return whether it shows all that the page itself would show."""
        hosts = [value.lower() for name, value in self.headers if name == b"host"]
        origins = [value for name, value in self.headers if name == b"origin"]
        return (
            len(hosts) == 1
            and hosts[0] in HOSTS
            and origins == [b"http://" + hosts[0]]
            and TOKEN in self.query.decode("latin-1")
        )


@define(eq=False)
class _Stage:
    """What tabs share: it records what they start."""

    name: str
    done: list[object] = field(factory=list)

    def start_soon(self, *started: object) -> None:
        self.done.append(started)

    def open(self) -> "_Tab":
        overlay = resolve_name("examples.pages.overlay:DemoOverlay")("pairwise", {"Frankfurt": "127.0.0.1:1"})
        overlay._servers["Frankfurt"] = None  # noqa: SLF001 - as if it had been started here
        if self.name == "game":
            show = resolve_name("examples.pages.match:Match").of(overlay, 3, seed=1)
            tab = resolve_name("examples.pages.tabs:GameTab")({"pairwise": show}, self)
        else:
            show = resolve_name("examples.pages.floor:Floor")(overlay, (), 1.0, 1)
            tab = resolve_name("examples.pages.tabs:TickerTab")({"pairwise": show}, self)
        return _Tab(tab, self.done)


@define(eq=False)
class _Tab:
    """A tab of a demo: its requests are recorded, and it has to make a frame after each."""

    _tab: Any
    _done: list[object]

    def frame(self) -> Json:
        found: Json = self._tab.frame()
        return found

    async def do(self, request: Json) -> None:
        self._done.append(request)
        await self._tab.do(request)
        json.dumps(self._tab.frame())

    def close(self) -> None:
        self._tab.close()


def _make(random: Random) -> PageCase:
    kind = random.choice(("http", "websocket"))
    host = random.choice(HOSTS)
    headers = [(b"host", host), (b"origin", b"http://" + host)]
    method, path, query = "GET", random.choice((b"/", b"/static/game.js")), b""
    if kind == "websocket":
        path, query = b"/live", f"token={TOKEN}".encode()
    for _ in range(random.choice((0, 1, 1, 2))):
        match random.randrange(6):
            case 0:
                headers[0] = (b"host", random.choice((*_ODD_HOSTS, *HOSTS)))
            case 1:
                headers[1] = (b"origin", random.choice(_ODD_ORIGINS))
            case 2:
                headers.append(
                    random.choice((*headers, (b"range", b"bytes=9-1,-,x"), (b"if-none-match", b"\xff")))
                )
            case 3:
                method = random.choice(_METHODS)
            case 4:
                path = random.choice(_PATHS)
            case _:
                query = random.choice(_QUERIES)
    said = (spoilt(random, _MESSAGES)[:5000] for _ in range(random.choice((0, 1, 3))))
    messages = tuple(each if random.randrange(5) == 0 else each.decode("utf-8", "replace") for each in said)
    return PageCase(kind, method, path, query, tuple(headers), messages)


def _judge(case: PageCase, _: FuzzTally) -> str:
    done, sent = trio.run(_handled, case)
    opened = any(each["type"] == "websocket.accept" for each in sent)
    if (done or opened) and not (case.kind == "websocket" and case.may_do):
        raise Crash(f"without the token or the right names {done or 'a socket'} came about")
    if opened:
        return "opened"
    starts = [each for each in sent if each["type"].endswith("response.start")]
    bodies = [each for each in sent if each["type"].endswith("response.body")]
    closes = [each for each in sent if each["type"] == "websocket.close"]
    if closes and not starts:
        return "closed"
    if len(starts) != 1 or not bodies or bodies[-1].get("more_body"):
        raise Crash(f"no answer, or no whole one: {[each['type'] for each in sent]}")
    text = b"".join(each.get("body", b"") for each in bodies)
    if TOKEN.encode() in text and (case.path != b"/" or starts[0]["status"] != 200):  # noqa: PLR2004 - what HTTP calls OK
        raise Crash("the token stands where the page is not")
    if not case.may_do and starts[0]["status"] >= 500:  # noqa: PLR2004 - the server's own faults
        raise Crash(f"status {starts[0]['status']}")
    return f"answered with {starts[0]['status']}"


async def _handled(case: PageCase) -> tuple[list[object], list[Message]]:
    stage = _Stage("game" if len(case.messages) % 2 else "ticker")
    application = resolve_name("examples.pages.serving:_application")(stage.name, stage.open)
    application.token = TOKEN
    sent: list[Message] = []
    incoming = _incoming(case)

    async def receive() -> Message:
        await trio.lowlevel.checkpoint()
        if incoming:
            return incoming.pop(0)
        if case.kind == "http":
            await trio.sleep_forever()  # The browser waits for its answer.
        return {"type": "websocket.disconnect", "code": 1001}

    async def send(message: Message) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(message)

    await application(_scope(case), receive, send)
    return stage.done, sent


def _incoming(case: PageCase) -> list[Message]:
    if case.kind == "http":
        return [{"type": "http.request", "body": b"x", "more_body": False}]
    said: list[Message] = [{"type": "websocket.connect"}]
    for each in case.messages:
        key = "bytes" if isinstance(each, bytes) else "text"
        said.append({"type": "websocket.receive", key: each})
    return said


def _scope(case: PageCase) -> Message:
    scope: Message = {
        "type": case.kind,
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "http" if case.kind == "http" else "ws",
        "path": unquote(case.path.decode("latin-1")),
        "raw_path": case.path,
        "query_string": case.query,
        "root_path": "",
        "headers": list(case.headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", PORT),
        "extensions": {"websocket.http.response": {}},
    }
    return {**scope, "method": case.method} if case.kind == "http" else {**scope, "subprotocols": []}


CAMPAIGN: Final = Campaign("requests", _make, _judge)
main: Final = command_for(CAMPAIGN, "Throw requests at the page of a demo.")

if __name__ == "__main__":
    main()
