"""Algebra on conjunctions: boxes, with one side for each attribute they name.

One box covers another iff each of its sides covers the other's; two overlap iff all the sides they share do.
What disjunctions of them cover is in `covering`, their canonical form in `simplifying`.
"""

from collections.abc import Callable, Iterable, Mapping

from broker.filters.constraints import Constraint, covers, intersect, overlaps
from broker.filters.steps import CONSTRAINT_STEPS, Steps, pair_steps

Conjunction = tuple[tuple[str, Constraint], ...]
Box = dict[str, Constraint]
Position = tuple[tuple[str, tuple[int, float], str], ...]
EVERYTHING: Conjunction = ()


def conjunction(box: Mapping[str, Constraint]) -> Conjunction:
    """Return the constraints in the order of their attributes."""
    return tuple(sorted(box.items(), key=_name))


def _name(item: tuple[str, Constraint]) -> str:
    return item[0]


def intersection(
    one: Mapping[str, Constraint], other: Iterable[tuple[str, Constraint]], steps: Steps
) -> Box | None:
    """Return what satisfies both, or None if that is seen to be nothing."""
    box = dict(one)
    for name, constraint in other:
        known = box.get(name)
        if known is None:
            box[name] = constraint
        else:
            steps.take(pair_steps(known, constraint))
            both = intersect(known, constraint)
            if both is None:
                return None
            box[name] = both
    return box


def conjunctions_overlap(one: Mapping[str, Constraint], other: Conjunction) -> bool:
    """Tell whether some event satisfies both."""
    for name, constraint in other:
        known = one.get(name)
        if known is not None and not overlaps(known, constraint):
            return False
    return True


def conjunction_covers(one: Conjunction, other: Mapping[str, Constraint]) -> bool:
    """Tell whether every event that satisfies the other satisfies the first."""
    for name, constraint in one:
        narrower = other.get(name)
        if narrower is None or not covers(constraint, narrower):
            return False
    return True


def comparing_steps(one: Conjunction, other: Mapping[str, Constraint]) -> int:
    """Return the steps that telling whether a conjunction covers or overlaps another takes at most."""
    total = 0
    for name, constraint in one:
        known = other.get(name)
        total += 1 if known is None else pair_steps(constraint, known)
    return total


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
