"""Who may use a demo's page: attacks over real connections, the smallest first."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import pytest
import trio
from attrs import define, field
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Scope

from examples.pages import guarding
from examples.pages.serving import REQUEST_BYTES_MAX, Json, served

WAIT_S: Final = 20
UPGRADE: Final = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
FOREIGN: Final = "http://evil.example"


@define(eq=False)
class FakeTab:
    """Keeps what it was asked to do."""

    done: list[Json]
    came: trio.Event

    def frame(self) -> Json:
        return {}

    async def do(self, request: Json) -> None:
        self.done.append(request)
        self.came.set()

    def close(self) -> None:
        """Nothing is held."""


@define(eq=False)
class Site:
    """A page that is served, and how to speak to its server as no browser would."""

    port: int
    done: list[Json] = field(factory=list)
    came: trio.Event = field(factory=trio.Event)
    token: str = ""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def own(self) -> dict[str, str]:
        return {"Host": self.host, "Origin": f"http://{self.host}"}

    @property
    def live(self) -> str:
        return f"/live?token={self.token}"

    async def connect(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", self.port)

    async def ask(
        self, path: str, headers: Mapping[str, str] | str, method: str = "GET"
    ) -> tuple[int, str, trio.SocketStream]:
        """Send one request; return the status, everything up to the end of the answer, and the stream."""
        stream = await self.connect()
        lines = headers if isinstance(headers, str) else _lines(headers)
        await stream.send_all(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
        answer = await _answer(stream)
        return int(answer.split(" ", 2)[1]), answer, stream

    async def status(self, path: str, headers: Mapping[str, str] | str, method: str = "GET") -> int:
        status, _, stream = await self.ask(path, headers, method)
        await stream.aclose()
        return status


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


async def _answer(stream: trio.SocketStream) -> str:
    text = ""
    while "\r\n\r\n" not in text:
        text += (await _more(stream)).decode()
    head, _, body = text.partition("\r\n\r\n")
    length = re.search(r"content-length: (\d+)", head)
    while length and len(body.encode()) < int(length[1]):
        body += (await _more(stream)).decode()
    return f"{head}\n\n{body}"


async def _more(stream: trio.SocketStream) -> bytes:
    chunk = bytes(await stream.receive_some())
    assert chunk, "the server closed in the middle of an answer"
    return chunk


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    found = Site(0)
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            stage = partial(FakeTab, found.done, found.came)
            address = await nursery.start(partial(served, "game", stage, 0))
            found.port = int(address.rstrip("/").rpartition(":")[2])
            _, page, stream = await found.ask("/", {"Host": found.host})
            await stream.aclose()
            found.token = re.findall(r'name="concord-token" content="([\w-]{20,})"', page)[0]
            yield found
            nursery.cancel_scope.cancel()


def text_frame(payload: bytes, *, kind: int = 1) -> bytes:
    """A masked frame of a client, whose mask changes nothing."""
    length = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2)
    return bytes([0x80 | kind]) + length + bytes(4) + payload


@pytest.mark.parametrize("path", ["/", "/static/game.js", "/nowhere"])
async def test_a_name_that_was_made_to_resolve_to_this_machine_is_refused(path: str) -> None:
    async with site() as here:
        for host in (f"evil.example:{here.port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1:{here.port}.x", ""):
            status, answer, stream = await here.ask(path, {"Host": host})
            await stream.aclose()
            assert status == 403
            assert f"open http://127.0.0.1:{here.port}/" in answer
            assert here.token not in answer


async def test_both_names_of_this_machine_are_served() -> None:
    async with site() as here:
        for host in (here.host, f"localhost:{here.port}", f"LOCALHOST:{here.port}"):
            assert await here.status("/", {"Host": host}) == 200


@pytest.mark.parametrize(
    "origin", [None, FOREIGN, "null", "https://{host}", "http://localhost:{port}", "http://{host}.x"]
)
async def test_another_pages_socket_is_refused_in_words(origin: str | None) -> None:
    async with site() as here:
        headers = {"Host": here.host, **UPGRADE}
        if origin is not None:
            headers["Origin"] = origin.format(host=here.host, port=here.port)
        status, answer, stream = await here.ask(here.live, headers)
        await stream.aclose()
        assert status == 403
        assert "only the demo's own page" in answer
        assert here.done == []


async def test_an_origin_that_is_given_twice_is_refused() -> None:
    async with site() as here:
        twice = f"{_lines({**here.own, **UPGRADE})}Origin: {FOREIGN}\r\n"
        assert await here.status(here.live, twice) == 403


async def test_a_socket_needs_the_token_of_the_page() -> None:
    async with site() as here:
        headers = {**here.own, **UPGRADE}
        for path in (
            "/live",
            "/live?token=",
            "/live?token=guess",
            f"{here.live}&token=guess",
            f"{here.live}x",
            "/live?token=%ff",
            "/live?token=%C3%A9",
        ):
            status, answer, stream = await here.ask(path, headers)
            await stream.aclose()
            assert status == 403
            assert "load the demo's page again" in answer
        assert await here.status(here.live, headers) == 101


async def test_an_address_that_is_no_ascii_is_refused() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nobody asks for more")

    scope: Scope = {"type": "http", "method": "GET", "query_string": b"\xff", "headers": []}
    await guarding.Guard(StaticFiles(directory="."))({**scope, "server": ("127.0.0.1", 80)}, receive, send)
    assert [each.get("status") for each in sent] == [400, None]


async def test_each_run_has_a_token_of_its_own() -> None:
    async with site() as one, site() as other:
        assert one.token != other.token


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_what_would_change_something_is_refused_to_other_pages(method: str) -> None:
    async with site() as here:
        assert await here.status("/", {"Host": here.host, "Origin": FOREIGN}, method) == 403
        assert await here.status("/", {"Host": here.host}, method) == 403
        assert await here.status("/", here.own, method) == 405


async def test_the_page_is_shown_inside_no_other_and_kept_nowhere() -> None:
    async with site() as here:
        _, answer, stream = await here.ask("/", {"Host": here.host})
        await stream.aclose()
        assert "frame-ancestors 'none'" in answer
        assert "cache-control: no-store" in answer


async def test_the_page_may_open_so_many_sockets_and_another_when_one_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guarding, "TABS_MAX", 2)
    async with site() as here:
        headers = {**here.own, **UPGRADE}
        tabs = [(await here.ask(here.live, headers))[2] for _ in range(2)]
        status, answer, stream = await here.ask(here.live, headers)
        await stream.aclose()
        assert status == 503
        assert "2 tabs are open" in answer
        await tabs[0].aclose()
        while await here.status(here.live, headers) != 101:
            await trio.lowlevel.checkpoint()
        await tabs[1].aclose()


@pytest.mark.parametrize(
    "frame",
    [
        text_frame(b"{"),
        text_frame(b"[" * (REQUEST_BYTES_MAX - 1)),
        text_frame(b"[1]"),
        text_frame(b'{"do": "kill"}', kind=2),
    ],
)
async def test_a_message_that_is_no_request_is_left_undone_and_the_next_is_done(frame: bytes) -> None:
    async with site() as here:
        _, _, stream = await here.ask(here.live, {**here.own, **UPGRADE})
        await stream.send_all(frame + text_frame(b'{"do": "tag"}'))
        await here.came.wait()
        assert here.done == [{"do": "tag"}]
        await stream.aclose()


async def test_a_message_that_is_too_long_ends_its_socket() -> None:
    async with site() as here:
        _, _, stream = await here.ask(here.live, {**here.own, **UPGRADE})
        await stream.send_all(text_frame(b" " * REQUEST_BYTES_MAX + b"{}"))
        received = b""
        # A close frame with the code 1009, message too big.
        while b"\x88\x02\x03\xf1" not in received:
            received += await _more(stream)
        await stream.aclose()
        assert here.done == []
