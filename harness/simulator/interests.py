"""Filters of simulated clients: sets of kinds, so that brute-force matching is membership.

A set is written from its first kind to its last, `abd`. A run of neighbours written from its last to its
first, `dcb`, is a range, and so is a kind written twice: it takes the same events, and as a filter it can be
merged with others into a wider range.
"""

from functools import cache
from string import ascii_lowercase
from typing import Final

from broker.filters import Filter, parse
from broker.filters.values import Value

KINDS: Final = ascii_lowercase
"""The kinds an event may have: one letter each."""


@cache
def filter_of(kinds: str) -> Filter:
    """Return the filter that takes events of these kinds."""
    if len(kinds) > 1 and kinds[0] >= kinds[-1]:
        return parse(f"{KINDS.index(kinds[-1])} <= level <= {KINDS.index(kinds[0])}")
    listed = ", ".join(repr(kind) for kind in kinds)
    return parse(f"kind in ({listed},)")


@cache
def attributes_of(kind: str) -> dict[str, Value]:
    """Return the attributes of an event of that kind; nobody may change them."""
    return {"kind": kind, "level": KINDS.index(kind)}


@cache
def kinds_of(content: Filter) -> frozenset[str]:
    """Return the kinds of events that a filter takes, by trying all."""
    return frozenset(kind for kind in KINDS if content.match(attributes_of(kind)))
