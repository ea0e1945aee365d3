"""What one change costs each routing strategy: `python -m harness.benchmarks.routing [--json]`.

A selection of so many candidates is made, and then, in turn, a candidate comes and one goes. Each change is
timed for itself, in the process's own time. Beside a mix of the matching benchmark stand quotes: intervals
around one price, on one of a thousand symbols, among which many cover each other.
"""

import gc
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from time import process_time_ns
from typing import Final

from attrs import asdict, frozen

from broker.filters import Filter
from broker.filters.constraints import NumberRange, TextSet
from broker.routing import Change, Wish, parse
from harness.benchmarks.filter_mixes import MIXES, Mix
from harness.benchmarks.report import aligned

STRATEGIES: Final = ("simple", "identity", "covering", "merging", "merging:1.5")
SIZES: Final = (1_000, 10_000, 100_000)

CHANGES: Final = 1_000
"""So the 99th percentile is the tenth from the top."""

SYMBOLS: Final = 1_000
MIDDLE: Final = 50.0


@frozen
class Row:
    """What was measured for one strategy, mix and number of candidates; times in microseconds."""

    strategy: str
    mix: str
    candidates: int
    told: int
    told_per_change: float
    """Items told or taken back, for each candidate that comes or goes."""
    add_p50_us: float
    add_p99_us: float
    remove_p50_us: float
    remove_p99_us: float


def _quote(random: Random, _count: int) -> Filter:
    symbol = TextSet(frozenset({f"S{random.randrange(SYMBOLS)}"}))
    low, high = MIDDLE * (1 - random.random()), MIDDLE * (1 + random.random())
    price = NumberRange(low, low_closed=True, high=high, high_closed=True)
    return Filter(((("price", price), ("symbol", symbol)),))


QUOTES: Final = Mix("quotes", _quote)
CHANGED: Final = (QUOTES, *(mix for mix in MIXES if mix.name == "mixture"))


def run(sizes: Sequence[int] = SIZES, strategies: Sequence[str] = STRATEGIES) -> list[Row]:
    """Measure every strategy with every mix at every size."""
    return [_row(name, mix, size) for mix in CHANGED for size in sizes for name in strategies]


def _row(name: str, mix: Mix, size: int) -> Row:
    wishes = [
        Wish(f"s{number}", each) for number, each in enumerate(mix.filters(size + CHANGES, size, seed=size))
    ]
    selection = parse(name).subscriptions.selection()
    for wish in wishes[:size]:
        selection.add(wish)
    gone = Random(size).sample(range(size), min(size, CHANGES))  # noqa: S311 - a workload, no secret
    gc.collect()
    changes: list[Change] = []
    added_us, removed_us = list[float](), list[float]()
    for wish, number in zip(wishes[size:], gone, strict=False):
        added_us.append(_timed_us(partial(selection.add, wish), changes))
        removed_us.append(_timed_us(partial(selection.remove, f"s{number}"), changes))
    moved = sum(len(change.added) + len(change.removed) for change in changes)
    return Row(
        strategy=name,
        mix=mix.name,
        candidates=size,
        told=len(selection.told),
        told_per_change=moved / len(changes),
        add_p50_us=_quantile(added_us, 0.5),
        add_p99_us=_quantile(added_us, 0.99),
        remove_p50_us=_quantile(removed_us, 0.5),
        remove_p99_us=_quantile(removed_us, 0.99),
    )


def _timed_us(change: Callable[[], Change], changes: list[Change]) -> float:
    start = process_time_ns()
    changes.append(change())
    return (process_time_ns() - start) / 1000


def _quantile(times_us: list[float], share: float) -> float:
    return sorted(times_us)[int(share * len(times_us))]


_HEADINGS: Final = (
    "strategy",
    "mix",
    "candidates",
    "told",
    "told per change",
    "add p50",
    "add p99",
    "remove p50",
    "remove p99",
)


def table(rows: Sequence[Row]) -> str:
    """The rows as plain text; times in microseconds."""
    cells = [
        (
            row.strategy,
            row.mix,
            f"{row.candidates:,}",
            f"{row.told:,}",
            f"{row.told_per_change:.2f}",
            *(
                f"{each:.1f}"
                for each in (row.add_p50_us, row.add_p99_us, row.remove_p50_us, row.remove_p99_us)
            ),
        )
        for row in rows
    ]
    return aligned([_HEADINGS, *cells])


def main() -> None:
    """Print what `run` measures."""
    rows = run()
    as_json = "--json" in sys.argv[1:]
    sys.stdout.write(json.dumps([asdict(row) for row in rows]) if as_json else table(rows))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
