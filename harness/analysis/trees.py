"""How far apart the brokers of a tree are."""

from collections.abc import Mapping
from itertools import product
from typing import Final

__all__ = ["BROKERS_MAX", "distances"]

BROKERS_MAX: Final = 500
"""Distances go to every worker as a table of all pairs; beyond this it would be larger than the answer is
worth."""


def distances(uplinks: Mapping[str, str]) -> dict[tuple[str, str], int]:
    """The number of links between any two brokers that are connected; empty for more than can be told."""
    if len(uplinks) > BROKERS_MAX:
        return {}
    climbs = {broker: _climb(uplinks, broker) for broker in uplinks}
    found = {}
    for one, other in product(climbs, repeat=2):
        common = next((each for each in climbs[one] if each in climbs[other]), None)
        if common is not None:
            found[one, other] = climbs[one][common] + climbs[other][common]
    return found


def _climb(uplinks: Mapping[str, str], broker: str) -> dict[str, int]:
    """Every broker above, itself included, and how many links away."""
    chain: dict[str, int] = {}
    while broker and broker not in chain:
        chain[broker] = len(chain)
        broker = uplinks.get(broker, "")
    return chain
