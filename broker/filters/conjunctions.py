"""Algebra on conjunctions: boxes, with one side for each attribute they name.

One box covers another iff each of its sides covers the other's; two overlap iff all the sides they share do.
What disjunctions of them cover is in `covering`, their canonical form in `simplifying`.
"""

from collections.abc import Callable, Mapping

from broker.filters.constraints import Constraint, covers, intersect, overlaps
from broker.filters.steps import CONSTRAINT_STEPS, PAIR_STEPS, Steps, covering_steps, shaping_steps

Conjunction = tuple[tuple[str, Constraint], ...]
Box = dict[str, Constraint]
Position = tuple[tuple[str, tuple[int, float], str], ...]
EVERYTHING: Conjunction = ()

COPIED_A_STEP = 4
"""Constraints copied from one box to another."""


def conjunction(box: Mapping[str, Constraint]) -> Conjunction:
    """Return the constraints in the order of their attributes."""
    return tuple(sorted(box.items(), key=_name))


def _name(item: tuple[str, Constraint]) -> str:
    return item[0]


def intersection(one: Box, other: Box, steps: Steps) -> Box | None:
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


def conjunction_covers(one: Conjunction, other: Mapping[str, Constraint]) -> bool:
    """Tell whether every event that satisfies the other satisfies the first."""
    for name, constraint in one:
        narrower = other.get(name)
        if narrower is None or not covers(constraint, narrower):
            return False
    return True


def covers_within(one: Conjunction, other: Mapping[str, Constraint], steps: Steps) -> bool:
    """Tell what `conjunction_covers` tells; raise `OverBudgetError` if that takes more steps."""
    for name, constraint in one:
        narrower = other.get(name)
        if narrower is None:
            return False
        steps.take(covering_steps(constraint, narrower))
        if not covers(constraint, narrower):
            return False
    return True


def overlap_within(one: Mapping[str, Constraint], other: Conjunction, steps: Steps) -> bool:
    """Tell whether some event satisfies both; raise `OverBudgetError` if that takes more steps."""
    for name, constraint in other:
        known = one.get(name)
        if known is not None:
            steps.take(shaping_steps(known, constraint))
            if not overlaps(known, constraint):
                return False
    return True


def position(one: Conjunction) -> Position:
    """Return where a conjunction stands among others: by attribute, type, and how it is written."""
    return tuple([(name, constraint.rank(), constraint.printed(name)) for name, constraint in one])


def positions(steps: Steps) -> Callable[[Conjunction], Position]:
    """Make `position` for many conjunctions that share constraints, each of which is written once."""
    written: dict[tuple[str, int], tuple[tuple[str, tuple[int, float], str], Constraint]] = {}

    def side(item: tuple[str, Constraint]) -> tuple[str, tuple[int, float], str]:
        name, constraint = item
        known = written.get((name, id(constraint)))
        if known is None:
            steps.take(CONSTRAINT_STEPS + 2 * constraint.weight)
            # The constraint is kept, for only while it is there its identity is its own.
            known = (name, constraint.rank(), constraint.printed(name)), constraint
            written[name, id(constraint)] = known
        return known[0]

    def of(one: Conjunction) -> Position:
        steps.take(len(one))
        return tuple(map(side, one))

    return of
