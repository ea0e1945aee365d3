"""Filters: a language, a canonical form, and an algebra on it.

`language` parses a text (with `scanning` in front of it) into `conjunctions` of `constraints`; `Filter` is
the result, with the algebra on it. Each type of constraint has a file of its own.
"""

from broker.filters.conjunctions import Conjunction
from broker.filters.errors import FilterError
from broker.filters.filter import Filter
from broker.filters.language import cost_of_text, parse
from broker.filters.limits import (
    CONJUNCTIONS_LIMIT,
    LEVELS_LIMIT,
    NAME_LIMIT_BYTES,
    PARTS_LIMIT,
    SIZE_LIMIT_BYTES,
)
from broker.filters.steps import EXPANDING_STEPS

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
