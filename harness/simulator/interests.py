"""Filters of simulated clients: sets of kinds, so that brute-force matching is membership.

A set is written from its first kind to its last, `abd`. A run of neighbours written from its last to its
first, `dcb`, is a range, and so is a kind written twice: it takes the same events, and as a filter it can be
merged with others into a wider range. Of either, the first kind may be written once more, `aabd`,
`ddcb`: that takes the same events by what is in their maps.
"""

from functools import cache
from string import ascii_lowercase
from typing import Final

from broker.filters import Filter, parse
from broker.filters.values import Value

KINDS: Final = ascii_lowercase
"""The kinds an event may have: one letter each."""

NESTED_FROM: Final = 2
"""Two kinds that are the same are a range."""

SINGLE: Final = 3
"""A set of one kind in a map is written so often, and once more."""


@cache
def filter_of(kinds: str) -> Filter:
    """Return the filter that takes events of these kinds."""
    is_inside = len(kinds) > NESTED_FROM and kinds[0] == kinds[1]
    written = kinds[1:] if is_inside else kinds
    above = "order." if is_inside else ""
    if len(written) > 1 and written[0] >= written[-1] and written.count(written[0]) < SINGLE:
        return parse(f"{KINDS.index(written[-1])} <= {above}level <= {KINDS.index(written[0])}")
    listed = ", ".join(repr(kind) for kind in dict.fromkeys(written))
    return parse(f"{above}kind in ({listed},)")


def inside(kinds: str) -> str:
    """Write a set or range as one that looks into maps."""
    return kinds[0] + kinds if len(kinds) > 1 else kinds * (SINGLE + 1)


@cache
def flat_attributes_of(kind: str) -> dict[str, Value]:
    """Return the attributes of an event of that kind in caches of the past; nobody may change them."""
    return {"kind": kind, "level": KINDS.index(kind)}


@cache
def attributes_of(kind: str) -> dict[str, Value]:
    """Return the attributes of an event of that kind; nobody may change them."""
    return {**flat_attributes_of(kind), "order": flat_attributes_of(kind)}


@cache
def kinds_of(content: Filter) -> frozenset[str]:
    """Return the kinds of events that a filter takes, by trying all."""
    return frozenset(kind for kind in KINDS if content.match(attributes_of(kind)))
