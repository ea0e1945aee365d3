"""Filters as closures, and why an event did not match.

Theory of operation: each constraint makes a closure that reads its attribute and tests it in one call; a
conjunction calls them in turn, the ones that fail most events first. Nothing is generated as source, so
nothing a user writes is ever evaluated.
"""

from collections.abc import Sequence
from itertools import islice

from broker.filters.conjunctions import Conjunction
from broker.filters.constraints import Constraint, NumberSet, TextPattern, TextSet
from broker.filters.errors import legible
from broker.filters.values import Attributes, Matcher

ALTERNATIVES_SHOWN = 4
"""An explanation is for people to read; of more alternatives it says how many."""

LENGTH_SHOWN = 950
"""Likewise: two names may already have 255 characters each."""

CONSTRAINTS_SHOWN = 4
"""Likewise of a long conjunction."""

CONSTRAINT_LENGTH_SHOWN = 200
"""Likewise: a constraint may list more than a thousand constants."""

VALUE_LENGTH_SHOWN = 60
"""Likewise: a long text is cut."""

BITS_SHOWN = 128
"""Likewise: a longer number is not written at all, for Python refuses to write the longest."""


def matcher(conjunctions: Sequence[Conjunction]) -> Matcher:
    """Return a closure that tests an event's attributes."""
    tests = [_conjunction_matcher(each) for each in conjunctions]
    if not tests:
        return lambda _attributes: False
    if len(tests) == 1:
        return tests[0]

    def any_of(attributes: Attributes) -> bool:
        for test in tests:  # noqa: SIM110 - a generator costs more than the loop
            if test(attributes):
                return True
        return False

    return any_of


def _conjunction_matcher(conjunction: Conjunction) -> Matcher:
    ordered = sorted(conjunction, key=_selectivity)
    tests = [constraint.reader(name) for name, constraint in ordered]
    if not tests:
        return lambda _attributes: True
    if len(tests) == 1:
        return tests[0]
    first, second = tests[:2]
    if len(tests) == 2:  # noqa: PLR2004 - the commonest conjunction has two attributes
        return lambda attributes: first(attributes) and second(attributes)
    rest = tests[2:]

    def all_of(attributes: Attributes) -> bool:
        if not (first(attributes) and second(attributes)):
            return False
        for test in rest:  # noqa: SIM110 - a generator costs more than the loop
            if not test(attributes):
                return False
        return True

    return all_of


def _selectivity(item: tuple[str, Constraint]) -> int:
    """Put equality first and patterns last; the sort is stable, so the rest keeps its order."""
    _, constraint = item
    if isinstance(constraint, TextSet | NumberSet):
        return 0
    return 2 if isinstance(constraint, TextPattern) else 1


def explained(conjunctions: Sequence[Conjunction], attributes: Attributes) -> str:
    """Name what fails in each conjunction, on one line of bounded length."""
    if not conjunctions:
        return "False (nothing matches this filter)"
    shown = [_failing(each, attributes) for each in conjunctions[:ALTERNATIVES_SHOWN]]
    more = len(conjunctions) - len(shown)
    return legible(" or ".join(shown), LENGTH_SHOWN) + (f" or {more} more alternatives" if more else "")


def _failing(conjunction: Conjunction, attributes: Attributes) -> str:
    written = (
        f"{legible(constraint.printed(name), CONSTRAINT_LENGTH_SHOWN)}"
        f" ({name} is {_shown(attributes.get(name))})"
        for name, constraint in conjunction
        if not constraint.accepts(attributes.get(name))
    )
    first = " and ".join(islice(written, CONSTRAINTS_SHOWN))
    more = sum(1 for _ in written)
    return first + (f" and {more} more" if more else "")


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, int) and value.bit_length() > BITS_SHOWN:
        return f"a number of {value.bit_length()} bits"
    # What is cut before it is written costs nothing.
    text = repr(value[: VALUE_LENGTH_SHOWN + 1] if isinstance(value, str) else value)
    return legible(text, VALUE_LENGTH_SHOWN)
