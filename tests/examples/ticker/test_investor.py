from hypothesis import given
from hypothesis import strategies as st

from examples.ticker.investor import CASH, Book, PriceTick, Rules

PRICES = st.floats(90, 110).map(lambda price: round(price, 2))
RULES = Rules(limits={"SAP": 92.0}, drop=0.02, gain=0.01, stop=0.02, lot=1000)
BELL = PriceTick(kind="bell", exchange="FRA", day=1)
QUOTE = PriceTick(kind="quote", exchange="FRA", symbol="SAP", price=100, bid=99.99, ask=100.01)


def trade(price: float) -> PriceTick:
    return PriceTick(kind="trade", exchange="FRA", symbol="SAP", price=price, size=10)


def book(*ticks: PriceTick) -> Book:
    found = Book(RULES)
    for tick in (BELL, QUOTE, *ticks):
        found.take(tick)
    return found


@given(st.lists(PRICES, max_size=50))
def test_profit_is_what_the_decisions_made(prices: list[float]) -> None:
    found = book(*map(trade, prices))
    spent = sum(each.count * each.price for each in found.decisions)
    held = sum(each.count for each in found.decisions)
    assert found.cash == CASH - spent or abs(found.cash - CASH + spent) < 1e-6
    assert abs(found.profit - (held * prices[-1] - spent if prices else 0)) < 1e-6


@given(st.lists(PRICES, max_size=50))
def test_two_who_take_the_same_in_the_same_order_decide_alike(prices: list[float]) -> None:
    assert book(*map(trade, prices)) == book(*map(trade, prices))


def test_another_order_of_the_same_trades_decides_otherwise() -> None:
    one, other = book(*map(trade, (100, 97, 99))), book(*map(trade, (97, 100, 99)))
    assert (len(one.decisions), len(other.decisions)) == (2, 0)


def test_a_relative_limit_counts_from_the_highest_price_since_the_bell() -> None:
    (decision,) = book(trade(100), trade(101), trade(98.9)).decisions
    assert (decision.count, decision.why) == (10, "2.08% below the high")


def test_an_absolute_limit_needs_no_history() -> None:
    (decision,) = book(trade(91.5)).decisions
    assert decision.why == "at or below 92.00"


def test_nothing_is_bought_while_the_spread_is_wide_or_unknown() -> None:
    wide = PriceTick(kind="quote", exchange="FRA", symbol="SAP", price=100, bid=99, ask=101)
    assert book(wide, trade(91.5)).decisions == []
    blind = Book(RULES)
    assert [blind.take(tick) for tick in (BELL, trade(91.5))] == [None, None]


def test_a_closed_book_decides_nothing_until_the_next_bell_and_then_begins_anew() -> None:
    found = book(trade(100))
    found.close()
    assert found.take(trade(91)) is None
    found.take(BELL)
    assert (found.cash, found.high, found.decisions) == (CASH, {}, [])
