"""Measures the longest step of a broker with many subscriptions that gets a new neighbour.

    python -m harness.benchmarks.newcomers

A broker has so many local subscriptions, and an empty one dials it, or is dialled by it. The new one has
publishers: one that advertises everything, and some that advertise one symbol each. Every step of both is
timed in the process's own time, until nothing is on its way any more; then the link is lost.
"""

import gc
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import process_time_ns
from typing import Final

import click
from attrs import Factory, asdict, define, frozen

from broker.core import BrokerCore, Hop
from broker.filters import Filter
from broker.filters import parse as filter_of
from broker.messages import LinkMessage
from broker.routing import DEFAULT, parse
from harness.benchmarks.matching import MIXES, Mix
from harness.benchmarks.routing import QUOTES
from harness.tables import show, shown, table_of
from ordering.pairwise import Pairwise

SIZES: Final = (10_000, 100_000)
SYMBOLS: Final = 9
"""Publishers of the new neighbour, beside the one of everything."""

ADVERTISED: Final = ("True", *(f"symbol == 'S{number}'" for number in range(SYMBOLS)))


@frozen
class NewcomerRow:
    """What one broker's steps took; times in milliseconds."""

    mix: str = shown("mix")
    subscriptions: int = shown("subscriptions", ",")
    newcomer: str = shown("newcomer is")
    announced: int = shown("announced", ",")
    steps: int = shown("steps", ",")
    total_ms: float = shown("all, ms", ",.0f")
    typical_ms: float = shown("99 in 100, ms", ",.0f")
    longest_ms: float = shown("longest, ms", ",.0f")
    newcomer_longest_ms: float = shown("of the newcomer", ",.0f")
    advertised_ms: float = shown("one more advertisement, ms", ",.0f")
    lost_ms: float = shown("lost link, ms", ",.0f")


@define(eq=False)
class TimedCore:
    """A core whose steps are timed, each with what it sends."""

    core: BrokerCore
    link: Hop | None = None
    times_ms: list[float] = Factory(list)
    is_unfinished: bool = False

    def step(self, do: Callable[[], object]) -> list[LinkMessage]:
        """Take a step; return what it sends to the other broker."""
        begun_ns = process_time_ns()
        do()
        effects = self.core.take()
        self.times_ms.append((process_time_ns() - begun_ns) / 1e6)
        self.is_unfinished = effects.is_unfinished
        return [each for hop, messages in effects.outgoing if hop is self.link for each in messages]

    def receive(self, messages: Iterable[LinkMessage]) -> list[LinkMessage]:
        """Take messages one by one, in a step each; then go on, if there is more to do."""
        link, sent = self.link, list[LinkMessage]()
        assert link is not None
        for each in messages:
            sent += self.step(partial(self.core.receive, link, (each,)))
        if self.is_unfinished:
            sent += self.step(self.core.continue_crossing)
        return sent


def _joined(one: TimedCore, other: TimedCore) -> None:
    """Let the second dial the first, and everything arrive."""
    one.link = one.core.open_link(other.core.name, uplink=False)
    other.link = other.core.open_link(one.core.name, uplink=True)
    _settle(one, other, one.step(lambda: None), other.step(lambda: None))


def _settle(one: TimedCore, other: TimedCore, down: list[LinkMessage], up: list[LinkMessage]) -> None:
    while down or up or one.is_unfinished or other.is_unfinished:
        up += other.receive(down)
        down, up = one.receive(up), []


def measure(mix: Mix, filters: Sequence[Filter], routing: str, *, dials: bool) -> NewcomerRow:
    """Return what the steps of a broker with these subscriptions take, when a new one dials or is dialled."""
    large, small = (TimedCore(BrokerCore(each, Pairwise, routing=parse(routing))) for each in ("L", "N"))
    for number, content in enumerate(filters):
        large.core.subscribe(f"s{number}", content, ordered=True)
    for number, text in enumerate(ADVERTISED):
        small.core.advertise(f"p{number}", filter_of(text))
    large.core.take()
    gc.collect()
    gc.freeze()
    _joined(*((large, small) if dials else (small, large)))
    times_ms, newcomer_ms = large.times_ms, max(small.times_ms)
    announced = small.core.counts()["subscriptions"]
    large.times_ms, small.times_ms = [], []
    sent = small.step(lambda: small.core.advertise("p", filter_of("symbol == 'S1' and price > 50")))
    up, down = (sent, []) if dials else ([], sent)
    _settle(*((large, small) if dials else (small, large)), down, up)
    advertised_ms, large.times_ms, link = max(large.times_ms), [], large.link
    assert link is not None
    large.step(lambda: large.core.close_link(link))
    return NewcomerRow(
        mix.name,
        len(filters),
        "below" if dials else "above",
        announced,
        len(times_ms),
        sum(times_ms),
        sorted(times_ms)[len(times_ms) * 99 // 100],
        max(times_ms),
        newcomer_ms,
        advertised_ms,
        large.times_ms[0],
    )


def run(sizes: Sequence[int] = SIZES, routing: str = str(DEFAULT)) -> list[NewcomerRow]:
    """Measure each mix at every size, with the new neighbour below and above."""
    mixes = (QUOTES, *(mix for mix in MIXES if mix.name == "mixture"))
    return [
        measure(mix, mix.filters(size, size, seed=size), routing, dials=dials)
        for mix in mixes
        for size in sizes
        for dials in (True, False)
    ]


@click.command()
@click.option("--routing", default=str(DEFAULT), show_default=True, help="The strategies.")
@click.option("--json", "json_", is_flag=True, help="Print a list instead of a table.")
def command(routing: str, *, json_: bool) -> None:
    """Measure how long the steps take in which a broker serves a new neighbour.

    Example: python -m harness.benchmarks.newcomers --json
    """
    rows = run(routing=routing)
    if json_:
        click.echo(json.dumps([asdict(row) for row in rows]))
        return
    show(table_of(rows, words=1))


if __name__ == "__main__":
    command()
