"""Algebra on conjunctions, and the canonical form of a disjunction of them.

Theory of operation: a conjunction is a box, with one side for each attribute it names. One box covers
another iff each of its sides covers the other's; two overlap iff all the sides they share do. Whether
several boxes cover one together is decided by cutting each away from it in turn and looking whether
anything is left. The pieces can multiply, so the effort is bounded, beyond which nothing is said to cover
(the safe side).

Two facts keep the cutting small. An event that leaves out an attribute the covered box does not name is in
the box; so only boxes that name no other attributes can help. Not-a-number satisfies only `exists`; so
where the covered box says no more than that, neither may the others.
"""

from collections.abc import Iterable, Iterator, Mapping

from attrs import define

from broker.filters.constraints import AnyValue, Constraint, covers, intersect, overlaps, unite

Conjunction = tuple[tuple[str, Constraint], ...]
Box = dict[str, Constraint]
EVERYTHING: Conjunction = ()

EFFORT_LIMIT = 50_000
"""Comparisons of boxes spent on cutting in one call of `disjunction_covers`: some 30 ms at worst, where a
user's filter needs a few dozen."""


def conjunction(box: Mapping[str, Constraint]) -> Conjunction:
    """Return the constraints in the order of their attributes."""
    return tuple(sorted(box.items(), key=_name))


def _name(item: tuple[str, Constraint]) -> str:
    return item[0]


def intersection(one: Mapping[str, Constraint], other: Iterable[tuple[str, Constraint]]) -> Box | None:
    """Return what satisfies both, or None if that is seen to be nothing."""
    box = dict(one)
    for name, constraint in other:
        known = box.get(name)
        if known is None:
            box[name] = constraint
        else:
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


@define
class Effort:
    """How many more comparisons a decision may cost."""

    left: int = EFFORT_LIMIT


def disjunction_covers(one: Iterable[Conjunction], other: Iterable[Conjunction]) -> bool:
    """Tell whether every event that satisfies one of the others satisfies one of the first."""
    union, effort = tuple(one), Effort()
    return all(_union_covers(union, each, effort) for each in other)


def _union_covers(union: Iterable[Conjunction], covered: Conjunction, effort: Effort) -> bool:
    box = dict(covered)
    candidates: list[Conjunction] = []
    for each in union:
        if conjunction_covers(each, box):
            return True
        if _can_help(each, box):
            candidates.append(each)
    return len(candidates) > 1 and _nothing_left(box, candidates, effort)


def _can_help(one: Conjunction, box: Box) -> bool:
    for name, constraint in one:
        side = box.get(name)
        if side is None or not overlaps(side, constraint):
            return False
        if isinstance(side, AnyValue) and not isinstance(constraint, AnyValue):
            return False
    return True


def _nothing_left(box: Box, union: list[Conjunction], effort: Effort) -> bool:
    """Cut each conjunction of the union out of the box; tell whether nothing is left, false in doubt."""
    pieces = [(box, 0)]
    while pieces:
        piece, start = pieces.pop()
        for index in range(start, len(union)):
            effort.left -= 1
            if conjunctions_overlap(piece, union[index]):
                pieces.extend((rest, index + 1) for rest in _cut(piece, union[index]))
                break
        else:
            return False
        if effort.left <= 0:
            return False
    return True


def _cut(box: Box, away: Conjunction) -> Iterator[Box]:
    """Return what is left of the box without the conjunction, in pieces that do not overlap."""
    inside = dict(box)
    for name, constraint in away:
        side = inside[name]
        for part in constraint.complement():
            outside = intersect(side, part)
            if outside is not None:
                yield {**inside, name: outside}
        both = intersect(side, constraint)
        if both is None:
            return
        inside[name] = both


def canonical(conjunctions: Iterable[Conjunction]) -> tuple[Conjunction, ...]:
    """Merge what merges without loss, drop what another covers, and sort."""
    distinct = list(dict.fromkeys(conjunctions))
    if EVERYTHING in distinct:
        return (EVERYTHING,)
    if len(distinct) > 1:
        distinct = _uncovered(merged(distinct))
    return tuple(distinct)


def merged(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Unite conjunctions that differ in one attribute, until there are none; sorted."""
    while True:
        conjunctions = sorted(conjunctions, key=position)
        united = _merged_once(conjunctions)
        if united is None:
            return conjunctions
        conjunctions = united


def position(one: Conjunction) -> tuple[tuple[str, tuple[int, float], str], ...]:
    """Return where a conjunction stands among others: by attribute, type, and how it is written."""
    return tuple((name, constraint.rank(), constraint.printed(name)) for name, constraint in one)


def _merged_once(conjunctions: list[Conjunction]) -> list[Conjunction] | None:
    """Unite each group that can be, every conjunction at most once; None if there is nothing to unite."""
    replaced: set[Conjunction] = set()
    added: list[Conjunction] = []
    for group in _alike_but_for_one(conjunctions):
        if any(one in replaced for one, _ in group):
            continue
        before = [one[at][1] for one, at in group]
        after = unite(before)
        if len(after) > len(before) or set(after) == set(before):
            continue
        first, at = group[0]
        replaced.update(one for one, _ in group)
        added.extend((*first[:at], (first[at][0], each), *first[at + 1 :]) for each in after)
    if not replaced:
        return None
    return list(dict.fromkeys([one for one in conjunctions if one not in replaced] + added))


def _alike_but_for_one(conjunctions: list[Conjunction]) -> list[list[tuple[Conjunction, int]]]:
    """Group conjunctions that name the same attributes and agree on all but one, with that one's place.

    Groups are found by sums of hashes, so that long conjunctions are not copied for each of their attributes;
    only within a sum are they compared.
    """
    numbers: dict[tuple[str, Constraint], int] = {}
    sums: dict[tuple[str, int], list[tuple[Conjunction, int]]] = {}
    for one in conjunctions:
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
                exact.setdefault((*one[:at], *one[at + 1 :]), []).append((one, at))
            groups.extend(group for group in exact.values() if len(group) > 1)
    return groups


def _uncovered(conjunctions: list[Conjunction]) -> list[Conjunction]:
    """Drop each conjunction that another covers; of two equal ones the first stays."""
    kept: list[tuple[Conjunction, Box]] = []
    for one in conjunctions:
        box = dict(one)
        if any(conjunction_covers(other, box) for other, _ in kept):
            continue
        kept = [(other, sides) for other, sides in kept if not conjunction_covers(one, sides)]
        kept.append((one, box))
    return [one for one, _ in kept]
