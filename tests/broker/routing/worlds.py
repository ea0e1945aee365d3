"""Small worlds for routing: filters whose meaning a few events show, and histories of candidates."""

from collections.abc import Iterable

from hypothesis import strategies as st

from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.routing import RouteFilter

NUMBERS = (-0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5)
SYMBOLS = ("", "a", "ab", "abc", "b", "c")
EVENTS: tuple[dict[str, Value], ...] = tuple(
    {name: value for name, value in (("symbol", symbol), ("price", price)) if value is not None}
    for symbol in (*SYMBOLS, None)
    for price in (*NUMBERS, None)
)
"""Every event that the filters below can distinguish."""

_number = st.sampled_from(["0", "1", "2", "3"])
_low = st.sampled_from(["{} <= price", "{} < price"])
_high = st.sampled_from(["price <= {}", "price < {}"])
_price = st.one_of(
    st.builds(lambda low, a, high, b: f"{low.format(a)} and {high.format(b)}", _low, _number, _high, _number),
    st.builds(str.format, _low, _number),
    st.builds("price in ({}, {})".format, _number, _number),
    st.builds("price != {}".format, _number),
    st.just("exists(price)"),
)
_symbol = st.sampled_from(
    [
        "symbol == 'a'",
        "symbol == 'ab'",
        "symbol == 'b'",
        "symbol in ('a', 'b')",
        "symbol in ('ab', 'c')",
        "symbol.startswith('a')",
        "symbol.startswith('ab')",
        "symbol >= 'b'",
        "exists(symbol)",
    ]
)
_simple = st.one_of(_price, _symbol, st.builds("{} and {}".format, _symbol, _price))
_texts = st.one_of(
    _simple,
    _simple,
    _simple,
    st.builds("({}) or ({})".format, _simple, _simple),
    st.sampled_from(["True", "False"]),
)
filters: st.SearchStrategy[Filter] = _texts.map(parse)
routes = st.builds(
    RouteFilter, st.sampled_from([f"s{number}" for number in range(9)]), filters, st.booleans()
)

Step = RouteFilter | str
"""A candidate comes, or the one of that id goes."""

steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(routes, routes, st.sampled_from([f"s{number}" for number in range(9)])), min_size=1, max_size=25
)


def meaning(filters: Iterable[Filter]) -> list[bool]:
    """Which events one of the filters matches."""
    several = list(filters)
    return [any(each.match(event) for each in several) for event in EVENTS]
