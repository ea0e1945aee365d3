"""Pairwise total order: two ordered subscriptions that both deliver p and q deliver them in the same order.

Unordered subscriptions and unordered publications take no part. Counted as in `analysis.json`: `pairs` of
subscriptions with two or more common publications, `pairs_out_of_order` among them, and `inversions`, the
pairs of publications that two subscriptions deliver in opposite orders, summed over pairs of subscriptions.

Most histories keep the promise, so agreement is found as early as possible. Equal views are judged once. With
many different ones, views are compared within the knots of the union of all orders: its strongly connected
components. Two publications that are inverted in any pair of views are in one knot, and within a knot there
are few different orders, unless nearly all publications are out of order.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from itertools import pairwise as neighbours

from attrs import define, frozen

from ordering.verdicts.cycles import components
from ordering.verdicts.inversions import inversions
from ordering.verdicts.numbering import Numbered
from ordering.verdicts.verdict import WITNESSES_MAX, Verdict, Violation, broken, kept
from ordering.verdicts.words import meeting, view

VIEWS_FEW = 16
"""Up to this many different views, comparing each with each costs less than looking for knots."""


@define(eq=False)
class _Shared:
    """A view, and the subscriptions that have it, as bits."""

    numbers: tuple[int, ...]
    subscriptions: int

    @property
    def weight(self) -> int:
        """The number of subscriptions with this view."""
        return self.subscriptions.bit_count()

    @property
    def first(self) -> int:
        """The lowest index of a subscription with this view."""
        return (self.subscriptions & -self.subscriptions).bit_length() - 1


@frozen
class _Clash:
    """Subscription `one` delivers p before q, `other` q before p; `span` is how far apart `one` has them."""

    span: int
    p: int
    q: int
    one: int
    other: int


def pairwise(numbered: Numbered) -> Verdict:
    """Judge pairwise total order."""
    if not any(numbers for _, numbers in numbered.ordered_views):
        return kept("pairwise", _counts(0, 0, 0), "no ordered subscription delivered anything")
    views = _shared((numbers, 1 << index) for index, numbers in numbered.ordered_views)
    pairs = _pairs(views, len(numbered.keys))
    inverted = 0
    nearest: list[_Clash] = []
    against: dict[int, int] = {}
    for knot in _knots(views):
        for one, other, positions in _disagreeing(knot):
            inverted += one.weight * other.weight * inversions(positions)
            _record(against, one.subscriptions, other.subscriptions)
            # Publications cannot be nearer than neighbours, so then another clash would not be smaller.
            if len(nearest) < WITNESSES_MAX or nearest[-1].span > 1:
                nearest = sorted([*nearest, _smallest(one, other, positions)], key=_span)[:WITNESSES_MAX]
    out_of_order = sum(each.bit_count() for each in against.values()) // 2
    counts = _counts(pairs, out_of_order, inverted)
    if not nearest:
        return kept("pairwise", counts)
    witnesses = [_witness(numbered, each) for each in nearest]
    return broken("pairwise", counts, {"pairwise": out_of_order}, witnesses)


def _counts(pairs: int, out_of_order: int, inverted: int) -> dict[str, int]:
    return {"pairs": pairs, "pairs_out_of_order": out_of_order, "inversions": inverted}


def _shared(views: Iterable[tuple[Sequence[int], int]]) -> list[_Shared]:
    """Return each different view once, except those of one publication or none, which cannot disagree."""
    shared: dict[tuple[int, ...], _Shared] = {}
    for numbers, subscriptions in views:
        if len(numbers) > 1:
            each = tuple(numbers)
            known = shared.get(each)
            if known is None:
                shared[each] = _Shared(each, subscriptions)
            else:
                known.subscriptions |= subscriptions
    return list(shared.values())


def _pairs(views: Sequence[_Shared], publications: int) -> int:
    """Return how many pairs of subscriptions have two or more publications in common."""
    count = sum(each.weight * (each.weight - 1) // 2 for each in views)
    masks = [(_mask(each.numbers, publications), each.weight) for each in views]
    for (mask, weight), (other, other_weight) in combinations(masks, 2):
        common = mask & other
        # More than one bit is left if removing the lowest leaves any.
        if common & (common - 1):
            count += weight * other_weight
    return count


def _mask(numbers: Sequence[int], publications: int) -> int:
    """Return a set of numbers as bits, by way of binary digits, in linear time."""
    digits = bytearray(b"0") * publications
    for number in numbers:
        digits[number] = ord("1")
    return int(digits, 2)


def _knots(views: list[_Shared]) -> list[list[_Shared]]:
    """Return the groups of views to compare: all of them, or their parts within each knot."""
    if len(views) <= VIEWS_FEW:
        return [views]
    knots = components([each.numbers for each in views])
    knot_of = {number: knot for knot, members in enumerate(knots) for number in members}
    parts: list[list[tuple[list[int], int]]] = [[] for _ in knots]
    for each in views:
        inside: dict[int, list[int]] = {}
        for number in filter(knot_of.__contains__, each.numbers):
            inside.setdefault(knot_of[number], []).append(number)
        for knot, numbers in inside.items():
            parts[knot].append((numbers, each.subscriptions))
    return [_shared(part) for part in parts]


def _record(against: dict[int, int], ones: int, others: int) -> None:
    """Record in both directions that some subscriptions disagree with some others."""
    for these, those in ((ones, others), (others, ones)):
        left = these
        while left:
            lowest = left & -left
            against[lowest] = against.get(lowest, 0) | those
            left ^= lowest


def _disagreeing(views: Sequence[_Shared]) -> Iterator[tuple[_Shared, _Shared, list[int]]]:
    """Yield the pairs of views that disagree, with the positions of their common publications.

    The positions are those in the first view, in the order of the second. They rise if the two agree.
    """
    placed = [(each, {number: position for position, number in enumerate(each.numbers)}) for each in views]
    for (one, positions), (other, _) in combinations(placed, 2):
        common = [position for position in map(positions.get, other.numbers) if position is not None]
        if common != sorted(common):
            yield one, other, common


def _smallest(one: _Shared, other: _Shared, positions: Sequence[int]) -> _Clash:
    """Return the inversion of neighbours in one view that are nearest to each other in the other.

    Only common publications count as neighbours; positions that do not rise have such a pair.
    """
    span, early, late = min(
        (late - early, early, late) for late, early in neighbours(positions) if late > early
    )
    return _Clash(span, one.numbers[early], one.numbers[late], one.first, other.first)


def _span(clash: _Clash) -> int:
    return clash.span


def _witness(numbered: Numbered, clash: _Clash) -> Violation:
    history = numbered.history
    one, other = history.subscriptions[clash.one], history.subscriptions[clash.other]
    p, q = numbered.keys[clash.p], numbered.keys[clash.q]
    text = f"{view(one, p, q)}; {view(other, q, p)}.{meeting(history, one, other, (p, q))}"
    return Violation("pairwise", (one.name, other.name), (p, q), text)
