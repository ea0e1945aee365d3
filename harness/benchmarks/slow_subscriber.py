"""What one subscriber that never reads costs: memory of the broker, and the rate of everybody else.

Run as `python -m harness.benchmarks.slow_subscriber`. The same events are published twice, to a broker of
their own each time: to healthy subscribers alone, and with one beside them that subscribes and never reads
again. Both brokers must have sent everything to everybody else; the difference in peak memory is to be about
the silent subscription's bound.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Final, Literal

import attrs
import click
import trio

from broker import Deliveries, Publisher, connect
from broker.messages import Hello, Subscribe, Subscribed
from broker.wire import DEFAULT_LIMITS, VERSION, Decoder, Peer, encode
from harness import outcomes
from harness.overlay import start_brokers
from harness.processes import ProcessError
from harness.tables import Column, show, table

HEALTHY: Final = 2
PAYLOAD: Final = bytes(100)
CREDIT: Final = 1
MIB: Final = 1024 * 1024

Policy = Literal["disconnect", "drop"]


@attrs.frozen
class SlowOutcome:
    """One run: how fast the healthy subscribers got everything, and what the broker's memory came to."""

    events_per_s: float
    before_bytes: int
    peak_bytes: int

    @property
    def growth_bytes(self) -> int:
        """Memory that the broker took for the run."""
        return self.peak_bytes - self.before_bytes


def _memory_bytes(process: int, key: str) -> int:
    """Read VmRSS (now) or VmHWM (the most ever) of a process, as Linux reports it."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise ProcessError(f"the system does not tell {key} of process {process}")


@asynccontextmanager
async def _mute(port: int, bound_bytes: int, policy: Policy) -> AsyncIterator[None]:
    """A client that subscribes to everything, takes one delivery, and never reads again."""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(encode(Hello(VERSION, "client", "mute", "1", "", "")))
        decoder = Decoder(DEFAULT_LIMITS, Peer.SERVER)
        decoder.feed(await stream.receive_some())
        await stream.send_all(
            encode(
                Subscribe(
                    number=1,
                    filter="kind == 'tick'",
                    ordered=True,
                    credit=CREDIT,
                    bound_bytes=bound_bytes,
                    policy=policy,
                )
            )
        )
        while Subscribed(1) not in decoder.feed(await stream.receive_some()):
            pass
        yield


async def _publish(publisher: Publisher, count: int) -> None:
    for number in range(count):
        await publisher.publish({"kind": "tick", "price": number % 1000}, payload=PAYLOAD)


async def _listen(deliveries: Deliveries, count: int) -> None:
    """Take every event; a missing or repeated one is an error."""
    expected = 1
    async for delivery in deliveries:
        if delivery.sequence != expected:
            raise ProcessError(f"a healthy subscriber got {delivery.sequence} in place of {expected}")
        expected += 1
        if expected > count:
            return


async def measure(count: int, bound_bytes: int, policy: Policy, *, with_mute: bool) -> SlowOutcome:
    """One run with a broker of its own."""
    async with trio.open_nursery() as nursery:
        server = (await start_brokers(nursery, {"B1": None}, ["--log-level", "error"]))["B1"]
        process = server.program.process.pid
        async with (
            connect(server.address, name="publisher") as client,
            connect(server.address, name="one") as one,
            connect(server.address, name="two") as two,
            one.subscribe("kind == 'tick'") as first,
            two.subscribe("kind == 'tick'") as second,
            _mute(server.port, bound_bytes, policy) if with_mute else nullcontext(),
            client.advertise("kind == 'tick'") as publisher,
        ):
            before_bytes = _memory_bytes(process, "VmRSS")
            started_s = time.perf_counter()
            async with trio.open_nursery() as running:
                running.start_soon(_publish, publisher, count)
                running.start_soon(_listen, first, count)
                running.start_soon(_listen, second, count)
            passed_s = time.perf_counter() - started_s
            peak_bytes = _memory_bytes(process, "VmHWM")
        nursery.cancel_scope.cancel()
    return SlowOutcome(count / passed_s, before_bytes, peak_bytes)


async def _compare(count: int, bound_bytes: int, policy: Policy) -> None:
    alone = await measure(count, bound_bytes, policy, with_mute=False)
    beside = await measure(count, bound_bytes, policy, with_mute=True)
    click.echo(
        f"{count:,} events of 100 bytes to {HEALTHY} subscribers; one more never reads, "
        f"its queue may hold {bound_bytes / MIB:.1f} MiB, then: {policy}\n"
    )
    show(table(_COLUMNS, (("healthy alone", alone), ("beside the silent one", beside))))


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:.1f} MiB"


_COLUMNS: Final[Sequence[Column[tuple[str, SlowOutcome]]]] = (
    ("subscribers", lambda each: each[0]),
    ("events/s", lambda each: f"{each[1].events_per_s:,.0f}"),
    ("memory before", lambda each: _mib(each[1].before_bytes)),
    ("peak", lambda each: _mib(each[1].peak_bytes)),
    ("growth", lambda each: _mib(each[1].growth_bytes)),
)


@click.command(epilog="Example: python -m harness.benchmarks.slow_subscriber --policy drop")
@click.option("--events", type=click.IntRange(min=1), default=1_000_000, show_default=True)
@click.option("--bound-mib", type=click.IntRange(min=1), default=8, show_default=True)
@click.option("--policy", type=click.Choice(["disconnect", "drop"]), default="disconnect", show_default=True)
def command(events: int, bound_mib: int, policy: Policy) -> None:
    """Measure the cost of a subscriber that never reads, for the broker and the other subscribers."""
    outcomes.run(_compare, events, bound_mib * MIB, policy)


if __name__ == "__main__":
    command()
