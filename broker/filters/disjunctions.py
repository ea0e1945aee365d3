"""Disjunctions of conjunctions: their canonical form, and what they cover and overlap.

The canonical form is merged where that loses nothing, without what is covered, and sorted.

Theory of operation: a sieve finds the conjunctions that may cover one alone, and these are tried. Whether
several boxes cover one together is decided by cutting each away from it in turn and looking whether anything
is left. The pieces can multiply, so the steps are limited, beyond which nothing counts as covering, and
everything to overlap (the safe side).

A side that reaches over several types of value is divided by them before it is cut.

Two facts keep the cutting small. An event that leaves out an attribute the covered box does not name is in
the box; so only boxes that name no other attributes can help. Not-a-number, and maps, satisfy only `exists`
and `is not None`; so where the covered box demands no more than that, neither may the others.

Laws:

* What a canonical form has in one attribute alone is always united, since its cost is in proportion.
* All else is simplified within a budget or not at all. So the form of a form is itself: what was too dear is
  too dear again.
"""

from collections.abc import Iterable, Iterator, Sequence

from broker.filters.constraints import (
    EVERYTHING,
    AnyValue,
    Box,
    Conjunction,
    Constraint,
    Containing,
    ListPattern,
    NotNull,
    Null,
    OwnPattern,
    TextPattern,
    covers,
    covers_within,
    intersect,
    overlap_within,
    overlaps,
    positions,
    unite_types,
)
from broker.filters.limits import (
    COMPARING_STEPS,
    CONDITIONS_LIMIT,
    CONSTRAINT_STEPS,
    ELEMENT_STEPS,
    SIMPLIFYING_STEPS,
    OverBudgetError,
    Steps,
    shaping_steps,
)
from broker.filters.lists import Alternatives, has_element, is_possible, without_existence
from broker.filters.sieve import bit_positions, sieve

FEW = 8
"""So many conjunctions are compared one by one, which is quicker than to make a sieve of them."""


def canonical(conjunctions: Iterable[Conjunction], steps: Steps | None = None) -> tuple[Conjunction, ...]:
    """Merge what merges without loss, drop what another covers, and sort."""
    distinct = united_alone(conjunctions)
    if EVERYTHING in distinct:
        return (EVERYTHING,)
    if len(distinct) > 1:
        distinct = sorted(distinct, key=positions(Steps()))
        steps = steps or Steps(SIMPLIFYING_STEPS)
        try:
            return tuple(_uncovered(merged(distinct, steps), steps))
        except OverBudgetError:
            pass
    return tuple(distinct)


def unite(constraints: list[Constraint], steps: Steps | None = None) -> list[Constraint]:
    """Return the union of constraints on one attribute: conditions on some element of a list become one.

    Raises:
        OverBudgetError: it takes more steps.
    """
    found = unite_types(constraints, steps)
    conditions = {each: condition for each in found if (condition := _only_condition(each)) is not None}
    if len(conditions) < 2:  # noqa: PLR2004 - there is nothing to unite
        return found
    joined = has_element(
        element_condition([one for each in conditions.values() for one in each], Steps(ELEMENT_STEPS))
    )
    if joined.parts > CONDITIONS_LIMIT:
        return found
    return [*(each for each in found if each not in conditions), joined]


def element_condition(conjunctions: Iterable[Conjunction], steps: Steps) -> Alternatives:
    """Return the canonical form of a condition on the elements of a list, each of which exists."""
    possible = filter(is_possible, map(without_existence, conjunctions))
    condition = canonical(possible, steps)
    if all(one == without_existence(one) for one in condition):
        return condition
    return element_condition(condition, steps)


def _only_condition(constraint: Constraint) -> Alternatives | None:
    """Return the condition that some element of a list satisfies, if nothing else is demanded."""
    if not isinstance(constraint, ListPattern) or len(constraint.some) != 1:
        return None
    (condition,) = constraint.some
    return condition if constraint == ListPattern(some=constraint.some) else None


def united_alone(conjunctions: Iterable[Conjunction]) -> list[Conjunction]:
    """Unite the conjunctions that have the same attribute and no other, patterns of texts left out."""
    alone: dict[str, list[Constraint]] = {}
    rest: dict[Conjunction, None] = {}
    for one in conjunctions:
        if len(one) == 1 and not isinstance(one[0][1], TextPattern):
            alone.setdefault(one[0][0], []).append(one[0][1])
        else:
            rest[one] = None
    for name, constraints in alone.items():
        united = unite(constraints) if len(constraints) > 1 else constraints
        rest.update((((name, each),), None) for each in united)
    return list(rest)


def merged(conjunctions: list[Conjunction], steps: Steps) -> list[Conjunction]:
    """Unite conjunctions that differ in one attribute, until there are none; sorted."""
    position = positions(steps)
    while True:
        conjunctions = sorted(conjunctions, key=position)
        united = _merged_once(conjunctions, steps)
        if united is None:
            return conjunctions
        conjunctions = united


def _merged_once(conjunctions: list[Conjunction], steps: Steps) -> list[Conjunction] | None:
    """Unite each group that can be, every conjunction at most once; None if there is nothing to unite."""
    replaced: set[Conjunction] = set()
    added: list[Conjunction] = []
    for group in _alike_but_for_one(conjunctions, steps):
        if any(one in replaced for one, _ in group):
            continue
        before = [one[at][1] for one, at in group]
        steps.take(CONSTRAINT_STEPS * sum(1 + constraint.weight for constraint in before))
        after = unite(before, steps)
        if len(after) > len(before) or set(after) == set(before):
            continue
        first, at = group[0]
        replaced.update(one for one, _ in group)
        added.extend((*first[:at], (first[at][0], each), *first[at + 1 :]) for each in after)
    if not replaced:
        return None
    return list(dict.fromkeys([one for one in conjunctions if one not in replaced] + added))


def _alike_but_for_one(conjunctions: list[Conjunction], steps: Steps) -> list[list[tuple[Conjunction, int]]]:
    """Group conjunctions that name the same attributes and agree on all but one, with that one's position.

    Groups are found by sums of hashes, so that long conjunctions are not copied for each of their attributes;
    only within a sum are they compared.
    """
    numbers: dict[tuple[str, Constraint], int] = {}
    sums: dict[tuple[str, int], list[tuple[Conjunction, int]]] = {}
    for one in conjunctions:
        steps.take(CONSTRAINT_STEPS * len(one))
        # The hash of a tuple of whole numbers scatters and is the same in every run.
        scattered = [hash((numbers.setdefault(item, len(numbers)), 0)) for item in one]
        total = sum(scattered)
        for at, (name, _) in enumerate(one):
            sums.setdefault((name, total - scattered[at]), []).append((one, at))
    groups: list[list[tuple[Conjunction, int]]] = []
    for alike in sums.values():
        if len(alike) > 1:
            exact: dict[Conjunction, list[tuple[Conjunction, int]]] = {}
            for one, at in alike:
                steps.take(CONSTRAINT_STEPS + 2 * len(one))
                exact.setdefault((*one[:at], *one[at + 1 :]), []).append((one, at))
            groups.extend(group for group in exact.values() if len(group) > 1)
    return groups


def _uncovered(conjunctions: list[Conjunction], steps: Steps) -> list[Conjunction]:
    """Drop each conjunction that another covers; of two equal ones the first stays."""
    boxes: list[Box] = [dict(one) for one in conjunctions]
    everyone = range(len(conjunctions))
    few = len(conjunctions) <= FEW
    found = None if few else sieve(conjunctions, steps)
    kept = dict.fromkeys(everyone)
    # From the last to the first, so that of two that cover each other the first stays.
    for position in reversed(everyone):
        box = boxes[position]
        others: Iterable[int] = everyone if found is None else bit_positions(found.covering(box, steps))
        if any(
            covers_within(conjunctions[each], box, steps)
            for each in others
            if each != position and each in kept
        ):
            del kept[position]
    return [conjunctions[position] for position in kept]


FEW_PAIRS = 64
"""So many pairs of conjunctions are compared one by one, which is quicker than to make a sieve."""


def disjunction_covers(one: Sequence[Conjunction], other: Sequence[Conjunction]) -> bool:
    """Return whether every event that satisfies one of the others satisfies one of the first."""
    if one == other:
        return True
    steps = Steps(COMPARING_STEPS)
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
        covering = [one[each] for each in bit_positions(found.covering(box, steps))]
        helping = [one[each] for each in bit_positions(found.helping(box, steps))]
        if not _union_covers(covering, helping, box, steps):
            return False
    return True


def disjunctions_overlap(one: Sequence[Conjunction], other: Sequence[Conjunction]) -> bool:
    """Return whether some event satisfies one of each."""
    steps = Steps(COMPARING_STEPS)
    try:
        if len(one) * len(other) <= FEW_PAIRS:
            return any(_overlaps_one(dict(each), one, steps) for each in other)
        found = sieve(one, steps)
        return any(
            _overlaps_one(box, [one[each] for each in bit_positions(found.touching(box, steps))], steps)
            for box in map(dict, other)
        )
    except OverBudgetError:
        return True


def _overlaps_one(box: Box, union: Iterable[Conjunction], steps: Steps) -> bool:
    return any(overlap_within(box, each, steps) for each in union)


def _union_covers(
    alone: Iterable[Conjunction], together: Iterable[Conjunction], box: Box, steps: Steps
) -> bool:
    """Return whether one of the first covers the box alone, or the second do together."""
    if any(covers_within(each, box, steps) for each in alone):
        return True
    helping = [each for each in together if _can_help(each, box, steps)]
    return len(helping) > 1 and all(
        _nothing_left(part, helping, steps) for part in _divided(box, helping, steps)
    )


def _can_help(one: Conjunction, box: Box, steps: Steps) -> bool:
    for name, constraint in one:
        side = box.get(name)
        if side is None:
            return False
        steps.take(shaping_steps(side, constraint))
        if not overlaps(side, constraint):
            return False
        if not covers(constraint, side) and not _can_cut(side, constraint):
            return False
    return True


def _can_cut(side: Constraint, away: Constraint) -> bool:
    """Return whether what a constraint leaves of a side that it does not cover can be written."""
    if isinstance(side, AnyValue):
        return isinstance(away, Null | NotNull)
    if isinstance(away, OwnPattern):
        return isinstance(side, OwnPattern) and side.has_types_of(away)
    return not isinstance(side, NotNull) and not (isinstance(away, ListPattern) and away.every)


def _divided(box: Box, union: list[Conjunction], steps: Steps) -> list[Box]:
    """Divide the sides that reach over several types of value, where the union does not cover them alone."""
    pieces = [box]
    for name, side in box.items():
        types = _by_type(side)
        if types and any(
            not covers(constraint, side) for one in union for each, constraint in one if each == name
        ):
            steps.take(len(types) * len(pieces) * len(box))
            pieces = [{**piece, name: each} for piece in pieces for each in types]
    return pieces


def _by_type(side: Constraint) -> tuple[Constraint, ...]:
    """Return the constraints into which one that reaches over several types is divided."""
    if isinstance(side, AnyValue):
        return (Null(), NotNull())
    return (side.as_text, side.as_list) if isinstance(side, Containing) else ()


def _nothing_left(box: Box, union: list[Conjunction], steps: Steps) -> bool:
    """Cut each conjunction of the union out of the box; return whether nothing is left."""
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
