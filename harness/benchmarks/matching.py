"""How fast events find the filters they satisfy: `python -m harness.benchmarks.matching [--json]`.

Beside the index stands naive evaluation in the same run: every filter's closures tried one after the other,
which is naive evaluation at its fastest. All times are the process's own, in microseconds.

Laws of the random filters and events:

* An event has five attributes with fresh random values, so that no cache of values can flatter an index. One
  for filters on lists has 20 values in each of four lists (`nested`).
* Whatever the number of filters, an event matches about `MATCHES` of them; what changes is the selectivity.
* The same mix, number and seed give the same filters and events.
"""

import gc
import json
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from math import log10, sqrt
from random import Random
from time import process_time_ns

import click
from attrs import asdict, frozen

from broker.filters import Conjunction, Filter
from broker.filters.constraints import NumberRange, TextPattern, TextSet, Value
from broker.matching import MatchingIndex
from harness.benchmarks.nested import a_line, a_price, an_element, nested_events, two_elements
from harness.tables import show, shown, table_of

MATCHES = 10

# Prices and volumes lie between 0 and this.
SPAN = 1000.0

# One symbol for so many filters, so that a tenth of them must match by price.
FILTERS_PER_SYMBOL = 10 * MATCHES

LETTERS = "abcdefghij"
TOPIC_LENGTH = 16

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

MakeFilter = Callable[[Random, int], Filter]
DrawEvents = Callable[[int, int, int], list[dict[str, Value]]]


@frozen
class Mix:
    """A kind of filters; `make` draws one for an index with so many, `draw` events for it."""

    name: str
    make: MakeFilter
    draw: DrawEvents

    def filters(self, count: int, filter_count: int, seed: int) -> list[Filter]:
        """So many filters for an index with `filter_count` of them."""
        random = Random(seed)  # noqa: S311 - a workload, no secret
        return [self.make(random, filter_count) for _ in range(count)]


def events(count: int, filter_count: int, seed: int) -> list[dict[str, Value]]:
    """So many events for an index with so many filters."""
    random = Random(seed)  # noqa: S311 - a workload, no secret
    return [
        {
            "symbol": _symbol(random, filter_count),
            "price": random.random() * SPAN,
            "volume": random.random() * SPAN,
            "topic": _letters(random, TOPIC_LENGTH),
            "level": random.randrange(10),
        }
        for _ in range(count)
    ]


def _filter(**constraints: NumberRange | TextPattern | TextSet) -> Filter:
    conjunction: Conjunction = tuple(sorted(constraints.items()))
    return Filter((conjunction,))


def _symbol(random: Random, filter_count: int) -> str:
    return f"S{random.randrange(max(1, filter_count // FILTERS_PER_SYMBOL))}"


def _letters(random: Random, length: int) -> str:
    return "".join(random.choices(LETTERS, k=length))


def _range(random: Random, share: float) -> NumberRange:
    """A range that holds about this share of the values; its width is half to one and a half times that."""
    width = SPAN * share * (0.5 + random.random())
    low = random.random() * (SPAN + width) - width
    return NumberRange(low, random.random() < 0.5, low + width, random.random() < 0.5)  # noqa: PLR2004 - even odds


def _symbol_and_price(random: Random, count: int) -> Filter:
    symbol = TextSet(frozenset({_symbol(random, count)}))
    return _filter(symbol=symbol, price=_range(random, MATCHES / FILTERS_PER_SYMBOL))


def _one_range(random: Random, count: int) -> Filter:
    return _filter(price=_range(random, MATCHES / count))


def _two_ranges(random: Random, count: int) -> Filter:
    share = sqrt(MATCHES / count)
    return _filter(price=_range(random, share), volume=_range(random, share))


def _two_rays(random: Random, count: int) -> Filter:
    """A price from a bound upwards and a volume from a bound downwards, both seldom reached."""
    share = sqrt(MATCHES / count)
    low = SPAN * (1 - 2 * share * random.random())
    high = SPAN * 2 * share * random.random()
    return _filter(price=NumberRange(low=low), volume=NumberRange(high=high, high_closed=True))


def _prefix(random: Random, count: int) -> Filter:
    """Most have the length at which an event meets ten if all have it; some are shorter or longer."""
    usual = round(log10(count / MATCHES))
    length = random.choices([usual - 1, usual, usual + 1, usual + 2, usual + 4], weights=[4, 60, 16, 10, 10])[
        0
    ]
    return _filter(topic=TextPattern(prefix=_letters(random, length)))


def _mixture(random: Random, count: int) -> Filter:
    kinds = (_symbol_and_price, _one_range, _two_ranges, _prefix)
    return random.choices(kinds, weights=[4, 2, 2, 2])[0](random, count)


MIXES = (
    Mix("symbol and price range", _symbol_and_price, events),
    Mix("one range", _one_range, events),
    Mix("two ranges", _two_ranges, events),
    Mix("two half-open ranges", _two_rays, events),
    Mix("prefix", _prefix, events),
    Mix("mixture", _mixture, events),
    Mix("an element of a list", an_element, nested_events),
    Mix("two elements of a list", two_elements, nested_events),
    Mix("a map in a list", a_line, nested_events),
    Mix("a range in a list", a_price, nested_events),
)


@frozen
class MatchingRow:
    """The measurements of one mix and one number of filters."""

    mix: str = shown("mix")
    filters: int = shown("filters", ",")
    matches: float = shown("matches", ".1f")
    match_us: float = shown("match", ".2f")
    naive_us: float = shown("naive", ",.1f")
    times_naive: float = shown("times naive", ",.0f")
    churn_us: float = shown("with churn", ".2f")
    add_us: float = shown("add", ".1f")
    remove_us: float = shown("remove", ".1f")
    bytes_per_filter: float = shown("bytes each", ",.0f")


def run(sizes: Sequence[int] = SIZES) -> list[MatchingRow]:
    """Measure every mix at every size, and the small indexes of a broker's hot path."""
    rows = [_small_row(size) for size in SMALL_SIZES]
    rows.extend(_row(mix, size) for mix in MIXES for size in sizes)
    return rows


def _row(mix: Mix, size: int) -> MatchingRow:
    filters = mix.filters(size + CHANGES, size, seed=size)
    filters, extra = filters[:size], filters[size:]
    return _measured(mix.name, filters, extra, lambda seed: mix.draw(EVENTS, size, seed))


def _small_row(size: int) -> MatchingRow:
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
) -> MatchingRow:
    index, size_bytes = _built(filters)
    passes = [draw(seed) for seed in range(PASSES)]
    match_us = min(_match_us(index, drawn) for drawn in passes)
    naive_us = _naive_us(filters, passes[0])
    matches = sum(len(index.match(event)) for event in passes[0]) / EVENTS
    add_us = _each_us(lambda number: index.add(-1 - number, extra[number]), len(extra))
    remove_us = _each_us(lambda number: index.remove(-1 - number), len(extra))
    churn_us = min(_churn_us(index, extra, drawn) for drawn in passes)
    return MatchingRow(
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
    tests = [each.compiled() for each in filters]
    some = drawn[: max(3, min(len(drawn), NAIVE_TESTS // len(filters)))]
    start = process_time_ns()
    for event in some:
        _ = [place for place, test in enumerate(tests) if test(event)]
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
    show(table_of(rows))


if __name__ == "__main__":
    command()
