"""The canonical form of a disjunction: merged where that loses nothing, without what is covered, sorted.

Laws:

* What a canonical form has in one attribute alone is united, whatever it costs, since that is in proportion.
* All else is simplified within a budget or not at all. So the form of a form is itself: what was too dear is
  too dear again.
"""

from collections.abc import Iterable

from broker.filters.conjunctions import (
    EVERYTHING,
    Box,
    Conjunction,
    covers_within,
    positions,
)
from broker.filters.constraints import Constraint, TextPattern, unite
from broker.filters.sieve import places, sieve
from broker.filters.steps import (
    CONSTRAINT_STEPS,
    SIMPLIFYING_STEPS,
    OverBudgetError,
    Steps,
    budget,
    unlimited,
)

FEW = 8
"""So many conjunctions are compared one by one, which is quicker than to make a sieve of them."""


def canonical(conjunctions: Iterable[Conjunction]) -> tuple[Conjunction, ...]:
    """Merge what merges without loss, drop what another covers, and sort."""
    distinct = united_alone(conjunctions)
    if EVERYTHING in distinct:
        return (EVERYTHING,)
    if len(distinct) > 1:
        distinct = sorted(distinct, key=positions(unlimited()))
        steps = budget(SIMPLIFYING_STEPS)
        try:
            return tuple(_uncovered(merged(distinct, steps), steps))
        except OverBudgetError:
            pass
    return tuple(distinct)


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
    """Group conjunctions that name the same attributes and agree on all but one, with that one's place.

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
    for place in reversed(everyone):
        box = boxes[place]
        others: Iterable[int] = everyone if found is None else places(found.covering(box, steps))
        if any(
            covers_within(conjunctions[each], box, steps) for each in others if each != place and each in kept
        ):
            del kept[place]
    return [conjunctions[place] for place in kept]
