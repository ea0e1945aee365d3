"""Small worlds for routing: filters whose meaning a few events show, and histories of candidates."""

from collections.abc import Iterable

from hypothesis import strategies as st

from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.routing import RouteFilter

NUMBERS = (-0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5)
SYMBOLS = ("", "a", "ab", "abc", "b", "c")
_PAIR: list[Value] = [{"q": 1}, {"q": 3}]
_MAPS: list[dict[str, Value]] = [{"q": 1}, {"q": 2}, {"q": 3}, {"q": 2, "r": "a"}, {"q": 3, "r": "a"}]
_TEXTS: list[list[Value]] = [[], ["a"], ["b"], ["a", "b"], ["a", "b", "c"], ["a", {"q": 2}]]
LISTS: tuple[Value, ...] = (*([each] for each in _MAPS), _PAIR, *_TEXTS, None, "ab")
_BESIDE: list[dict[str, Value]] = [{}, {"symbol": "a"}, {"symbol": "b", "price": 1}]
_FLAT: list[dict[str, Value]] = [
    {name: value for name, value in (("symbol", symbol), ("price", price)) if value is not None}
    for symbol in (*SYMBOLS, None)
    for price in (*NUMBERS, None)
]
EVENTS: tuple[dict[str, Value], ...] = (
    *_FLAT,
    *({"list": each, **beside} for each in LISTS for beside in _BESIDE),
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
_nested = st.sampled_from(
    [
        *("'a' in list", "'b' in list", "'a' not in list", "list & {'a', 'c'}", "{'a', 'b'} <= list"),
        *("any(i.q > 1 for i in list)", "any(i.q == 3 for i in list)", "any(i.q in (1, 2) for i in list)"),
        *("any(i.q > 1 and i.r == 'a' for i in list)", "all(i.q > 1 for i in list)", "len(list) > 1"),
        *("list is None", "list is not None", "exists(list)"),
    ]
)
_simple = st.one_of(
    *(_price, _symbol, _nested),
    st.builds("{} and {}".format, _symbol, _price),
    st.builds("{} and {}".format, _symbol, _nested),
)
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
