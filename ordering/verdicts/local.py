"""Report: local total order. An audience delivers its publications in one order.

The audience of a publication is the set of ordered subscriptions that deliver it. This is weaker than
pairwise total order, which demands the same of any two publications with two common subscriptions; it shows
whether a violation occurs even in the easy case.
"""

from itertools import pairwise as neighbours

from ordering.verdicts.numbering import Numbered
from ordering.verdicts.verdict import Verdict, Violation, broken, kept
from ordering.verdicts.words import meeting, view

Audience = tuple[int, ...]
"""Indexes of the subscriptions that deliver a publication, rising."""


def local(numbered: Numbered) -> Verdict:
    """Report on local total order, counted in audiences that have two or more publications in common."""
    if not any(numbers for _, numbers in numbered.ordered_views):
        return kept("local", _counts(0, 0), "no ordered subscription delivered anything")
    audiences = _audiences(numbered)
    clashes = []
    for orders in _orders(numbered, audiences):
        first, *rest = orders.items()
        other = next((each for each in rest if each[1] != first[1]), None)
        if other is not None:
            clashes.append(_witness(numbered, first, other))
    counts = _counts(len(audiences), len(clashes))
    return broken("local", counts, {}, clashes) if clashes else kept("local", counts)


def _counts(audiences: int, disagreeing: int) -> dict[str, int]:
    return {"audiences": audiences, "audiences_out_of_order": disagreeing}


def _audiences(numbered: Numbered) -> dict[Audience, list[int]]:
    """Return the audiences with two or more members and publications, each with its publications."""
    receivers: dict[int, list[int]] = {}
    for index, numbers in numbered.ordered_views:
        for number in numbers:
            receivers.setdefault(number, []).append(index)
    audiences: dict[Audience, list[int]] = {}
    for number, indexes in receivers.items():
        if len(indexes) > 1:
            audiences.setdefault(tuple(indexes), []).append(number)
    return {each: numbers for each, numbers in audiences.items() if len(numbers) > 1}


def _orders(numbered: Numbered, audiences: dict[Audience, list[int]]) -> list[dict[int, list[int]]]:
    """Return, for each audience, the order in which each member delivers its publications."""
    orders: list[dict[int, list[int]]] = [{member: [] for member in audience} for audience in audiences]
    sharing = {
        number: each for each, numbers in zip(orders, audiences.values(), strict=True) for number in numbers
    }
    for index, delivered in numbered.ordered_views:
        for number in filter(sharing.__contains__, delivered):
            sharing[number][index].append(number)
    return orders


def _witness(numbered: Numbered, first: tuple[int, list[int]], other: tuple[int, list[int]]) -> Violation:
    """Return the violation of two neighbours in one order that are inverted in the other."""
    places = {number: position for position, number in enumerate(first[1])}
    q, p = next((q, p) for q, p in neighbours(other[1]) if places[q] > places[p])
    history = numbered.history
    one, two = history.subscriptions[first[0]], history.subscriptions[other[0]]
    keys = numbered.keys[p], numbered.keys[q]
    text = f"{view(one, *keys)}; {view(two, keys[1], keys[0])}.{meeting(history, one, two, keys)}"
    return Violation("local", (one.name, two.name), keys, text)
