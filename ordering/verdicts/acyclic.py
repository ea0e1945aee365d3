"""Report: is the union of all delivery orders acyclic, so that one sequence explains every subscription?

Not promised: pairwise total order allows a cycle of three subscriptions that share two publications each.
Unordered subscriptions and unordered publications take no part, as in pairwise order.
"""

from ordering.verdicts.cycles import Step, components, smallest_cycle
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.verdict import Verdict, Violation, broken, kept
from ordering.verdicts.words import view


def acyclic(numbered: Numbered) -> Verdict:
    """Report whether one sequence explains every ordered subscription; if not, with a smallest cycle."""
    views = [numbers for _, numbers in numbered.ordered_views]
    if not any(views):
        return kept("acyclic", {"cyclic": 0}, "no ordered subscription delivered anything")
    found = components(views)
    counts = {"cyclic": sum(map(len, found))}
    if not found:
        return kept("acyclic", counts)
    return broken("acyclic", counts, {}, [_witness(numbered, smallest_cycle(views))])


def _witness(numbered: Numbered, cycle: list[Step]) -> Violation:
    seen = []
    names = []
    for step in cycle:
        index, _ = numbered.ordered_views[step.view]
        subscription = numbered.history.subscriptions[index]
        seen.append(view(subscription, numbered.keys[step.earlier], numbered.keys[step.later]))
        names.append(subscription.name)
    text = f"{len(cycle)} publications in a circle: {'; '.join(seen)}."
    return Violation("cycle", tuple(names), tuple(numbered.keys[step.earlier] for step in cycle), text)
