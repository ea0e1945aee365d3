"""An investor: decides by its deliveries, and by nothing else.

`Book` is a pure function of the ticks that it takes, in their order. So an auditor who keeps a book by the
same rules, from a subscription of its own, comes to the same decisions if it is delivered the same in the
same order. After a gap a book is closed until the next bell: what is missing might have decided.
"""

from collections.abc import Callable
from typing import Any, Final, cast

from attrs import define, field, frozen

from concord import Client, Delivery, Gap

CASH: Final = 100_000.0
CHART_MAX: Final = 400  # prices of each symbol


@frozen(kw_only=True)
class PriceTick:
    """An event of an exchange. The price of a quote is the middle between bid and ask."""

    kind: str  # trade, quote; and the bell that begins a day
    exchange: str
    symbol: str = ""
    price: float = 0.0
    size: int = 0
    bid: float = 0.0
    ask: float = 0.0
    day: int = 0


@frozen(kw_only=True)
class Rules:
    """When to buy and to sell. Shares are parts of a price: 0.004 is 0.4 %."""

    limits: dict[str, float] = field(factory=dict)  # absolute: buy at this price, or below
    drop: float = 0.004  # relative: buy that far below the highest price since the bell, or since selling
    gain: float = 0.003  # sell that far above what was paid,
    stop: float = 0.004  # or that far below
    spread: float = 0.0012  # do not buy while bid and ask are further apart
    lot: float = 10_000.0  # spend that much at once


@frozen
class Decision:
    """Something bought, or sold if the count is negative."""

    symbol: str
    count: int
    price: float
    why: str


@define
class Book:
    """One day's triggers, portfolio and chart."""

    rules: Rules
    day: int = 0  # 0 while the book is closed
    cash: float = CASH
    shares: dict[str, int] = field(factory=dict)
    paid: dict[str, float] = field(factory=dict)
    last: dict[str, float] = field(factory=dict)
    high: dict[str, float] = field(factory=dict)
    spread: dict[str, float] = field(factory=dict)
    chart: dict[str, list[float]] = field(factory=dict)
    decisions: list[Decision] = field(factory=list)

    @property
    def profit(self) -> float:
        """Since the bell, with what is held at its last price."""
        return self.cash - CASH + sum(count * self.last[symbol] for symbol, count in self.shares.items())

    def open(self, day: int) -> None:
        """The bell: a new day, with nothing in hand and nothing remembered."""
        self.__init__(self.rules, day)  # type: ignore[misc]  # a book is what it is made of

    def close(self) -> None:
        """Something is missing: nothing is decided until the next bell."""
        self.day = 0

    def take(self, tick: PriceTick) -> Decision | None:
        """Take the next tick; decide, or not."""
        if tick.kind == "bell":
            self.open(tick.day)
        elif self.day and tick.kind == "quote":
            self.spread[tick.symbol] = (tick.ask - tick.bid) / tick.price
        elif self.day:
            return self._trade(tick.symbol, tick.price)
        return None

    def _trade(self, symbol: str, price: float) -> Decision | None:
        self.last[symbol] = price
        self.high[symbol] = max(price, self.high.get(symbol, price))
        self.chart.setdefault(symbol, []).append(price)
        del self.chart[symbol][:-CHART_MAX]
        decision = self._sell(symbol, price) if self.shares.get(symbol) else self._buy(symbol, price)
        if decision:
            self.decisions.append(decision)
            self.cash -= decision.count * price
            self.shares[symbol] = self.shares.get(symbol, 0) + decision.count
            self.paid[symbol] = self.high[symbol] = price
        return decision

    def _sell(self, symbol: str, price: float) -> Decision | None:
        change = price / self.paid[symbol] - 1
        if -self.rules.stop < change < self.rules.gain:
            return None
        why = f"{abs(change):.2%} {'above' if change > 0 else 'below'} what was paid"
        return Decision(symbol, -self.shares[symbol], price, why)

    def _buy(self, symbol: str, price: float) -> Decision | None:
        drop = 1 - price / self.high[symbol]
        limit = self.rules.limits.get(symbol, 0.0)
        if self.spread.get(symbol, 1.0) > self.rules.spread or (drop < self.rules.drop and price > limit):
            return None
        why = f"at or below {limit:.2f}" if price <= limit else f"{drop:.2%} below the high"
        return Decision(symbol, int(self.rules.lot / price), price, why)


async def follow(
    client: Client,
    wanted: str,
    book: Book,
    taken: Callable[[Delivery, PriceTick, Decision | None], None],
    opened: Callable[[], None],
) -> None:
    """Keep a book from one subscription, for ever. Its filter has the bell too: one filter, one order."""
    async with client.subscribe(f"{wanted} or kind == 'bell'") as deliveries:
        opened()
        async for item in deliveries.with_gaps():
            if isinstance(item, Gap):
                book.close()
            else:
                tick = PriceTick(**cast("dict[str, Any]", item.attributes))
                taken(item, tick, book.take(tick))
