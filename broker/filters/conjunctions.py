"""Conjunctions as boxes: a side for each attribute; what they cover and overlap, and where they stand.

One box covers another iff each of its sides covers the other's; two overlap iff all the sides they share do.
What disjunctions of them cover, and their canonical form, is in `disjunctions`.

Law: two constraints are intersected by the one of the greater `width`: it knows what the narrower ones are.
"""

from operator import itemgetter
from typing import TYPE_CHECKING, Final

from broker.filters.limits import (
    COMPARING_STEPS,
    CONSTRAINT_STEPS,
    PAIR_STEPS,
    OverBudgetError,
    Steps,
    covering_steps,
    shaping_steps,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker.filters.constraints import Box, Conjunction, Constraint

Position = tuple[tuple[str, tuple[int, float], str], ...]

EVERYTHING: "Conjunction" = ()

CALLS_WIDTH: Final = 2
"""The width of constraints that call predicates of constraint types, with other demands beside."""

COPIED_A_STEP = 4
"""Constraints copied from one box to another."""


def covers(one: "Constraint", other: "Constraint") -> bool:
    """Return whether everything that satisfies the other satisfies the first."""
    return one.covers(other) or (other.width == CALLS_WIDTH and _covers_beside(one, other))


def _covers_beside(one: "Constraint", other: "Constraint") -> bool:
    """Return whether the first covers what stands beside the calls of the other."""
    beside: Constraint | None = getattr(other, "beside", None)
    return beside is not None and one.covers(beside)


def overlaps(one: "Constraint", other: "Constraint") -> bool:
    """Return whether some value satisfies both."""
    return one.overlaps(other) if one.width >= other.width else other.overlaps(one)


def intersect(one: "Constraint", other: "Constraint") -> "Constraint | None":
    """Return what satisfies both, or None."""
    return one.intersect(other) if one.width >= other.width else other.intersect(one)


def conjunction(box: "Mapping[str, Constraint]") -> "Conjunction":
    """Return the constraints in the order of their attributes."""
    return tuple(sorted(box.items(), key=itemgetter(0)))


def intersection(one: "Box", other: "Box", steps: Steps) -> "Box | None":
    """Return what satisfies both, or None if that is seen to be nothing."""
    steps.take(PAIR_STEPS + len(one) // COPIED_A_STEP + len(other))
    box = dict(one)
    for name, constraint in other.items():
        known = box.get(name)
        if known is None:
            box[name] = constraint
        else:
            steps.take(shaping_steps(known, constraint))
            both = intersect(known, constraint)
            if both is None:
                return None
            box[name] = both
    return box


def conjunction_covers(one: "Conjunction", other: "Mapping[str, Constraint]") -> bool:
    """Return whether every event that satisfies the other satisfies the first."""
    for name, constraint in one:
        narrower = other.get(name)
        if narrower is None or not covers(constraint, narrower):
            return False
    return True


def covers_within(one: "Conjunction", other: "Mapping[str, Constraint]", steps: Steps) -> bool:
    """Return what `conjunction_covers` does; raise `OverBudgetError` if that takes more steps."""
    for name, constraint in one:
        narrower = other.get(name)
        if narrower is None:
            return False
        steps.take(covering_steps(constraint, narrower))
        if not covers(constraint, narrower):
            return False
    return True


def overlap_within(one: "Mapping[str, Constraint]", other: "Conjunction", steps: Steps) -> bool:
    """Return whether some event satisfies both; raise `OverBudgetError` if that takes more steps."""
    for name, constraint in other:
        known = one.get(name)
        if known is not None:
            steps.take(shaping_steps(known, constraint))
            if not overlaps(known, constraint):
                return False
    return True


def overlap(one: "Conjunction", other: "Conjunction") -> bool:
    """Return whether some event satisfies both; true where that is too dear to see."""
    try:
        return overlap_within(dict(one), other, Steps(COMPARING_STEPS))
    except OverBudgetError:
        return True


def position(one: "Conjunction") -> Position:
    """Return where a conjunction stands among others: by attribute, type, and how it is written."""
    return tuple([(name, constraint.rank(), constraint.printed(name)) for name, constraint in one])


def positions(steps: Steps) -> "Callable[[Conjunction], Position]":
    """Make `position` for many conjunctions that share constraints, each of which is written once."""
    written: dict[tuple[str, int], tuple[tuple[str, tuple[int, float], str], Constraint]] = {}

    def side(item: "tuple[str, Constraint]") -> tuple[str, tuple[int, float], str]:
        name, constraint = item
        known = written.get((name, id(constraint)))
        if known is None:
            steps.take(CONSTRAINT_STEPS + 2 * constraint.weight)
            # The constraint is kept, for only while it is there its identity is its own.
            known = (name, constraint.rank(), constraint.printed(name)), constraint
            written[name, id(constraint)] = known
        return known[0]

    def of(one: "Conjunction") -> Position:
        steps.take(len(one))
        return tuple(map(side, one))

    return of
