"""Filters as text: the canonical form in the filter language."""

from collections.abc import Iterable

from broker.filters.conjunctions import Conjunction


def printed(conjunctions: Iterable[Conjunction]) -> str:
    """Write a disjunction."""
    return " or ".join(map(printed_conjunction, conjunctions)) or "False"


def printed_conjunction(conjunction: Conjunction) -> str:
    """Write a conjunction."""
    return " and ".join(constraint.printed(name) for name, constraint in conjunction) or "True"
