"""Filters of simulated clients: sets of kinds, so that brute-force matching is membership."""

from functools import cache
from string import ascii_lowercase
from typing import Final

from broker.filters import Filter, parse

KINDS: Final = ascii_lowercase
"""The kinds an event may have: one letter each."""


@cache
def filter_of(kinds: str) -> Filter:
    """Return the filter that takes events of these kinds."""
    listed = ", ".join(repr(kind) for kind in kinds)
    return parse(f"kind in ({listed},)")


@cache
def attributes_of(kind: str) -> dict[str, str]:
    """Return the attributes of an event of that kind; nobody may change them."""
    return {"kind": kind}
