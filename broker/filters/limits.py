"""How large a filter may be: it comes from anybody, is sent to everybody and is kept by every broker."""

SIZE_LIMIT_BYTES = 8 * 1024
"""Of text in UTF-8: some 400 predicates, and small beside a frame."""

LEVELS_LIMIT = 64
"""Of brackets, and of `and`, `or` and `not` within each other: far beyond what anybody reads, far below
Python's stack."""

CONJUNCTIONS_LIMIT = 256
"""After expansion; each is an entry in every matching index on the way."""

PARTS_LIMIT = 64
"""Substrings and unwanted suffixes that one conjunction names for one attribute: they are compared in pairs,
and every event of that attribute is searched for each."""

NAME_LIMIT_BYTES = 255
"""The longest attribute name that a publication can carry."""
