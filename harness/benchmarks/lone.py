"""What a broker computes for one lone event, without its sockets: `python -m harness.benchmarks.lone`.

A publication's bytes go into the node, the bytes for every subscriber come out, and the answer that these
were written goes in again. Nothing sleeps between two events, so all caches are warm: a broker at rest that
is woken by one event takes longer, and Trio and the kernel take the rest of the time on the way.
"""

from collections.abc import Iterator, Sequence
from statistics import median
from time import perf_counter_ns
from typing import Final

import click
from attrs import frozen

from broker.form import FORM
from broker.messages import Advertise, Advertised, Credit, Subscribe
from broker.node import Received, Written
from broker.wire import encode, encode_publication, publication_prefix
from harness.node_overlay import NodeOverlay
from harness.tables import show, shown, table_of

EVENTS: Final = 2_000
WARM_COUNT: Final = 200
CONFIRMED: Final = 100
"""Subscribers confirm after so many events, which is not timed."""

SUBSCRIBERS: Final = (1, 4, 50)
FILTER: Final = "kind == 'trade' and price > 0"
NS_PER_US: Final = 1_000


@frozen
class LoneRow:
    """An event to so many subscribers, each with a connection; medians."""

    subscribers: int = shown("subscribers")
    read_us: float = shown("read, route, queue us", ".1f")
    written_us: float = shown("written us", ".1f")


def run(counts: Sequence[int] = SUBSCRIBERS, events: int = EVENTS) -> list[LoneRow]:
    """Measure each number of subscribers."""
    return [_row(count, events) for count in counts]


def _row(count: int, events: int) -> LoneRow:
    overlay = NodeOverlay()
    overlay.add("B1")
    overlay.wait(2.0)
    publisher = overlay.client("B1", "alice")
    overlay.feed("B1", Received(publisher, encode(Advertise(1, FILTER, ""))))
    readers = [overlay.client("B1", f"bob-{number}") for number in range(count)]
    is_ordered = True
    for reader in readers:
        asked = Subscribe(1, FILTER, is_ordered, 2 * (WARM_COUNT + events), 1 << 23, "disconnect")
        overlay.feed("B1", Received(reader, encode(asked)))
    advertised = overlay.answer("B1", publisher, Advertised)
    assert isinstance(advertised, Advertised)
    read_ns, written_ns = [], []
    for number, frame in enumerate(_frames(advertised.publisher, WARM_COUNT + events), 1):
        node = overlay.nodes["B1"]
        begun_ns = perf_counter_ns()
        effects = node.step(Received(publisher, frame), overlay.now_s)
        decided_ns = perf_counter_ns()
        written = Written(tuple(each.connection for each in effects.writes))
        assert set(written.connections) >= set(readers), "it was not delivered to everybody"
        answered_ns = perf_counter_ns()
        node.step(written, overlay.now_s)
        read_ns.append(decided_ns - begun_ns)
        written_ns.append(perf_counter_ns() - answered_ns)
        if number % CONFIRMED == 0:
            for reader in readers:
                overlay.feed("B1", Received(reader, encode(Credit(1, 0, number))))
    return LoneRow(
        count, median(read_ns[WARM_COUNT:]) / NS_PER_US, median(written_ns[WARM_COUNT:]) / NS_PER_US
    )


def _frames(publisher: str, count: int) -> Iterator[bytes]:
    prefix = publication_prefix(publisher)
    for number in range(1, count + 1):
        yield encode_publication(
            prefix, number, 0, {"kind": "trade", "price": 101.5}, b"x" * 100, ordered=True
        )


@click.command(epilog="Example: python -m harness.benchmarks.lone")
def command() -> None:
    """Print what a lone event costs a broker with 1, 4 and 50 subscribers."""
    click.echo(f"one broker, {FORM}")
    show(table_of(run()))


if __name__ == "__main__":
    command()
