"""Filters: a language, a canonical form, and an algebra on it.

This file is a placeholder until the algebra lands; the names are final.
"""

from attrs import frozen

from broker.filters.constraints import Constraint

Conjunction = tuple[tuple[str, Constraint], ...]


@frozen
class Filter:
    """A disjunction of conjunctions in canonical form."""

    conjunctions: tuple[Conjunction, ...]
