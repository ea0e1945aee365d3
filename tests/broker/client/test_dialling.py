import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
import trio
import trustme

from broker import ConnectionFailedError, connect
from broker import messages as m
from broker.wire import encode
from tests.broker.client.scripted import Link, welcome

Serve = Callable[[trio.abc.Stream], Awaitable[None]]


async def _listen(nursery: trio.Nursery, serve: Serve) -> int:
    """Serve every connection to a free port of this machine."""
    start = partial(trio.serve_tcp, host="127.0.0.1")
    listeners: list[trio.SocketListener] = await nursery.start(start, serve, 0)
    port: int = listeners[0].socket.getsockname()[1]
    return port


async def greet_and_subscribe(stream: trio.abc.Stream) -> None:
    link = Link(stream)
    await link.next(m.Hello)
    link.decoder.welcomed()
    await stream.send_all(encode(welcome()))
    await link.allow_subscription()


async def hang_up(stream: trio.abc.Stream) -> None:
    await stream.aclose()


@pytest.mark.parametrize("address", ["", "host", "host:", ":7411", "host:x", "a b:1", "::1:7411"])
async def test_what_is_no_address_is_said_to_be_none(address: str) -> None:
    with pytest.raises(ConnectionFailedError, match="HOST:PORT") as caught:
        async with connect(["127.0.0.1:1", address]):
            pass
    assert caught.value.address == address


async def test_a_client_connects_over_tcp(nursery: trio.Nursery) -> None:
    port = await _listen(nursery, greet_and_subscribe)
    async with connect(f"127.0.0.1:{port}") as client, client.subscribe("True"):
        assert client.broker == "B1"
    nursery.cancel_scope.cancel()


async def test_a_refused_connection_is_reported_in_the_words_of_the_system(nursery: trio.Nursery) -> None:
    async with trio.open_nursery() as short:
        port = await _listen(short, hang_up)
        short.cancel_scope.cancel()
    with pytest.raises(ConnectionFailedError, match=rf"127\.0\.0\.1:{port}: connection refused"):
        async with connect(f"127.0.0.1:{port}"):
            pass
    nursery.cancel_scope.cancel()


async def test_another_service_at_the_address_is_reported(nursery: trio.Nursery) -> None:
    port = await _listen(nursery, hang_up)
    with pytest.raises(ConnectionFailedError, match="does a broker listen there"):
        async with connect(f"127.0.0.1:{port}"):
            pass
    nursery.cancel_scope.cancel()


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made


async def _listen_with_tls(nursery: trio.Nursery, authority: trustme.CA) -> int:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    async def serve(stream: trio.abc.Stream) -> None:
        secured = trio.SSLStream(stream, context, server_side=True)
        try:
            await greet_and_subscribe(secured)
        except trio.BrokenResourceError:
            refused.set()

    refused = trio.Event()
    return await _listen(nursery, serve)


async def test_a_client_connects_with_tls(
    nursery: trio.Nursery, authority: trustme.CA, tmp_path: Path
) -> None:
    port = await _listen_with_tls(nursery, authority)
    trusting = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    async with connect(f"127.0.0.1:{port}", tls=trusting) as client, client.subscribe("True"):
        assert client.broker == "B1"
    nursery.cancel_scope.cancel()


async def test_a_certificate_of_an_unknown_authority_is_reported(
    nursery: trio.Nursery, authority: trustme.CA
) -> None:
    port = await _listen_with_tls(nursery, authority)
    with pytest.raises(ConnectionFailedError, match="certificate verify failed"):
        async with connect(f"127.0.0.1:{port}", tls=ssl.create_default_context()):
            pass
    nursery.cancel_scope.cancel()
