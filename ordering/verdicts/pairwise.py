"""Pairwise total order: two ordered subscriptions that both deliver p and q deliver them in the same order.

Unordered subscriptions and unordered publications take no part. Counted as in `analysis.json`: `pairs` of
subscriptions with two or more common publications, `pairs_out_of_order` among them, and `inversions`, the
pairs of publications that two subscriptions deliver in opposite orders, summed over pairs of subscriptions.

Most histories keep the promise, so the answer is yes as early as possible. Equal views are judged once. With
many different ones, what is judged are the knots of the union of all orders: its strongly connected
components. Two publications that are inverted somewhere are in one knot, and within a knot there are few
different orders, unless nearly everything is out of order.
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
        """How many subscriptions have it."""
        return self.subscriptions.bit_count()

    @property
    def first(self) -> int:
        """The lowest index of them."""
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
    clashes: list[_Clash] = []
    against: dict[int, int] = {}
    for knot in _knots(views):
        for one, other, ours, theirs in _disagreeing(knot):
            inverted += one.weight * other.weight * inversions(_ranks(ours, theirs))
            clashes.append(_smallest(one, other, ours, theirs))
            _note(against, one.subscriptions, other.subscriptions)
    out_of_order = sum(each.bit_count() for each in against.values()) // 2
    counts = _counts(pairs, out_of_order, inverted)
    if not clashes:
        return kept("pairwise", counts)
    clashes.sort(key=lambda each: (each.span, each.p, each.q, each.one, each.other))
    witnesses = [_witness(numbered, each) for each in clashes[:WITNESSES_MAX]]
    return broken("pairwise", counts, {"pairwise": out_of_order}, witnesses)


def _counts(pairs: int, out_of_order: int, inverted: int) -> dict[str, int]:
    return {"pairs": pairs, "pairs_out_of_order": out_of_order, "inversions": inverted}


def _shared(views: Iterable[tuple[Sequence[int], int]]) -> list[_Shared]:
    """Each different view once. One of fewer than two publications disagrees with nobody."""
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
    """How many pairs of subscriptions have two or more publications in common."""
    count = sum(each.weight * (each.weight - 1) // 2 for each in views)
    masks = [(_mask(each.numbers, publications), each.weight) for each in views]
    for (mask, weight), (other, other_weight) in combinations(masks, 2):
        common = mask & other
        # More than one bit is left if removing the lowest leaves any.
        if common & (common - 1):
            count += weight * other_weight
    return count


def _mask(numbers: Sequence[int], publications: int) -> int:
    """A set of numbers as bits, by way of binary digits, which is linear however many there are."""
    digits = bytearray(b"0") * publications
    for number in numbers:
        digits[number] = ord("1")
    return int(digits, 2)


def _knots(views: list[_Shared]) -> list[list[_Shared]]:
    """What is to be compared: all the views, or what each knot has of them."""
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


def _note(against: dict[int, int], ones: int, others: int) -> None:
    """Note in both directions that some subscriptions disagree with some others."""
    for these, those in ((ones, others), (others, ones)):
        left = these
        while left:
            lowest = left & -left
            against[lowest] = against.get(lowest, 0) | those
            left ^= lowest


def _disagreeing(views: Sequence[_Shared]) -> Iterator[tuple[_Shared, _Shared, list[int], list[int]]]:
    """Pairs of views with different orders of what they have in common, and these orders."""
    sets = [(each, frozenset(each.numbers)) for each in views]
    for (one, ours), (other, theirs) in combinations(sets, 2):
        common = ours & theirs
        if len(common) > 1:
            first = list(filter(common.__contains__, one.numbers))
            second = list(filter(common.__contains__, other.numbers))
            if first != second:
                yield one, other, first, second


def _ranks(ours: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """The second order, told in places of the first."""
    places = {number: place for place, number in enumerate(ours)}
    return [places[number] for number in theirs]


def _smallest(one: _Shared, other: _Shared, ours: Sequence[int], theirs: Sequence[int]) -> _Clash:
    """The inversion of neighbours in one view that are nearest to each other in the other view.

    Two different orders of the same publications always have one.
    """
    ranked = zip(_ranks(ours, theirs), theirs, strict=True)
    span, p, q = min((late - early, p, q) for (late, q), (early, p) in neighbours(ranked) if late > early)
    return _Clash(span, p, q, one.first, other.first)


def _witness(numbered: Numbered, clash: _Clash) -> Violation:
    history = numbered.history
    one, other = history.subscriptions[clash.one], history.subscriptions[clash.other]
    p, q = numbered.keys[clash.p], numbered.keys[clash.q]
    text = f"{view(one, p, q)}; {view(other, q, p)}.{meeting(history, one, other, (p, q))}"
    return Violation("pairwise", (one.name, other.name), (p, q), text)
