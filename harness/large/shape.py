"""A large overlay: a tree as even as its numbers allow, stocks of skewed popularity, publishers far apart.

Laws.

1. Everything follows from the shape: which broker is below which, and the filter of each subscription.
2. Filters of equal text are one object: a million subscriptions have some ten thousand different filters.
"""

from functools import lru_cache
from random import Random
from typing import Final

import attrs

from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.routing import DEFAULT

BANDS: Final = 10
"""Ranges of prices that subscriptions choose from, of ten units each."""

WIDTH: Final = 10.0

WHOLE: Final = 0.4
"""The part of subscriptions that want a stock at any price."""

SKEW: Final = 0.5
"""How much more popular the first stocks are: the weight of the n-th is 1 / n^SKEW."""


@attrs.frozen
class LargeShape:
    """The sizes. Broker 0 is the root, and broker n has uplink (n - 1) // fanout."""

    brokers: int = 10_000
    fanout: int = 10
    subscriptions: int = 1_000_000
    publishers: int = 20
    stocks: int = 1_000
    events: int = 2_000
    changes: int = 200
    ordering: str = "pairwise"
    routing: str = str(DEFAULT)
    seed: int = 0

    def uplink(self, broker: int) -> int | None:
        """Return the broker above; None for the root."""
        return (broker - 1) // self.fanout if broker else None

    def chain(self, broker: int) -> list[int]:
        """Return the broker and all above it."""
        found = [broker]
        while (above := self.uplink(found[-1])) is not None:
            found.append(above)
        return found

    def level(self, broker: int) -> int:
        """Return the number of links to the root."""
        return len(self.chain(broker)) - 1

    def distance(self, one: int, other: int) -> int:
        """Return the number of links between two brokers."""
        return len(set(self.chain(one)) ^ set(self.chain(other)))

    def part(self, broker: int, parts: int) -> int:
        """Return the part that has a broker: each subtree below the root is in one of them."""
        chain = self.chain(broker)
        return (chain[-2] - 1) % parts if len(chain) > 1 else 0

    def broker_of(self, subscription: int) -> int:
        """Return the broker of a subscription: they are dealt out in turn."""
        return subscription % self.brokers

    def broker_of_publisher(self, publisher: int) -> int:
        """Return the broker of a publisher: they are as far apart as the numbering allows."""
        return self.brokers - 1 - publisher * self.brokers // max(self.publishers, 1)

    def wanted(self, subscription: int) -> Filter:
        """Return the filter of a subscription."""
        chance = Random(f"{self.seed} wants {subscription}")  # noqa: S311 - repeatable, not secret
        stock = self._stock(chance)
        band = -1 if chance.random() < WHOLE else chance.randrange(BANDS)
        return _filter(stock, band)

    def event(self, number: int) -> dict[str, Value]:
        """Return the attributes of an event."""
        chance = Random(f"{self.seed} event {number}")  # noqa: S311 - repeatable, not secret
        return {"stock": f"s{self._stock(chance)}", "price": chance.uniform(0, BANDS * WIDTH)}

    def _stock(self, chance: Random) -> int:
        return min(self.stocks - 1, int(self.stocks * chance.random() ** (1 / (1 - SKEW))))


@lru_cache(maxsize=1 << 17)
def _filter(stock: int, band: int) -> Filter:
    if band < 0:
        return parse(f"stock == 's{stock}'")
    return parse(f"stock == 's{stock}' and {band * WIDTH} <= price <= {(band + 1) * WIDTH}")
