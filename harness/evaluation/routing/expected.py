"""The expected results, computed from the subscriptions of all clients, never from a broker's tables.

Tables are worked out exactly: for every link and direction it is counted what is wanted behind it, put
together as the strategy does: every subscription, every different one, those that no other covers, or the
pieces that touching ones merge to.

What identity routing of quotes comes to is also worked out by expectation, beside references that were
simulated: a stock is announced over a link iff a consumer behind it wants it. Of a thousand stocks a consumer
wants ten at random; of its subtree's, if interests are local. In studies of changes every consumer is active
half of the time, whatever the others are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.evaluation.routing.thesis import EACH, LOCALITIES, STOCKS, Tree, Want, thesis_tree

Columns = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
"""Stocks, and the lowest and the highest price wanted; a quote subscription wants from -1 to -1."""

_QUOTE: Final = -1.0


def _sorted(columns: Columns) -> Columns:
    """By stock, then by the lowest price, the longest first."""
    stocks, lows, highs = columns
    order = np.lexsort((-highs, lows, stocks))
    return stocks[order], lows[order], highs[order]


def _reached(columns: Columns) -> NDArray[np.float64]:
    """For each, the highest price that the ones before it of the same stock want; below all if none do."""
    stocks, _, highs = columns
    # Prices are below a thousand, so that each stock has a stretch of its own and one running maximum does.
    lifted = np.maximum.accumulate(highs + stocks * 1_000.0)
    before = np.concatenate(([-np.inf], lifted[:-1]))
    known = before - stocks * 1_000.0
    return np.where(known < _QUOTE - 1.0, -np.inf, known)


def _simple(columns: Columns) -> int:
    return len(columns[0])


def _identity(columns: Columns) -> int:
    found = _sorted(columns)
    if not len(found[0]):
        return 0
    differs = np.logical_or.reduce([each[1:] != each[:-1] for each in found])
    return int(np.count_nonzero(differs)) + 1


def _covering(columns: Columns) -> int:
    found = _sorted(columns)
    return int(np.count_nonzero(found[2] > _reached(found)))


def _merging(columns: Columns) -> int:
    """Pieces that do not touch; quotes of all stocks are one."""
    if len(columns[0]) and (columns[1] == _QUOTE).all():
        return 1
    found = _sorted(columns)
    return int(np.count_nonzero(found[1] > _reached(found)))


_COUNTS: Final[Mapping[str, Callable[[Columns], int]]] = {
    "simple": _simple,
    "identity": _identity,
    "covering": _covering,
    "merging": _merging,
}


def is_countable(strategy: str) -> bool:
    """Return whether tables under that strategy depend on subscriptions alone."""
    return strategy in _COUNTS or strategy == "flooding"


def expected_tables(
    tree: Tree, strategy: str, active: Mapping[str, Sequence[Want]], source: str | None
) -> dict[str, int]:
    """Remote entries of every broker. `source` is where the advertisement is; None if there are none."""
    tables = dict.fromkeys((place.name for place in tree.places), 0)
    if strategy == "flooding":
        return tables
    count = _COUNTS[strategy]
    own = {place.name: _columns(active.get(place.name, ())) for place in tree.places}
    towards_source = tree.chain(source) if source is not None else frozenset()
    for place in tree.places:
        if not place.uplink:
            continue
        names = tree.below(place.name)
        # An entry stands where publications come from: above the link for what is wanted below it.
        if source is None or place.name not in towards_source:
            tables[place.uplink] += count(_joined(own[name] for name in names))
        if source is None or place.name in towards_source:
            tables[place.name] += count(_joined(own[name] for name in own if name not in names))
    return tables


def needed_links(tree: Tree, source: str, brokers: Iterable[str]) -> int:
    """Return how many links a publication takes that goes to these brokers and nowhere else."""
    up = tree.chain(source)
    return len(frozenset().union(*(up ^ tree.chain(broker) for broker in brokers)))


def _columns(wants: Sequence[Want]) -> Columns:
    lows = [_QUOTE if want.low is None else want.low for want in wants]
    highs = [_QUOTE if want.high is None else want.high for want in wants]
    return np.array([want.stock for want in wants], np.int64), np.array(lows), np.array(highs)


def _joined(parts: Iterable[Columns]) -> Columns:
    stocks, lows, highs = zip(*parts, strict=True)
    return np.concatenate(stocks), np.concatenate(lows), np.concatenate(highs)


ACTIVE: Final = 0.5
"""How often a consumer is active in studies of changes."""

SUBNETS: Final = 3

Counts = Sequence[int]
"""How many local brokers there are, of each subtree."""


def expected_messages(consumers: int, *, is_advertised: bool) -> float:
    """For one change: the links away from its local broker that nobody else needs for the same stock."""
    tree = thesis_tree()
    nobody = 1 - ACTIVE * EACH / STOCKS
    behind = {place.name: _count(tree, place.name) for place in tree.places if place.uplink}
    total, everybody = 0.0, len(tree.locals)
    for local in tree.locals:
        chain = tree.chain(local.name)
        for name, count in behind.items():
            if name in chain:
                total += nobody ** (consumers * count - 1)
            elif not is_advertised:
                total += nobody ** (consumers * (everybody - count) - 1)
    return total / everybody


@lru_cache
def expected_entries(locality: float, consumers: int, *, is_advertised: bool) -> float:
    """Remote entries of all brokers, if half of so many consumers are active at each local broker."""
    tree = thesis_tree()
    wanted = _wanted(LOCALITIES[locality], consumers)
    everybody = _counts(tree, lambda _: True)
    total = 0.0
    for place in tree.places:
        if place.uplink:
            below = tree.below(place.name)
            behind = _counts(tree, below.__contains__)
            total += wanted(behind)
            if not is_advertised:
                total += wanted([every - here for every, here in zip(everybody, behind, strict=True)])
    return total


def _count(tree: Tree, name: str) -> int:
    below = tree.below(name)
    return sum(local.name in below for local in tree.locals)


def _counts(tree: Tree, is_there: Callable[[str], bool]) -> Counts:
    """The local brokers at a place, by the subtree that they belong to; the root's own has no consumers."""
    counts = [0] * SUBNETS
    for local in tree.locals:
        if local.subnet >= 0 and is_there(local.name):
            counts[local.subnet] += 1
    return counts


def _wanted(ranges: Sequence[tuple[int, int]], consumers: int) -> Callable[[Counts], float]:
    """Return how many stocks are wanted by a counts, if each subtree draws from a range."""
    cuts = sorted({end for each in ranges for end in each})
    nobody = [(1 - ACTIVE * EACH / (last - first)) ** consumers for first, last in ranges]

    def wanted(counts: Counts) -> float:
        total = 0.0
        for first, last in pairwise(cuts):
            left = 1.0
            for (start, end), one, count in zip(ranges, nobody, counts, strict=True):
                if start <= first and last <= end:
                    left *= one**count
            total += (last - first) * (1 - left)
        return total

    return wanted


def covering_announces(others: int) -> float:
    """Return how often a new interval is covered by none of so many others that hold the same middle.

    Of intervals drawn as the thesis draws them, H(n) of n are covered by no other, on average.
    """
    many = others + 1
    return sum(1 / each for each in range(1, many + 1)) / many


def merging_announces(others: int) -> float:
    """Return how often a new interval makes the union of so many others longer, at one end or at both."""
    many = others + 1
    return (2 * many - 1) / many**2


@lru_cache
def expected_interval_messages(
    consumers: int, announces: Callable[[int], float], *, is_advertised: bool
) -> float:
    """For one change of an interval: the links away from its local broker over which it shows."""
    tree = thesis_tree()
    behind = {place.name: _count(tree, place.name) for place in tree.places if place.uplink}
    shows = {many: _shows(consumers * many - 1, announces) for many in {*behind.values()}}
    everybody = len(tree.locals)
    if not is_advertised:
        shows |= {everybody - many: _shows(consumers * (everybody - many) - 1, announces) for many in shows}
    total = 0.0
    for local in tree.locals:
        chain = tree.chain(local.name)
        for name, count in behind.items():
            if name in chain:
                total += shows[count]
            elif not is_advertised:
                total += shows[everybody - count]
    return total / everybody


_TAIL: Final = 1e-12


def _shows(others: int, announces: Callable[[int], float]) -> float:
    """Return how often a change shows where so many other consumers may want the same stock."""
    wants = ACTIVE * EACH / STOCKS
    part, total, many = (1 - wants) ** others, 0.0, 0
    while many <= others and (part > _TAIL or many < others * wants):
        total += part * announces(many)
        part *= (others - many) / (many + 1) * wants / (1 - wants)
        many += 1
    return total


@lru_cache
def expected_saved(locality: float | None, consumers: int) -> float:
    """Return the part of all links that a quote need not take, if half of so many consumers are active."""
    tree = thesis_tree()
    ranges = LOCALITIES[1.0 if locality is None else locality]
    wanted = _wanted(ranges, consumers)
    used = 0.0
    for place in tree.places:
        if place.uplink:
            used += wanted(_counts(tree, tree.below(place.name).__contains__))
    return 1 - used / STOCKS / tree.link_count


def hierarchical_links(tree: Tree, source: str, brokers: Iterable[str]) -> int:
    """Return how many links a publication takes that goes to the root always, and down where it is wanted."""
    return len(tree.chain(source).union(*(tree.chain(broker) for broker in brokers)))
