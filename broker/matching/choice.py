"""Which attribute a conjunction is looked up by, and in which structure.

Law: the choice depends on the entry and the path alone, so that removal finds what addition did.
"""

from collections.abc import Callable
from typing import Generic

from attrs import frozen

from broker.filters.constraints import (
    AnyValue,
    Constraint,
    NumberRange,
    NumberSet,
    TextPattern,
    TextSet,
    Truths,
)
from broker.matching.affixes import Affixes, is_bare_prefix, prefix_of, prefixes, suffix_of, suffixes
from broker.matching.bucket import Filing
from broker.matching.entry import Entry, Key, Path
from broker.matching.equality import Equality
from broker.matching.presence import Presence
from broker.matching.ranges import Grids, fits_grid
from broker.matching.rays import Rays, is_ray

Structure = Equality[Key] | Affixes[Key] | Grids[Key] | Rays[Key] | Presence[Key]
Kind = Callable[[Filing[Key]], Structure[Key]]


@frozen
class Choice(Generic[Key]):
    """One attribute, what the entry demands of it, and the structure for that.

    The lowest rank is best. After an exact lookup nothing of the attribute is left to test.
    """

    rank: float
    name: str
    constraint: Constraint
    kind: Kind[Key]
    exact: bool = False


def choose(entry: Entry[Key], path: Path) -> Choice[Key] | None:
    """The best choice among the attributes that were not looked up yet; None if there are none left."""
    best: Choice[Key] | None = None
    for name, constraint in entry.conjunction:
        if name not in path.used:
            choice: Choice[Key] = _classify(name, constraint)
            if best is None or choice.rank < best.rank:
                best = choice
    return best


def _classify(name: str, constraint: Constraint) -> Choice[Key]:  # noqa: PLR0911 - a table, a row each
    """How selective a lookup is likely to be, and the structure for it."""
    match constraint:
        case TextSet() | NumberSet():
            return Choice(0, name, constraint, Equality, exact=True)
        case TextPattern() if prefix_of(constraint):
            return Choice(1, name, constraint, prefixes, exact=is_bare_prefix(constraint))
        case NumberRange() if fits_grid(constraint):
            return Choice(2 + _breadth(constraint), name, constraint, Grids)
        case TextPattern() if suffix_of(constraint):
            return Choice(4, name, constraint, suffixes)
        case Truths():
            return Choice(5, name, constraint, Equality, exact=True)
        case NumberRange() if is_ray(constraint):
            return Choice(6, name, constraint, Rays, exact=True)
        case NumberRange() | TextPattern():
            return Choice(7, name, constraint, Presence)
        case AnyValue():
            return Choice(8, name, constraint, Presence, exact=True)


def _breadth(constraint: NumberRange) -> float:
    """The width of a range beside its bounds, from 0 to 2: what is narrow on its own scale comes first."""
    assert constraint.low is not None
    assert constraint.high is not None
    largest = max(abs(constraint.low), abs(constraint.high))
    return (constraint.high - constraint.low) / largest if largest else 0.0
