"""What one change costs each routing strategy: `python -m harness.benchmarks.routing [--json]`.

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
from harness.benchmarks.matching import MIXES, Mix
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
class Told:
    """A pair of brokers, the upper one with a publisher of everything; and what the lower one announces."""

    pair: Pair
    told: int = 0
    """Subscriptions that the lower one has announced to the upper one, and withdrawn."""

    @classmethod
    def with_routing(cls, name: str) -> "Told":
        """Two brokers with this routing."""
        pair = Pair.joined(parse(name))
        pair.upper.advertise("U.p", EVERYTHING)
        pair.settle()
        return cls(pair)

    def timed_us(self, change: Callable[[], object]) -> float:
        """How long a change of the lower one takes."""
        start = process_time_ns()
        change()
        outgoing = self.pair.lower.take().outgoing
        time_us = (process_time_ns() - start) / 1000
        sent = [each for hop, messages in outgoing if hop is self.pair.up for each in messages]
        self.told += sum(map(_announced, sent))
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
    """What was measured for one strategy, mix and number of candidates; times in microseconds."""

    strategy: str = shown("strategy")
    mix: str = shown("mix")
    candidates: int = shown("candidates", ",")
    told: int = shown("announced", ",")
    told_per_change: float = shown("announced per change", ".2f")
    """Items announced or withdrawn, for each candidate that comes or goes."""
    add_p50_us: float = shown("add p50", ".1f")
    add_p99_us: float = shown("add p99", ".1f")
    remove_p50_us: float = shown("remove p50", ".1f")
    remove_p99_us: float = shown("remove p99", ".1f")
    at_once_ms: float | None = shown("at once, ms", ",.0f")
    """To choose among all candidates, as for a neighbour that is new; not measured in whole brokers."""


@frozen
class Subject:
    """What was changed, how much was told in the end, and how much the changes moved of it."""

    strategy: str
    mix: str
    candidates: int
    told: int
    moved: int
    at_once_ms: float | None = None


def _quote(random: Random, _count: int) -> Filter:
    symbol = TextSet(frozenset({f"S{random.randrange(SYMBOLS)}"}))
    low, high = MIDDLE * (1 - random.random()), MIDDLE * (1 + random.random())
    price = NumberRange(low, low_closed=True, high=high, high_closed=True)
    return Filter(((("price", price), ("symbol", symbol)),))


QUOTES: Final = Mix("quotes", _quote)
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
        lambda wish: timed_us(partial(selection.add, wish)),
        lambda gone: timed_us(partial(selection.remove, gone)),
    )
    moved = sum(len(each.added) + len(each.removed) for each in changes[size:])
    return _summary(
        Subject(name, mix.name, size, len(selection.announced), moved, at_once_ms), added, removed
    )


def _at_once_ms(name: str, filters: Sequence[Filter]) -> float:
    selection = parse(name).subscriptions.selection()
    wishes = [RouteFilter(f"s{number}", each) for number, each in enumerate(filters)]
    gc.collect()
    start = process_time_ns()
    selection.edit(wishes, ())
    return (process_time_ns() - start) / 1_000_000


def _broker_row(name: str, size: int) -> RoutingRow:
    counted = Told.with_routing(name)
    lower, before = counted.pair.lower, 0

    def add_us(wish: RouteFilter) -> float:
        nonlocal before
        before = counted.told if wish.id == f"s{size}" else before
        return counted.timed_us(partial(lower.subscribe, wish.id, wish.filter, ordered=True))

    added, removed = _times(
        QUOTES.filters(size + CHANGES, size, seed=size),
        size,
        add_us,
        lambda gone: counted.timed_us(partial(lower.unsubscribe, gone)),
    )
    known = counted.pair.upper.counts()["subscriptions"]
    return _summary(Subject(name, "quotes, broker", size, known, counted.told - before), added, removed)


def _times(
    filters: Sequence[Filter],
    size: int,
    add_us: Callable[[RouteFilter], float],
    remove_us: Callable[[str], float],
) -> tuple[list[float], list[float]]:
    """Let so many candidates come, and then in turn one come and one go; return how long those took."""
    wishes = [RouteFilter(f"s{number}", each) for number, each in enumerate(filters)]
    for wish in wishes[:size]:
        add_us(wish)
    gone = Random(size).sample(range(size), min(size, CHANGES))  # noqa: S311 - a workload, no secret
    gc.collect()
    added, removed = list[float](), list[float]()
    for wish, number in zip(wishes[size:], gone, strict=False):
        added.append(add_us(wish))
        removed.append(remove_us(f"s{number}"))
    return added, removed


def _summary(subject: Subject, added: list[float], removed: list[float]) -> RoutingRow:
    return RoutingRow(
        strategy=subject.strategy,
        mix=subject.mix,
        candidates=subject.candidates,
        told=subject.told,
        told_per_change=subject.moved / (len(added) + len(removed)),
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
    """Measure what one change of a subscription costs each routing strategy.

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
