"""Filters: a language, a canonical form, and an algebra on it.

`language` parses a text into conjunctions of `constraints`, predicate by predicate; `disjunctions` brings
them into canonical form; `Filter` is the result, with the algebra on it.
"""

from broker.filters.constraints import Conjunction
from broker.filters.errors import FilterError
from broker.filters.filter import Filter
from broker.filters.language import cost_of_text, parse
from broker.filters.limits import (
    CONJUNCTIONS_LIMIT,
    EXPANDING_STEPS,
    LEVELS_LIMIT,
    NAME_LIMIT_BYTES,
    PARTS_LIMIT,
    SIZE_LIMIT_BYTES,
)

__all__ = [
    "CONJUNCTIONS_LIMIT",
    "EXPANDING_STEPS",
    "LEVELS_LIMIT",
    "NAME_LIMIT_BYTES",
    "PARTS_LIMIT",
    "SIZE_LIMIT_BYTES",
    "Conjunction",
    "Filter",
    "FilterError",
    "cost_of_text",
    "parse",
]
