"""The consumers of the thesis: each has ten subscriptions about different stocks, out of a thousand.

Laws.

1. A consumer is the same under every strategy: what it wants follows from its broker, its number and the
   seed alone.
2. Which stocks it wants does not depend on the kind of its subscriptions, so that curves of different kinds
   can be compared point by point.
"""

from collections.abc import Mapping
from functools import lru_cache
from random import Random
from typing import Final

from attrs import frozen

from broker.filters import Filter, parse
from harness.evaluation.routing.tree import Place

__all__ = ["EACH", "STOCKS", "Crowd", "Want", "price_of", "symbol"]

STOCKS: Final = 1_000
EACH: Final = 10
"""Subscriptions of one consumer."""

MIDDLE: Final = 50.0
"""Every interval of the thesis' second kind of subscription holds this price."""

WINDOW: Final = 20.0
HIGHEST_START: Final = 80.0
"""The third kind wants a window of that width that starts up to there: so it ends at 100 at most, and at most
four of one stock cannot be merged, as the thesis says."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"


@lru_cache(maxsize=STOCKS)
def symbol(stock: int) -> str:
    """Two letters: a thousand of them fit into one filter, as mergers need it."""
    return _LETTERS[stock // len(_LETTERS)] + _LETTERS[stock % len(_LETTERS)]


@frozen
class Want:
    """One subscription: a stock, and the prices from `low` to `high`; without prices, every one."""

    id: str
    stock: int
    low: float | None = None
    high: float | None = None

    @property
    def filter(self) -> Filter:
        """The same in the filter language."""
        if self.low is None or self.high is None:
            return _quote(self.stock)
        return parse(f"symbol == '{symbol(self.stock)}' and {self.low} <= price <= {self.high}")

    def accepts(self, price: float) -> bool:
        """Whether it wants a quote of its stock at that price."""
        return self.low is None or self.high is None or self.low <= price <= self.high


@lru_cache(maxsize=STOCKS)
def _quote(stock: int) -> Filter:
    return parse(f"symbol == '{symbol(stock)}'")


LOCALITIES: Final[Mapping[float, tuple[tuple[int, int], ...]]] = {
    1 / 3: ((0, 333), (333, 666), (666, 999)),
    0.4: ((0, 400), (300, 700), (600, 1000)),
    0.5: ((0, 500), (250, 750), (500, 1000)),
    0.6: ((0, 600), (200, 800), (400, 1000)),
    0.7: ((0, 700), (150, 850), (300, 1000)),
    0.8: ((0, 800), (100, 900), (200, 1000)),
    0.9: ((0, 900), (50, 950), (100, 1000)),
    1.0: ((0, 1000), (0, 1000), (0, 1000)),
}
"""By locality, the stocks that each of the root's three subtrees is interested in."""


@frozen
class Crowd:
    """All consumers. `kind` is "quotes", "intervals" or "windows".

    With a `locality` the root's own local broker has no consumers. `is_exhaustive` makes every local broker
    want every stock of its range once: what tables tend to with more and more consumers.
    """

    kind: str
    seed: int = 0
    locality: float | None = None
    is_exhaustive: bool = False

    def has_clients(self, place: Place) -> bool:
        """Whether consumers are at this broker."""
        return place.is_local and (self.locality is None or place.subnet >= 0)

    def wants(self, place: Place, consumer: int) -> list[Want]:
        """Return the subscriptions of one consumer."""
        low, high = self._range(place)
        name = f"{place.name}.{consumer}"
        if self.is_exhaustive:
            stocks = list(range(low, high))
        else:
            stocks = Random(f"{self.seed} stocks {name}").sample(range(low, high), EACH)  # noqa: S311 - chance, not secrecy
        prices = Random(f"{self.seed} prices {name}")  # noqa: S311 - chance, not secrecy
        return [self._want(f"{name}.{index}", stock, prices) for index, stock in enumerate(stocks)]

    def _range(self, place: Place) -> tuple[int, int]:
        if self.locality is None:
            return 0, STOCKS
        return LOCALITIES[self.locality][place.subnet]

    def _want(self, name: str, stock: int, prices: Random) -> Want:
        if self.kind == "intervals":
            return Want(name, stock, MIDDLE - prices.uniform(0, MIDDLE), MIDDLE + prices.uniform(0, MIDDLE))
        if self.kind == "windows":
            low = prices.uniform(0, HIGHEST_START)
            return Want(name, stock, low, low + WINDOW)
        return Want(name, stock)


def price_of(kind: str, random: Random) -> float:
    """Return the price of a quote, evenly out of what subscriptions of that kind can want."""
    return random.uniform(0, HIGHEST_START + WINDOW if kind == "windows" else 2 * MIDDLE)
