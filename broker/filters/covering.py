"""What disjunctions of conjunctions cover and overlap.

Theory of operation: a sieve finds the conjunctions that may cover one alone, and these are tried. Whether
several boxes cover one together is decided by cutting each away from it in turn and looking whether anything
is left. The pieces can multiply, so the steps are bounded, beyond which nothing is said to cover, and
everything to overlap (the safe side).

Two facts keep the cutting small. An event that leaves out an attribute the covered box does not name is in
the box; so only boxes that name no other attributes can help. Not-a-number satisfies only `exists`; so
where the covered box says no more than that, neither may the others.
"""

from collections.abc import Iterable, Iterator, Sequence

from broker.filters.conjunctions import (
    Box,
    Conjunction,
    covers_within,
    overlap_within,
)
from broker.filters.constraints import AnyValue, Constraint, intersect, overlaps
from broker.filters.sieve import places, sieve
from broker.filters.steps import COMPARING_STEPS, OverBudgetError, Steps, budget, shaping_steps

FEW_PAIRS = 64
"""So many pairs of conjunctions are compared one by one, which is quicker than to make a sieve."""


def disjunction_covers(one: Sequence[Conjunction], other: Sequence[Conjunction]) -> bool:
    """Tell whether every event that satisfies one of the others satisfies one of the first."""
    if one == other:
        return True
    steps = budget(COMPARING_STEPS)
    try:
        if len(one) * len(other) <= FEW_PAIRS:
            return all(_union_covers(one, one, dict(each), steps) for each in other)
        return _sieved_covers(one, other, steps)
    except OverBudgetError:
        return False


def _sieved_covers(one: Sequence[Conjunction], other: Sequence[Conjunction], steps: Steps) -> bool:
    found = sieve(one, steps)
    for each in other:
        box = dict(each)
        covering = [one[place] for place in places(found.covering(box, steps))]
        helping = [one[place] for place in places(found.helping(box, steps))]
        if not _union_covers(covering, helping, box, steps):
            return False
    return True


def disjunctions_overlap(one: Sequence[Conjunction], other: Sequence[Conjunction]) -> bool:
    """Tell whether some event satisfies one of each."""
    steps = budget(COMPARING_STEPS)
    try:
        if len(one) * len(other) <= FEW_PAIRS:
            return any(_overlaps_one(dict(each), one, steps) for each in other)
        found = sieve(one, steps)
        return any(
            _overlaps_one(box, [one[place] for place in places(found.touching(box, steps))], steps)
            for box in map(dict, other)
        )
    except OverBudgetError:
        return True


def _overlaps_one(box: Box, union: Iterable[Conjunction], steps: Steps) -> bool:
    return any(overlap_within(box, each, steps) for each in union)


def _union_covers(
    alone: Iterable[Conjunction], together: Iterable[Conjunction], box: Box, steps: Steps
) -> bool:
    """Tell whether one of the first covers the box alone, or the second do together."""
    if any(covers_within(each, box, steps) for each in alone):
        return True
    helping = [each for each in together if _can_help(each, box, steps)]
    return len(helping) > 1 and _nothing_left(box, helping, steps)


def _can_help(one: Conjunction, box: Box, steps: Steps) -> bool:
    for name, constraint in one:
        side = box.get(name)
        if side is None:
            return False
        steps.take(shaping_steps(side, constraint))
        if not overlaps(side, constraint):
            return False
        if isinstance(side, AnyValue) and not isinstance(constraint, AnyValue):
            return False
    return True


def _nothing_left(box: Box, union: list[Conjunction], steps: Steps) -> bool:
    """Cut each conjunction of the union out of the box; tell whether nothing is left."""
    pieces = [(box, 0)]
    while pieces:
        piece, start = pieces.pop()
        for index in range(start, len(union)):
            if overlap_within(piece, union[index], steps):
                pieces.extend((rest, index + 1) for rest in _cut(piece, union[index], steps))
                break
        else:
            return False
    return True


def _cut(box: Box, away: Conjunction, steps: Steps) -> Iterator[Box]:
    """Return what is left of the box without the conjunction, in pieces that do not overlap."""
    inside = dict(box)
    for name, constraint in away:
        side = inside[name]
        for part in _complement(constraint, steps):
            steps.take(len(inside) + shaping_steps(side, part))
            outside = intersect(side, part)
            if outside is not None:
                yield {**inside, name: outside}
        steps.take(shaping_steps(side, constraint))
        both = intersect(side, constraint)
        if both is None:
            return
        inside[name] = both


def _complement(constraint: Constraint, steps: Steps) -> Sequence[Constraint]:
    steps.take(shaping_steps(constraint, constraint))
    return constraint.complement()
