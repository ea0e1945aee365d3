"""Measures the Python clients beside each other: `python -m harness.benchmarks.clients`.

One broker, one publisher and one reader, each a process of its own. A row's client reads what a Trio client
publishes, and publishes what a Trio client reads. Rounds take turns; medians.
"""

import json
from collections.abc import Sequence
from statistics import median
from typing import Final

import click
import trio
from attrs import frozen

from broker.form import FORM
from harness.overlay import start_brokers
from harness.processes import ProgramProcess, start
from harness.tables import show, shown, table_of

KINDS: Final = ("trio", "asyncio", "sync")
EVENTS: Final = 400_000


@frozen
class ClientRow:
    """One kind of client."""

    client: str = shown("client")
    read_per_s: float = shown("deliveries/s", ",.0f")
    read_part: float = shown("of trio", ".2f")
    read_us: float = shown("us per delivery", ".2f")
    published_per_s: float = shown("publications/s", ",.0f")
    published_part: float = shown("of trio", ".2f")
    published_us: float = shown("us per publication", ".2f")


@frozen
class ClientFigures:
    """One client in one round."""

    per_s: float
    us: float


async def run(events: int = EVENTS, rounds: int = 3) -> list[ClientRow]:
    """Measure all kinds of clients."""
    read: dict[str, list[ClientFigures]] = {kind: [] for kind in KINDS}
    published: dict[str, list[ClientFigures]] = {kind: [] for kind in KINDS}
    async with trio.open_nursery() as nursery:
        broker = (await start_brokers(nursery, {"B1": None}))["B1"]
        for _ in range(rounds):
            for kind in KINDS:
                read[kind].append((await _pair(nursery, broker.address, kind, "trio", events))[0])
                published[kind].append((await _pair(nursery, broker.address, "trio", kind, events))[1])
        nursery.cancel_scope.cancel()
    return [_row(kind, read, published) for kind in KINDS]


def _row(
    kind: str, read: dict[str, list[ClientFigures]], published: dict[str, list[ClientFigures]]
) -> ClientRow:
    def rate(of: Sequence[ClientFigures]) -> float:
        return median(each.per_s for each in of)

    def work_us(of: Sequence[ClientFigures]) -> float:
        return median(each.us for each in of)

    return ClientRow(
        kind,
        rate(read[kind]),
        rate(read[kind]) / rate(read["trio"]),
        work_us(read[kind]),
        rate(published[kind]),
        rate(published[kind]) / rate(published["trio"]),
        work_us(published[kind]),
    )


async def _pair(
    nursery: trio.Nursery, address: str, reader: str, publisher: str, events: int
) -> tuple[ClientFigures, ClientFigures]:
    """Let one client read what another one publishes."""
    reading = await _client(nursery, "read", reader, address, events)
    line = await reading.read_line()
    assert line == "ready", line
    publishing = await _client(nursery, "publish", publisher, address, events)
    return await _figures(reading), await _figures(publishing)


async def _client(nursery: trio.Nursery, role: str, kind: str, address: str, events: int) -> ProgramProcess:
    arguments = ["harness.benchmarks.client_worker", role, kind, address, str(events)]
    return await start(nursery, f"{kind} client", "harness.leash", arguments)


async def _figures(client: ProgramProcess) -> ClientFigures:
    return ClientFigures(**json.loads(await client.read_line()))


@click.command(epilog="Example: python -m harness.benchmarks.clients --events 100000")
@click.option("--events", type=click.IntRange(1), default=EVENTS, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
def command(events: int, rounds: int) -> None:
    """Print how fast each Python client reads and publishes at one broker."""
    click.echo(f"one broker, one publisher, one reader, {FORM}")
    show(table_of(trio.run(run, events, rounds)))


if __name__ == "__main__":
    command()
