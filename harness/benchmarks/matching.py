"""How fast events find the filters they satisfy: `python -m harness.benchmarks.matching [--json]`.

Beside the index stands naive evaluation in the same run: every filter's closures tried one after the other,
which is naive evaluation at its fastest. All times are the process's own, in microseconds.
"""

import gc
import json
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from time import process_time_ns
from typing import Final

import click
from attrs import asdict, frozen

from broker.filters import Filter
from broker.filters.constraints import NumberRange, TextSet, Value
from broker.matching import MatchingIndex
from broker.matching.compile import compile_test
from harness.benchmarks.filter_mixes import MIXES, Mix, events
from harness.tables import Column, show, table

SIZES = (1_000, 10_000, 100_000)
SMALL_SIZES = (1, 10, 50)
EVENTS = 5_000

# Naive evaluation of one event takes some 10 ms among 100,000 filters.
NAIVE_TESTS = 1_000_000
CHANGES = 1_000
EVENTS_PER_CHANGE = 100

# Passes over fresh events each; the quickest one was disturbed least.
PASSES = 3

Event = Mapping[str, Value]


@frozen
class Row:
    """What was measured for one mix and one number of filters."""

    mix: str
    filters: int
    matches: float
    match_us: float
    naive_us: float
    times_naive: float
    churn_us: float
    add_us: float
    remove_us: float
    bytes_per_filter: float


def run(sizes: Sequence[int] = SIZES) -> list[Row]:
    """Measure every mix at every size, and the small indexes of a broker's hot path."""
    rows = [_small_row(size) for size in SMALL_SIZES]
    rows.extend(_row(mix, size) for mix in MIXES for size in sizes)
    return rows


def _row(mix: Mix, size: int) -> Row:
    filters = mix.filters(size + CHANGES, size, seed=size)
    filters, extra = filters[:size], filters[size:]
    return _measured(mix.name, filters, extra, lambda seed: events(EVENTS, size, seed))


def _small_row(size: int) -> Row:
    """`kind == ... and price > 0`, each with a kind of its own: one matches."""

    def make(number: int) -> Filter:
        kind, price = TextSet(frozenset({f"trade{number}"})), NumberRange(low=0)
        return Filter(((("kind", kind), ("price", price)),))

    def events_of_kinds(seed: int) -> list[dict[str, Value]]:
        return [
            event | {"kind": f"trade{place % size}"} for place, event in enumerate(events(EVENTS, size, seed))
        ]

    filters = [make(number) for number in range(size)]
    extra = [make(size + number) for number in range(CHANGES)]
    return _measured("kind and price > 0", filters, extra, events_of_kinds)


def _measured(
    name: str, filters: list[Filter], extra: list[Filter], draw: Callable[[int], list[dict[str, Value]]]
) -> Row:
    index, size_bytes = _built(filters)
    passes = [draw(seed) for seed in range(PASSES)]
    match_us = min(_match_us(index, drawn) for drawn in passes)
    naive_us = _naive_us(filters, passes[0])
    matches = sum(len(index.match(event)) for event in passes[0]) / EVENTS
    add_us = _each_us(lambda number: index.add(-1 - number, extra[number]), len(extra))
    remove_us = _each_us(lambda number: index.remove(-1 - number), len(extra))
    churn_us = min(_churn_us(index, extra, drawn) for drawn in passes)
    return Row(
        mix=name,
        filters=len(filters),
        matches=matches,
        match_us=match_us,
        naive_us=naive_us,
        times_naive=naive_us / match_us,
        churn_us=churn_us,
        add_us=add_us,
        remove_us=remove_us,
        bytes_per_filter=size_bytes / len(filters),
    )


def _built(filters: list[Filter]) -> tuple[MatchingIndex[int], int]:
    """An index of the filters, and what it holds beyond the filters themselves."""
    gc.collect()
    tracemalloc.start()
    index: MatchingIndex[int] = MatchingIndex()
    for key, one in enumerate(filters):
        index.add(key, one)
    gc.collect()
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return index, size_bytes


def _match_us(index: MatchingIndex[int], drawn: list[dict[str, Value]]) -> float:
    match = index.match
    start = process_time_ns()
    for event in drawn:
        match(event)
    return (process_time_ns() - start) / len(drawn) / 1000


def _naive_us(filters: list[Filter], drawn: list[dict[str, Value]]) -> float:
    entries = [
        [compile_test(*pair) for pair in conjunction] for one in filters for conjunction in one.conjunctions
    ]
    some = drawn[: max(3, min(len(drawn), NAIVE_TESTS // len(filters)))]
    start = process_time_ns()
    for event in some:
        _ = [place for place, tests in enumerate(entries) if all(test(event) for test in tests)]
    return (process_time_ns() - start) / len(some) / 1000


def _churn_us(index: MatchingIndex[int], extra: list[Filter], drawn: list[dict[str, Value]]) -> float:
    """One event, when one filter comes and one goes every so many events; the changes are in the price."""
    start = process_time_ns()
    for first in range(0, len(drawn), EVENTS_PER_CHANGE):
        number = first // EVENTS_PER_CHANGE
        index.add(-1 - number, extra[number])
        for event in drawn[first : first + EVENTS_PER_CHANGE]:
            index.match(event)
        index.remove(-1 - number)
    return (process_time_ns() - start) / len(drawn) / 1000


def _each_us(change: Callable[[int], None], count: int) -> float:
    start = process_time_ns()
    for number in range(count):
        change(number)
    return (process_time_ns() - start) / count / 1000


_COLUMNS: Final[Sequence[Column[Row]]] = (
    ("mix", lambda row: row.mix),
    ("filters", lambda row: f"{row.filters:,}"),
    ("matches", lambda row: f"{row.matches:.1f}"),
    ("match", lambda row: f"{row.match_us:.2f}"),
    ("naive", lambda row: f"{row.naive_us:,.1f}"),
    ("times naive", lambda row: f"{row.times_naive:,.0f}"),
    ("with churn", lambda row: f"{row.churn_us:.2f}"),
    ("add", lambda row: f"{row.add_us:.1f}"),
    ("remove", lambda row: f"{row.remove_us:.1f}"),
    ("bytes each", lambda row: f"{row.bytes_per_filter:,.0f}"),
)


@click.command()
@click.option("--json", "json_", is_flag=True, help="Print a list instead of a table.")
def command(*, json_: bool) -> None:
    """Measure how fast events find the filters they satisfy.

    Example: python -m harness.benchmarks.matching --json
    """
    rows = run()
    if json_:
        click.echo(json.dumps([asdict(row) for row in rows]))
        return
    click.echo("Matching an event against many filters; times in microseconds.\n")
    show(table(_COLUMNS, rows))


if __name__ == "__main__":
    command()
