"""Witnesses: for a filter, one event that it matches.

Theory of operation: what covers a filter matches its witness, so the witness finds, in an index of filters,
all that has to be compared with the filter, and little else. Values are tried at the ends of what a
constraint accepts, where few other filters reach; an attribute that only has to exist is not-a-number, which
no other constraint accepts.

Law: a witness depends on the filter's form alone. There is none for a filter that matches nothing; and none
may be found where suffixes, substrings and holes of a text leave little room (see `broker.filters.texts`).
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import inf, nan, nextafter
from typing import Final

from broker.filters import Conjunction, Filter
from broker.filters.constraints import (
    AnyValue,
    Constraint,
    Number,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
    Value,
)

Witness = Mapping[str, Value]

JOINERS: Final = ("", "\0", " ", "~", "x", "\U0010ffff")
"""What may stand between the parts of a text, and after the last: a pattern would have to forbid each."""

KEPT_LIMIT = 4096
"""Witnesses kept: more than the links of a broker ask for within one change."""


@lru_cache(maxsize=KEPT_LIMIT)
def witness(filter: Filter) -> Witness | None:  # noqa: A002 - it is a filter
    """Return the attributes of an event that the filter matches, or None if none was found."""
    for conjunction in filter.conjunctions:
        attributes = _satisfying(conjunction)
        if attributes is not None:
            return attributes
    return None


def _satisfying(conjunction: Conjunction) -> dict[str, Value] | None:
    attributes: dict[str, Value] = {}
    for name, constraint in conjunction:
        value = next((each for each in _values(constraint) if constraint.accepts(each)), None)
        if value is None:
            return None
        attributes[name] = value
    return attributes


def _values(constraint: Constraint) -> Iterator[Value]:
    """Values that the constraint may accept, the best ones first."""
    match constraint:
        case AnyValue():
            yield nan
        case NumberSet(values):
            yield min(values)
        case TextSet(values):
            yield min(values)
        case Truths(values):
            yield min(values)
        case NumberRange():
            yield from _numbers(constraint)
        case TextPattern():
            yield from _texts(constraint)


def _numbers(constraint: NumberRange) -> Iterator[Number]:
    """The ends of a range, what is next to them, and more numbers inside than it can leave out."""
    low, high = constraint.low, constraint.high
    steps = range(1, len(constraint.excluded) + 2)
    if low is not None:
        yield low
        yield nextafter(low, inf)
        yield int(low) + 1
    if high is not None:
        yield high
        yield nextafter(high, -inf)
    if low is None or high is None:
        yield -inf if high is not None else inf
        yield from ((low or high or 0) + (step if high is None else -step) for step in steps)
    else:
        yield from (low + (high - low) * (step / (len(steps) + 1)) for step in steps)


def _texts(pattern: TextPattern) -> Iterator[str]:
    """Texts with all parts the pattern demands, in several spellings."""
    start, _ = pattern.interval
    stems = dict.fromkeys((start, pattern.prefix, pattern.low or ""))
    parts = sorted(pattern.contains)
    for joiner, stem in product(JOINERS, stems):
        middle = joiner.join((stem, *parts))
        yield middle + joiner + pattern.suffix
        yield middle + pattern.suffix
        yield stem + "".join(parts) + joiner + pattern.suffix
