import re

import pytest
import trio

from broker import connect
from broker.addresses import Address
from broker.server import server as server_module
from broker.server.metrics import REQUEST_TIMEOUT_S, SCRAPES_MAX, serve_metrics
from tests.broker.server.overlay import Running, chain, until


async def ask(port: int, request: bytes) -> tuple[str, str]:
    """The status line and the body of one answer."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request)
        answer = b""
        async for received in stream:
            answer += received
    head, _, body = answer.decode().partition("\r\n\r\n")
    assert f"Content-Length: {len(body)}" in head
    return head.splitlines()[0], body


def value(body: str, name: str, labels: str = "") -> float:
    found = re.search(rf"^{name}{re.escape(labels)} (\S+)$", body, re.MULTILINE)
    assert found is not None, f"{name}{labels} is not in:\n{body}"
    return float(found[1])


async def traffic(top: Running, leaf: Running) -> None:
    async with (
        connect(top.address, name="alice") as alice,
        connect(leaf.address, name="bob") as bob,
        bob.subscribe("x > 0") as deliveries,
        alice.advertise("x > 0") as publisher,
    ):
        for number in range(1, 11):
            await publisher.publish({"x": number})
        async for delivery in deliveries:
            if delivery.sequence == 10:
                break


async def test_prometheus_sees_what_went_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SAMPLE_EVERY", 1)
    async with chain("B1", "B2") as (top, leaf), trio.open_nursery() as nursery:
        await traffic(top, leaf)
        exchange = top.server.exchange
        await until(lambda: not exchange.publishers)
        (listener,) = await nursery.start(serve_metrics, Address("127.0.0.1", 0), top.server)
        port = listener.socket.getsockname()[1]
        status, body = await ask(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status == "HTTP/1.1 200 OK"
        assert value(body, "concord_publications_in_total") == 10
        assert value(body, "concord_link_publications_out_total", '{hop="B2"}') == 10
        assert value(body, "concord_link_publications_in_total", '{hop="B2"}') == 0
        assert value(body, "concord_deliveries_total") == 0
        assert value(body, "concord_core_seconds_total") > 0
        assert 1 <= value(body, "concord_matching_seconds_count") <= 10
        assert value(body, "concord_matching_seconds_sum") > 0
        assert value(body, "concord_table_size", '{table="links"}') == 1
        assert value(body, "concord_waiting") == 0
        for name in ("requests", "acknowledgements", "deferred", "refused", "metadata_bytes"):
            assert value(body, f"concord_ordering_{name}_total") == 0
        assert value(body, "concord_subscription_queue_bytes") == 0
        assert leaf.server.exchange.totals.deliveries == 10
        nursery.cancel_scope.cancel()


async def test_metrics_have_the_uplink_and_the_candidates_without_it() -> None:
    async with chain("B1", "B2", "B3") as (_, _, leaf), trio.open_nursery() as nursery:
        await until(lambda: len(leaf.server.exchange.core.roster) == 3)
        (listener,) = await nursery.start(serve_metrics, Address("127.0.0.1", 0), leaf.server)
        port = listener.socket.getsockname()[1]
        _, body = await ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")
        assert value(body, "concord_uplink", '{hop="B2"}') == 1
        assert value(body, "concord_uplink_moves_total") == 1
        assert value(body, "concord_uplink_candidates") == 2
        assert value(body, "concord_known_brokers") == 3
        nursery.cancel_scope.cancel()


async def test_scrapes_that_never_end_keep_nobody_from_the_metrics() -> None:
    async with chain("B1") as (one,), trio.open_nursery() as nursery:
        (listener,) = await nursery.start(serve_metrics, Address("127.0.0.1", 0), one.server)
        port = listener.socket.getsockname()[1]
        slow = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(2 * SCRAPES_MAX)]
        with trio.fail_after(REQUEST_TIMEOUT_S / 2):
            assert (await ask(port, b"GET /metrics HTTP/1.1\r\n\r\n"))[0] == "HTTP/1.1 200 OK"
            assert not await slow[0].receive_some(), "the oldest has been closed"
        for stream in slow:
            await stream.aclose()
        nursery.cancel_scope.cancel()


async def test_other_requests_are_answered_with_what_is_wrong() -> None:
    async with chain("B1") as (one,), trio.open_nursery() as nursery:
        (listener,) = await nursery.start(serve_metrics, Address("127.0.0.1", 0), one.server)
        port = listener.socket.getsockname()[1]
        assert (await ask(port, b"GET / HTTP/1.1\r\n\r\n"))[0] == "HTTP/1.1 404 Not Found"
        assert (await ask(port, b"POST /metrics HTTP/1.1\r\n\r\n"))[0] == "HTTP/1.1 405 Method Not Allowed"
        nursery.cancel_scope.cancel()
