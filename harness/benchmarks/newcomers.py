"""Measures the longest step of a broker with many subscriptions that gets a new neighbour.

    python -m harness.benchmarks.newcomers

A broker has so many local subscriptions, and an empty one dials it, or is dialled by it. The new one has
publishers: one that advertises everything, and some that advertise one symbol each. Then comes one more
publisher, and the link is lost. Another new neighbour has publishers of one symbol each first, and gets the
one of everything later. Every step of both is timed in the process's own time, until nothing is on its way
any more, without Python's search for cycles of garbage.
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

ONE_EACH: Final = tuple(f"symbol == 'S{number}'" for number in range(SYMBOLS))


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
    message_ms: float = shown("message, ms", ",.0f")
    part_ms: float = shown("part, ms", ",.0f")
    newcomer_longest_ms: float = shown("of the newcomer", ",.0f")
    advertised_ms: float = shown("one more advertisement, ms", ",.0f")
    lost_ms: float = shown("lost link, ms", ",.0f")
    everything_ms: float = shown("everything later, ms", ",.0f")


@define(eq=False)
class TimedCore:
    """A core whose steps are timed, messages and parts apart."""

    core: BrokerCore
    link: Hop | None = None
    messages_ms: list[float] = Factory(list)
    parts_ms: list[float] = Factory(list)
    is_unfinished: bool = False

    def step(self, do: Callable[[], object], times_ms: list[float] | None = None) -> list[LinkMessage]:
        """Take a step; return what it sends to the other broker."""
        begun_ns = process_time_ns()
        do()
        effects = self.core.take()
        (self.messages_ms if times_ms is None else times_ms).append((process_time_ns() - begun_ns) / 1e6)
        self.is_unfinished = effects.is_unfinished
        return [each for hop, messages in effects.outgoing if hop is self.link for each in messages]

    def receive(self, messages: Iterable[LinkMessage]) -> list[LinkMessage]:
        """Take messages one by one, in a step each; then go on, if there is more to do."""
        link, sent = self.link, list[LinkMessage]()
        assert link is not None
        for each in messages:
            sent += self.step(partial(self.core.receive, link, (each,)))
        if self.is_unfinished:
            sent += self.step(self.core.continue_crossing, self.parts_ms)
        return sent

    def longest_ms(self) -> float:
        """Return what the longest step took, and count anew from here on."""
        longest = max(*self.messages_ms, *self.parts_ms, 0.0, 0.0)
        self.messages_ms, self.parts_ms = [], []
        return longest


@frozen
class Newcomer:
    """A new neighbour of the large broker; it `dials`, or is dialled."""

    large: TimedCore
    small: TimedCore
    dials: bool

    def join(self, advertised: Iterable[str]) -> None:
        """Let the link come up between the large broker and one with these publishers."""
        for number, text in enumerate(advertised):
            self.small.core.advertise(f"p{number}", filter_of(text))
        self.large.link = self.large.core.open_link(self.small.core.name, uplink=not self.dials)
        self.small.link = self.small.core.open_link(self.large.core.name, uplink=self.dials)
        self._settle(self.small.step(lambda: None), self.large.step(lambda: None))

    def advertise(self, text: str) -> None:
        """Let one more publisher come."""
        self._settle(self.small.step(lambda: self.small.core.advertise("p", filter_of(text))), [])

    def leave(self) -> None:
        """Let the large broker lose the link, and do all that follows."""
        link = self.large.link
        assert link is not None
        self.large.step(lambda: self.large.core.close_link(link))
        while self.large.is_unfinished:
            self.large.receive(())

    def _settle(self, to_large: list[LinkMessage], to_small: list[LinkMessage]) -> None:
        large, small = self.large, self.small
        while to_large or to_small or large.is_unfinished or small.is_unfinished:
            to_small += large.receive(to_large)
            to_large, to_small = small.receive(to_small), []


def measure(mix: Mix, filters: Sequence[Filter], routing: str, *, dials: bool) -> NewcomerRow:
    """Return what the steps of a broker with these subscriptions take, when a new one dials or is dialled."""
    large, first, second = (
        TimedCore(BrokerCore(each, Pairwise, routing=parse(routing))) for each in ("L", "M", "N")
    )
    for number, content in enumerate(filters):
        large.core.subscribe(f"s{number}", content, ordered=True)
    large.core.take()
    gc.collect()
    gc.disable()
    newcomer = Newcomer(large, first, dials)
    newcomer.join(("True", *ONE_EACH))
    times_ms, message_ms, part_ms = large.messages_ms + large.parts_ms, large.messages_ms, large.parts_ms
    large.longest_ms()
    announced, newcomer_ms = first.core.counts()["subscriptions"], first.longest_ms()
    newcomer.advertise("symbol == 'S1' and price > 50")
    advertised_ms = large.longest_ms()
    newcomer.leave()
    lost_ms = large.longest_ms()
    newcomer = Newcomer(large, second, dials)
    newcomer.join(ONE_EACH)
    large.longest_ms()
    newcomer.advertise("True")
    everything_ms = large.longest_ms()
    gc.enable()
    return NewcomerRow(
        mix.name,
        len(filters),
        "below" if dials else "above",
        announced,
        len(times_ms),
        sum(times_ms),
        sorted(times_ms)[len(times_ms) * 99 // 100],
        max(message_ms),
        max(part_ms),
        newcomer_ms,
        advertised_ms,
        lost_ms,
        everything_ms,
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
