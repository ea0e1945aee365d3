"""Measures one change in each routing strategy: `python -m harness.benchmarks.routing [--json]`.

A selection of so many candidates is made, and then, in turn, a candidate comes and one goes. Each change is
timed for itself, in the process's own time; so is the choice among all candidates at once, which a new
neighbour needs. Beside a mix of the matching benchmark stand quotes: intervals around one price, on one of a
thousand symbols, among which many cover each other.

The last rows are those of a whole broker core: a broker has one neighbour, which advertises everything, and
clients of its own that subscribe. Their changes are timed until what is to be sent is known; what the
neighbour does with it, and its answer, are not.
"""

import gc
import json
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from time import process_time_ns
from typing import Final

import click
from attrs import asdict, define, frozen

from broker.filters import Filter
from broker.filters import parse as filter_of
from broker.filters.constraints import NumberRange, TextSet
from broker.messages import LinkMessage, SubscriptionAdded, SubscriptionsReplaced, SubscriptionWithdrawn
from broker.routing import Change, RouteFilter, parse
from harness.benchmarks.matching import MIXES, Mix, events
from harness.benchmarks.pair import Pair
from harness.tables import show, shown, table_of

STRATEGIES: Final = ("simple", "identity", "covering", "merging", "merging:1.5")
BROKER_STRATEGIES: Final = ("simple", "identity", "covering", "merging")
"""Each takes a minute or two at the largest size, most of it for the neighbour's part."""

SIZES: Final = (1_000, 10_000, 100_000)

CHANGES: Final = 1_000
"""So the 99th percentile is the tenth from the top."""

SYMBOLS: Final = 1_000
MIDDLE: Final = 50.0

EVERYTHING: Final = filter_of("True")


@define(eq=False)
class CountedPair:
    """Two brokers, the upper one with a publisher of everything, and a count of announcements."""

    pair: Pair
    announced: int = 0
    """Subscriptions that the lower one has announced to the upper one, and withdrawn."""

    @classmethod
    def with_routing(cls, name: str) -> "CountedPair":
        """Return two brokers with this routing."""
        pair = Pair.joined(parse(name))
        pair.upper.advertise("U.p", EVERYTHING)
        pair.settle()
        return cls(pair)

    def timed_us(self, change: Callable[[], object]) -> float:
        """Return how long a change of the lower broker takes."""
        start = process_time_ns()
        change()
        outgoing = self.pair.lower.take().outgoing
        time_us = (process_time_ns() - start) / 1000
        sent = [each for hop, messages in outgoing if hop is self.pair.up for each in messages]
        self.announced += sum(map(_announced, sent))
        self.pair.settle(sent)
        return time_us


def _announced(message: LinkMessage) -> int:
    match message:
        case SubscriptionAdded() | SubscriptionWithdrawn():
            return 1
        case SubscriptionsReplaced():
            return len(message.added) + len(message.withdrawn)
        case _:
            return 0


@frozen
class RoutingRow:
    """The measurements of one strategy, mix and number of candidates; times in microseconds."""

    strategy: str = shown("strategy")
    mix: str = shown("mix")
    candidates: int = shown("candidates", ",")
    announced: int = shown("announced", ",")
    announced_per_change: float = shown("announced per change", ".2f")
    """Items announced or withdrawn, for each candidate added or removed."""
    add_p50_us: float = shown("add p50", ".1f")
    add_p99_us: float = shown("add p99", ".1f")
    remove_p50_us: float = shown("remove p50", ".1f")
    remove_p99_us: float = shown("remove p99", ".1f")
    at_once_ms: float | None = shown("at once, ms", ",.0f")
    """To choose among all candidates, as for a neighbour that is new; not measured in whole brokers."""


@frozen
class Subject:
    """The strategy and mix, the items announced in the end, and how many of them the changes moved."""

    strategy: str
    mix: str
    candidates: int
    announced: int
    moved: int
    at_once_ms: float | None = None


def _quote(random: Random, _count: int) -> Filter:
    symbol = TextSet(frozenset({f"S{random.randrange(SYMBOLS)}"}))
    low, high = MIDDLE * (1 - random.random()), MIDDLE * (1 + random.random())
    price = NumberRange(low, low_closed=True, high=high, high_closed=True)
    return Filter(((("price", price), ("symbol", symbol)),))


QUOTES: Final = Mix("quotes", _quote, events)
CHANGED: Final = (QUOTES, *(mix for mix in MIXES if mix.name == "mixture"))


def run(sizes: Sequence[int] = SIZES, strategies: Sequence[str] = STRATEGIES) -> list[RoutingRow]:
    """Measure every strategy with every mix at every size, and with quotes also whole brokers."""
    rows = [_row(name, mix, size) for mix in CHANGED for size in sizes for name in strategies]
    return rows + [_broker_row(name, size) for size in sizes for name in BROKER_STRATEGIES]


def _row(name: str, mix: Mix, size: int) -> RoutingRow:
    selection, changes = parse(name).subscriptions.selection(), list[Change]()

    def timed_us(change: Callable[[], Change]) -> float:
        start = process_time_ns()
        changes.append(change())
        return (process_time_ns() - start) / 1000

    filters = mix.filters(size + CHANGES, size, seed=size)
    at_once_ms = _at_once_ms(name, filters[:size])
    added, removed = _times(
        filters,
        size,
        lambda subscription: timed_us(partial(selection.add, subscription)),
        lambda gone: timed_us(partial(selection.remove, gone)),
    )
    moved = sum(len(each.added) + len(each.removed) for each in changes[size:])
    return _summary(
        Subject(name, mix.name, size, len(selection.announced), moved, at_once_ms), added, removed
    )


def _at_once_ms(name: str, filters: Sequence[Filter]) -> float:
    selection = parse(name).subscriptions.selection()
    subscriptions = [RouteFilter(f"s{number}", each) for number, each in enumerate(filters)]
    gc.collect()
    start = process_time_ns()
    selection.edit(subscriptions, ())
    return (process_time_ns() - start) / 1_000_000


def _broker_row(name: str, size: int) -> RoutingRow:
    counted = CountedPair.with_routing(name)
    lower, before = counted.pair.lower, 0

    def add_us(subscription: RouteFilter) -> float:
        nonlocal before
        before = counted.announced if subscription.id == f"s{size}" else before
        return counted.timed_us(partial(lower.subscribe, subscription.id, subscription.filter, ordered=True))

    added, removed = _times(
        QUOTES.filters(size + CHANGES, size, seed=size),
        size,
        add_us,
        lambda gone: counted.timed_us(partial(lower.unsubscribe, gone)),
    )
    known = counted.pair.upper.counts()["subscriptions"]
    return _summary(Subject(name, "quotes, broker", size, known, counted.announced - before), added, removed)


def _times(
    filters: Sequence[Filter],
    size: int,
    add_us: Callable[[RouteFilter], float],
    remove_us: Callable[[str], float],
) -> tuple[list[float], list[float]]:
    """Add so many candidates, then in turn add one and remove one; return how long the latter took."""
    subscriptions = [RouteFilter(f"s{number}", each) for number, each in enumerate(filters)]
    for subscription in subscriptions[:size]:
        add_us(subscription)
    gone = Random(size).sample(range(size), min(size, CHANGES))  # noqa: S311 - a workload, no secret
    gc.collect()
    added, removed = list[float](), list[float]()
    for subscription, number in zip(subscriptions[size:], gone, strict=False):
        added.append(add_us(subscription))
        removed.append(remove_us(f"s{number}"))
    return added, removed


def _summary(subject: Subject, added: list[float], removed: list[float]) -> RoutingRow:
    return RoutingRow(
        strategy=subject.strategy,
        mix=subject.mix,
        candidates=subject.candidates,
        announced=subject.announced,
        announced_per_change=subject.moved / (len(added) + len(removed)),
        add_p50_us=_quantile(added, 0.5),
        add_p99_us=_quantile(added, 0.99),
        remove_p50_us=_quantile(removed, 0.5),
        remove_p99_us=_quantile(removed, 0.99),
        at_once_ms=subject.at_once_ms,
    )


def _quantile(times_us: list[float], share: float) -> float:
    return sorted(times_us)[int(share * len(times_us))]


@click.command()
@click.option("--json", "json_", is_flag=True, help="Print a list instead of a table.")
def command(*, json_: bool) -> None:
    """Measure the cost of one change of a subscription in each routing strategy.

    Example: python -m harness.benchmarks.routing --json
    """
    rows = run()
    if json_:
        click.echo(json.dumps([asdict(row) for row in rows]))
        return
    click.echo("A subscription that comes or goes, by routing strategy; times in microseconds.\n")
    show(table_of(rows, words=2))


if __name__ == "__main__":
    command()
