"""Random filters and events for the matching benchmark.

Laws:

* An event has five attributes with fresh random values, so that no cache of values can flatter an index.
* Whatever the number of filters, an event matches about `MATCHES` of them; what changes is the selectivity.
* The same mix, number and seed give the same filters and events.
"""

from collections.abc import Callable
from math import log10, sqrt
from random import Random

from attrs import frozen

from broker.filters import Conjunction, Filter
from broker.filters.constraints import NumberRange, TextPattern, TextSet, Value

MATCHES = 10

# Prices and volumes lie between 0 and this.
SPAN = 1000.0

# One symbol for so many filters, so that a tenth of them must match by price.
FILTERS_PER_SYMBOL = 10 * MATCHES

LETTERS = "abcdefghij"
TOPIC_LENGTH = 16

MakeFilter = Callable[[Random, int], Filter]


@frozen
class Mix:
    """A kind of filters; `make` draws one for an index with so many."""

    name: str
    make: MakeFilter

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
    Mix("symbol and price range", _symbol_and_price),
    Mix("one range", _one_range),
    Mix("two ranges", _two_ranges),
    Mix("two half-open ranges", _two_rays),
    Mix("prefix", _prefix),
    Mix("mixture", _mixture),
)
