"""Filters as text: the canonical form in the filter language."""

from collections.abc import Iterable

from broker.filters.conjunctions import Conjunction

OR = " or "


def printed(conjunctions: Iterable[Conjunction]) -> str:
    """Write a disjunction."""
    return OR.join(map(printed_conjunction, conjunctions)) or "False"


def printed_conjunction(conjunction: Conjunction) -> str:
    """Write a conjunction."""
    return " and ".join(constraint.printed(name) for name, constraint in conjunction) or "True"


def is_printed_within(size_bytes: int, conjunctions: Iterable[Conjunction]) -> bool:
    """Tell whether a disjunction is written in so many bytes, without writing much more than these."""
    left = size_bytes + len(OR)
    for conjunction in conjunctions:
        left -= len(OR)
        for name, constraint in conjunction:
            left -= len(constraint.printed(name).encode())
            if left < 0:
                return False
        left -= len(" and ") * max(0, len(conjunction) - 1)
    return left >= 0
