"""What identity routing of quotes comes to by expectation, beside references that were simulated.

A stock is told over a link iff somebody behind it wants it. Of a thousand stocks a consumer wants ten at
random; of its subtree's, if interests are local. In studies of changes every consumer is active half of the
time, whatever the others are.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from harness.evaluation.routing.consumers import EACH, LOCALITIES, STOCKS
from harness.evaluation.routing.tree import Tree, thesis_tree

__all__ = ["local_entries", "messages"]

ACTIVE: Final = 0.5
"""How often a consumer is active in studies of changes."""

SUBNETS: Final = 3

Crowd = Sequence[int]
"""How many local brokers there are, of each subtree."""


def messages(consumers: int, *, is_advertised: bool) -> float:
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
def local_entries(locality: float, consumers: int, *, is_advertised: bool) -> float:
    """Remote entries of all brokers, if half of so many consumers are active at each local broker."""
    tree = thesis_tree()
    wanted = _wanted(LOCALITIES[locality], consumers)
    everybody = _crowd(tree, lambda _: True)
    total = 0.0
    for place in tree.places:
        if place.uplink:
            below = tree.below(place.name)
            behind = _crowd(tree, below.__contains__)
            total += wanted(behind)
            if not is_advertised:
                total += wanted([every - here for every, here in zip(everybody, behind, strict=True)])
    return total


def _count(tree: Tree, name: str) -> int:
    below = tree.below(name)
    return sum(local.name in below for local in tree.locals)


def _crowd(tree: Tree, is_there: Callable[[str], bool]) -> Crowd:
    """The local brokers at a place, by the subtree that they belong to; the root's own has no consumers."""
    counts = [0] * SUBNETS
    for local in tree.locals:
        if local.subnet >= 0 and is_there(local.name):
            counts[local.subnet] += 1
    return counts


def _wanted(ranges: Sequence[tuple[int, int]], consumers: int) -> Callable[[Crowd], float]:
    """How many stocks are wanted by a crowd, if each subtree draws from a range."""
    cuts = sorted({end for each in ranges for end in each})
    nobody = [(1 - ACTIVE * EACH / (last - first)) ** consumers for first, last in ranges]

    def wanted(crowd: Crowd) -> float:
        total = 0.0
        for first, last in pairwise(cuts):
            left = 1.0
            for (start, end), one, count in zip(ranges, nobody, crowd, strict=True):
                if start <= first and last <= end:
                    left *= one**count
            total += (last - first) * (1 - left)
        return total

    return wanted
