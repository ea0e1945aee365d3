"""The world of the thesis: a tree of routers, local brokers that have the clients, and what clients want.

Routers stand in four levels of 1, 3, 9 and 27. A router of the last level has two local brokers, every other
has one. So there are 107 brokers, 106 links and 67 local brokers, and the longest way is 8 links. Each
consumer has ten subscriptions about different stocks, out of a thousand.

Laws.

1. A consumer is the same under every strategy: what it wants follows from its broker, its number and the
   seed alone.
2. Which stocks it wants does not depend on the kind of its subscriptions, so that curves of different kinds
   can be compared point by point.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from random import Random
from typing import Final

from attrs import field, frozen

from broker.filters import Filter, parse

LEVELS: Final = 4
CHILDREN: Final = 3
LEAF_LOCALS: Final = 2

ROOT: Final = "r"
"""The router of the first level, where the source is unless something else is said."""


@frozen
class ThesisPlace:
    """A broker. Routers are named by the way to them from the root, such as r02; local brokers get a letter.

    `level` is that of the router, or of the local broker's router; `subnet` is which child of the root it
    belongs to, and -1 for the root itself and its local broker.
    """

    name: str
    uplink: str
    level: int
    is_local: bool

    @property
    def subnet(self) -> int:
        """Return the number of the subtree below the root, -1 where there is none."""
        way = self.name.partition("-")[0]
        return int(way[1]) if len(way) > 1 else -1


@frozen
class Tree:
    """All brokers, each after the one above it. `_chains` has for each the brokers up to below the root."""

    places: tuple[ThesisPlace, ...]
    _chains: Mapping[str, frozenset[str]] = field(init=False, repr=False, eq=False)

    @_chains.default
    def _work_out_chains(self) -> Mapping[str, frozenset[str]]:
        chains: dict[str, frozenset[str]] = {}
        for place in self.places:
            chains[place.name] = chains[place.uplink] | {place.name} if place.uplink else frozenset()
        return chains

    @property
    def locals(self) -> tuple[ThesisPlace, ...]:
        """The brokers that have clients."""
        return tuple(place for place in self.places if place.is_local)

    @property
    def link_count(self) -> int:
        """Return how many links a tree of so many brokers has."""
        return len(self.places) - 1

    def chain(self, name: str) -> frozenset[str]:
        """Return the broker and all above it, except the root: each represents its uplink."""
        return self._chains[name]

    def below(self, name: str) -> frozenset[str]:
        """The broker and all below it."""
        return frozenset(each.name for each in self.places if name in self._chains[each.name])


def thesis_tree(levels: int = LEVELS) -> Tree:
    """Return the tree of the thesis, or a smaller one of the same form."""
    return Tree(tuple(_below(ROOT, "", 1, levels)))


def _below(name: str, uplink: str, level: int, levels: int) -> Iterator[ThesisPlace]:
    yield ThesisPlace(name, uplink, level, is_local=False)
    for each in range(LEAF_LOCALS if level == levels else 1):
        yield ThesisPlace(f"{name}-{'ab'[each]}", name, level, is_local=True)
    if level < levels:
        for child in range(CHILDREN):
            yield from _below(f"{name}{child}", name, level + 1, levels)


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
        """Return whether it wants a quote of its stock at that price."""
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

    def has_clients(self, place: ThesisPlace) -> bool:
        """Return whether consumers are at this broker."""
        return place.is_local and (self.locality is None or place.subnet >= 0)

    def wants(self, place: ThesisPlace, consumer: int) -> list[Want]:
        """Return the subscriptions of one consumer."""
        low, high = self._range(place)
        name = f"{place.name}.{consumer}"
        if self.is_exhaustive:
            stocks = list(range(low, high))
        else:
            stocks = Random(f"{self.seed} stocks {name}").sample(range(low, high), EACH)  # noqa: S311 - chance, not secrecy
        prices = Random(f"{self.seed} prices {name}")  # noqa: S311 - chance, not secrecy
        return [self._want(f"{name}.{index}", stock, prices) for index, stock in enumerate(stocks)]

    def _range(self, place: ThesisPlace) -> tuple[int, int]:
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
