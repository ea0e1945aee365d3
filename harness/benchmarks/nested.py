"""Filters on lists, and events with 20 values in lists, for the benchmark of matching.

Whatever the number of filters, an event matches about `MATCHES` of them.
"""

from math import sqrt
from random import Random
from typing import Final

from broker.filters import Filter, parse
from broker.filters.constraints import Value

MATCHES: Final = 10
VALUES: Final = 20
QUANTITIES: Final = 10
SPAN: Final = 1000.0


def an_element(random: Random, count: int) -> Filter:
    """A text that is among the tags."""
    return parse(f"'{_tag(random, VALUES * count / MATCHES)}' in tags")


def two_elements(random: Random, count: int) -> Filter:
    """Two texts that are both among the popular tags."""
    wanted = _popular(count)
    return parse(f"{{'{_tag(random, wanted)}', '{_tag(random, wanted)}'}} <= popular")


def a_line(random: Random, count: int) -> Filter:
    """A line of an order, with its product and more than some quantity."""
    product, quantity = _tag(random, _products(count)), random.randrange(QUANTITIES)
    return parse(f"any(i.sku == '{product}' and i.qty >= {quantity} for i in lines)")


def a_price(random: Random, count: int) -> Filter:
    """One of the prices in a narrow range."""
    low = random.random() * SPAN
    return parse(f"any({low!r} < i < {low + SPAN * MATCHES / VALUES / count!r} for i in prices)")


def nested_events(count: int, filter_count: int, seed: int) -> list[dict[str, Value]]:
    """So many events for an index with so many filters; each filter looks at one list of 20 values."""
    random = Random(seed)  # noqa: S311 - a workload, no secret
    return [
        {
            "tags": [_tag(random, VALUES * filter_count / MATCHES) for _ in range(VALUES)],
            "popular": [_tag(random, _popular(filter_count)) for _ in range(VALUES)],
            "lines": [
                {"sku": _tag(random, _products(filter_count)), "qty": random.randrange(QUANTITIES)}
                for _ in range(VALUES // 2)
            ],
            "prices": [random.random() * SPAN for _ in range(VALUES)],
        }
        for _ in range(count)
    ]


def _popular(count: int) -> float:
    return VALUES * sqrt(count / MATCHES)


def _products(count: int) -> float:
    return count * VALUES / 2 / MATCHES / 2


def _tag(random: Random, several: float) -> str:
    return f"t{random.randrange(max(2, round(several)))}"
