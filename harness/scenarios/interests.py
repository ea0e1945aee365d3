"""What publishers advertise and publish, and what subscribers want.

Laws:

1. All chance comes from the scenario's seed and the client's name: the same publisher publishes the same
   events in every run, so that what should have been delivered can be worked out afterwards.
2. With overlap, brokers are dealt out to groups in turn. Everybody at a broker advertises, or wants, all that
   is its group's: every advertisement matches every subscription of the same broker, and a publication
   matches one group's subscriptions and no others, which is the asked part of all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, count
from random import Random
from typing import Final

import attrs

from broker.filters.constraints import Value
from harness.scenarios.keys import ScenarioError
from harness.scenarios.scenario import Filters

Event = dict[str, Value]

_TOLERANCE: Final = 1e-3
"""33.333 is meant as a third."""

LISTED: Final = 0.3
"""Which part of all symbols an exchange trades."""

WHOLE: Final = 0.4
"""How many of those who want a symbol want it at any price."""

SPREAD: Final = 0.1
"""How far prices stray from a symbol's own: one standard deviation, as a part of it."""


@attrs.frozen
class Interests:
    """Each function takes a client's name and the place of its broker among those that have clients."""

    advertised: Callable[[str, int], str]
    wanted: Callable[[str, int], str]
    events: Callable[[str, int], Iterator[Event]]


def interests(filters: Filters, seed: int) -> Interests:
    """Return the filters of all subscribers and publishers."""
    return _KINDS[filters.kind](filters, seed)


def groups(filters: Filters, where: str) -> int:
    """Return how many groups give the overlap that is asked for."""
    exact = 100 / filters.overlap_percent
    if abs(exact - round(exact)) > _TOLERANCE * exact:
        raise ScenarioError(
            f"{where}: filters.overlap_percent: expected 100 divided by a whole number (100, 50, 33.333, 25, "
            f"20, ...), found {filters.overlap_percent:g}"
        )
    return round(exact)


def _draw(seed: int, *words: str) -> Random:
    return Random("/".join((str(seed), *words)))  # noqa: S311 - chance here is repeatable, not secret


def _overlap(filters: Filters, seed: int) -> Interests:
    number = groups(filters, "scenario")

    def events(name: str, place: int) -> Iterator[Event]:
        random = _draw(seed, name, "events")
        for serial in count(1):
            yield {"group": place % number, "level": random.randrange(1000), "serial": serial}

    return Interests(
        lambda _, place: f"group == {place % number} and level >= 0",
        lambda _, place: f"group == {place % number}",
        events,
    )


@attrs.frozen
class _Market:
    """Symbols, the most popular first, with the price that each strays around."""

    prices: Mapping[str, float]
    weights: Sequence[float]

    @classmethod
    def of(cls, filters: Filters, seed: int) -> "_Market":
        random = _draw(seed, "market")
        ranks = range(1, filters.symbols + 1)
        return cls(
            {f"S{rank}": round(random.uniform(20, 500), 2) for rank in ranks},
            [rank**-filters.skew for rank in ranks],
        )

    def listed(self, random: Random) -> dict[str, float]:
        """Draw the symbols of an exchange, with their weights: popular ones are traded in more places."""
        symbols = list(self.prices)
        wanted = max(1, round(LISTED * len(symbols)))
        keyed = sorted(zip(symbols, self.weights, strict=True), key=lambda s: random.random() ** (1 / s[1]))
        chosen = {symbol for symbol, _ in keyed[-wanted:]}
        return {s: weight for s, weight in zip(symbols, self.weights, strict=True) if s in chosen}

    def wanted(self, random: Random) -> str:
        """Draw the filter of a subscriber."""
        symbol = random.choices(list(self.prices), self.weights)[0]
        if random.random() < WHOLE:
            return f"symbol == '{symbol}'"
        price = self.prices[symbol]
        low = round(price * (1 + random.uniform(-2, 0.5) * SPREAD), 2)
        high = round(low + price * random.uniform(0.5, 3) * SPREAD, 2)
        return f"symbol == '{symbol}' and {low} < price <= {high}"


def _market(filters: Filters, seed: int) -> Interests:
    market = _Market.of(filters, seed)

    def advertised(name: str, _: int) -> str:
        symbols = ", ".join(f"'{each}'" for each in market.listed(_draw(seed, name, "listed")))
        return f"kind == 'trade' and symbol in ({symbols}{',' if ',' not in symbols else ''}) and price > 0"

    def events(name: str, _: int) -> Iterator[Event]:
        listed = market.listed(_draw(seed, name, "listed"))
        symbols, limits = list(listed), list(accumulate(listed.values()))
        random = _draw(seed, name, "events")
        while True:
            symbol = random.choices(symbols, cum_weights=limits)[0]
            price = max(0.01, round(market.prices[symbol] * random.gauss(1, SPREAD), 2))
            yield {"kind": "trade", "symbol": symbol, "price": price, "shares": random.randrange(1, 1000)}

    return Interests(advertised, lambda name, _: market.wanted(_draw(seed, name, "wanted")), events)


_KINDS: Final[Mapping[str, Callable[[Filters, int], Interests]]] = {"overlap": _overlap, "market": _market}
