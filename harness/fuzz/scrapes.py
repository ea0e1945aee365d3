"""Throws bytes at the endpoint of the metrics: `python -m harness.fuzz.scrapes --seconds 60 --seed 1`.

A case is what a client sends, in pieces, before it stops. It gets one whole answer of HTTP, or none if it has
left before its request was over; only `GET /metrics` gets the metrics.
"""

import re
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Final, cast

import trio
import trio.testing
from attrs import frozen
from prometheus_client import CollectorRegistry, Gauge

from broker.server.metrics import REQUEST_BYTES_MAX, _answer
from harness.fuzz.campaigns import Campaign, Crash, FuzzTally, command_for
from harness.fuzz.mutations import spoilt

SECRET: Final = b"fuzzed_metric"
"""What only a scrape may see."""

_REQUESTS: Final = (
    b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9100\r\n\r\n",
    b"GET /metrics?name[]=x HTTP/1.0\r\n\r\n",
    b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    b"GET /../metrics HTTP/1.1\r\n\r\n",
    b"GET http://127.0.0.1/metrics HTTP/1.1\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nX: " + b"x" * REQUEST_BYTES_MAX,
    b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\r\n\r\n",
    b"",
)
_HEAD: Final = re.compile(rb"HTTP/1\.1 (200|404|405) [A-Za-z ]+\r\n(?:[A-Za-z-]+: [ -~]*\r\n)*\r\n")


@frozen
class ScrapeCase:
    """What is sent, and where it is cut."""

    request: bytes
    cuts: tuple[int, ...]


def _make(random: Random) -> ScrapeCase:
    request = spoilt(random, _REQUESTS)
    cuts = (random.randint(0, len(request)) for _ in range(random.choice((0, 0, 1, 3))))
    return ScrapeCase(request, tuple(sorted(cuts)))


def _judge(case: ScrapeCase, _: FuzzTally) -> str:
    answer = trio.run(_answered, case)
    if not answer:
        if b"\r\n\r\n" in case.request or len(case.request) >= REQUEST_BYTES_MAX:
            raise Crash("a whole request gets no answer")
        return "unanswered"
    head = _HEAD.match(answer)
    if head is None or f"\r\nContent-Length: {len(answer) - head.end()}\r\n".encode() not in head[0]:
        raise Crash(f"an answer that is no HTTP: {answer[:500]!r}")
    is_scrape = re.match(rb"GET /metrics[? ]", case.request + b" ") is not None
    if (SECRET in answer) != is_scrape or (head[1] == b"200") != is_scrape:
        raise Crash(f"{head[1].decode()} with {len(answer)} bytes")
    return f"answered with {head[1].decode()}"


async def _answered(case: ScrapeCase) -> bytes:
    registry = CollectorRegistry()
    Gauge(SECRET.decode(), "What only a scrape may see.", registry=registry)
    ours, theirs = trio.testing.memory_stream_pair()
    answer = bytearray()

    async def ask() -> None:
        with suppress(trio.BrokenResourceError):
            # It answers as soon as it knows enough, and reads no further.
            for first, last in pairwise((0, *case.cuts, len(case.request))):
                await theirs.send_all(case.request[first:last])
            await theirs.send_eof()
        async for chunk in theirs:
            answer.extend(chunk)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await _answer(cast("trio.SocketStream", ours), registry)
        await ours.aclose()
    return bytes(answer)


CAMPAIGN: Final = Campaign("scrapes", _make, _judge)
main: Final = command_for(CAMPAIGN, "Throw bytes at the endpoint of the metrics.")

if __name__ == "__main__":
    main()
