"""Per-publisher order: a subscription delivers one publisher's publications in the order they were published.

Every subscription and every publication takes part, ordered or not. A violation is a delivery that comes
after a later publication of its publisher.
"""

from ordering.verdicts.numbering import Numbered
from ordering.verdicts.verdict import WITNESSES_MAX, Verdict, Violation, broken, kept
from ordering.verdicts.words import view


def publisher(numbered: Numbered) -> Verdict:
    """Judge per-publisher order."""
    if not any(numbered.views):
        return kept("publisher", {"publisher_violations": 0}, "nothing was delivered")
    late: list[tuple[int, int, int]] = []
    for index, numbers in enumerate(numbered.views):
        late += [(index, before, after) for before, after in _overtaken(numbered, numbers)]
    counts = {"publisher_violations": len(late)}
    if not late:
        return kept("publisher", counts)
    smallest = sorted(late, key=lambda found: (found[2] - found[1], *found))[:WITNESSES_MAX]
    witnesses = [_witness(numbered, *found) for found in smallest]
    return broken("publisher", counts, {"publisher": len(late)}, witnesses)


def _overtaken(numbered: Numbered, view_numbers: list[int]) -> list[tuple[int, int]]:
    """Return the publications delivered after a later one of their publisher, each with the latest one."""
    last: dict[int, int] = {}
    found = []
    for current in view_numbers:
        publisher_number = numbered.publishers[current]
        highest = last.get(publisher_number, -1)
        if highest > current:
            found.append((current, highest))
        else:
            last[publisher_number] = current
    return found


def _witness(numbered: Numbered, index: int, early: int, late: int) -> Violation:
    subscription = numbered.history.subscriptions[index]
    first, second = numbered.keys[late], numbered.keys[early]
    text = f"{view(subscription, first, second)}, against the order in which {first[0]} published them."
    return Violation("publisher", (subscription.name,), (second, first), text)
