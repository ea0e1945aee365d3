"""Unites many items at once, as when a union has to be made anew.

Theory of operation: at each seam, all constraints of one type are united in one go; then at the seams of what
came out, and so on. What is too long for one filter is divided.

Law: the result does not depend on the order of the items, and each of them lies as a whole in one result.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from attrs import frozen

from broker.filters.constraints import Constraint, NumberRange, NumberSet, TextSet, covers, unite
from broker.routing.coverage import covers_transitively, rank, stands_for
from broker.routing.strategy import Item
from broker.routing.unions import PERFECT, Cut, Seam, cuts, hull, sewn, start_of


def merged(items: Iterable[Item], factor: float) -> list[Item]:
    """Unite items as far as possible, those of one type of constraint at a time."""
    left = sorted(items, key=rank)
    known: dict[Item, list[Cut]] = {}
    while True:
        for item in left:
            if item not in known:
                known[item] = list(cuts(item))
        gone, new = _merged_once(left, known, factor)
        if not new:
            return left
        left = [item for item in left if item not in gone and item not in new] + sorted(new, key=rank)


def _merged_once(
    items: list[Item], known: dict[Item, list[Cut]], factor: float
) -> tuple[set[Item], set[Item]]:
    """Unite items at each seam, every item at most once; return what was united, and into what."""
    seams: dict[Seam, dict[Constraint, Item]] = {}
    for item in items:
        for cut in known[item]:
            seams.setdefault(cut.seam, {})[cut.constraint] = item
    gone, new = set[Item](), set[Item]()
    for seam, by_constraint in seams.items():
        if len(by_constraint) > 1:
            present = {constraint: item for constraint, item in by_constraint.items() if item not in gone}
            for item, parts in _unions_at(seam, present, factor):
                gone.update(parts)
                new.add(item)
    return gone, new


def _unions_at(
    seam: Seam, by_constraint: dict[Constraint, Item], factor: float
) -> Iterator[tuple[Item, list[Item]]]:
    """Unite items that differ at one seam alone; halves of them, where all together are too long."""
    pending = deque(_unions(by_constraint, factor))
    while pending:
        union = pending.popleft()
        if len(union.parts) > 1:
            parts = [by_constraint[each] for each in union.parts]
            item = sewn(seam, union.constraint)
            if item is None:
                pending += _halves(union, factor)
            elif covers_transitively(item.filter) or all(stands_for(item, part) for part in parts):
                yield item, parts


@frozen
class Union:
    """A constraint, and those of which it is the union."""

    constraint: Constraint
    parts: tuple[Constraint, ...]


def _unions(constraints: Iterable[Constraint], factor: float) -> list[Union]:
    """Unite constraints on one attribute as far as possible, those of one type of constraint each."""
    kinds: dict[type[Constraint], list[Constraint]] = {}
    for each in constraints:
        kinds.setdefault(type(each), []).append(each)
    return [union for kind in kinds.values() for union in _of_one_kind(kind, factor)]


def _halves(union: Union, factor: float) -> list[Union]:
    """Make two unions of what is too long for one, or none if it cannot be divided."""
    middle = len(union.parts) // 2
    divided = (union.parts[:middle], union.parts[middle:])
    return [each for half in divided for each in _of_one_kind(list(half), factor)] if middle else []


def _of_one_kind(constraints: list[Constraint], factor: float) -> list[Union]:
    """Unite constraints of one type; each lies in one of the unions as a whole."""
    if len(constraints) == 1:
        return [Union(constraints[0], tuple(constraints))]
    pieces = _pieces(constraints)
    if factor > PERFECT:
        pieces = _widened(pieces, factor)
    parts: dict[Constraint, list[Constraint]] = {piece: [] for piece in pieces}
    for each in constraints:
        around = next((piece for piece in pieces if covers(piece, each)), None)
        if around is None:  # It is hard to see; so nothing is united.
            return [Union(each, (each,)) for each in constraints]
        parts[around].append(each)
    return [Union(piece, tuple(inside)) for piece, inside in parts.items()]


def _pieces(constraints: list[Constraint]) -> list[Constraint]:
    texts = [each.values for each in constraints if isinstance(each, TextSet)]
    if texts:
        return [TextSet(frozenset().union(*texts))]
    numbers = [each.values for each in constraints if isinstance(each, NumberSet)]
    return [NumberSet(frozenset().union(*numbers))] if numbers else unite(constraints)


def _widened(pieces: list[Constraint], factor: float) -> list[Constraint]:
    """Unite neighbouring ranges to hulls until no two are near enough."""
    ranges = sorted((each for each in pieces if isinstance(each, NumberRange)), key=start_of)
    if len(ranges) < len(pieces):
        return pieces
    while True:
        joined: list[NumberRange] = []
        for each in ranges:
            wider = hull(joined[-1], each, factor) if joined else None
            if wider is None:
                joined.append(each)
            else:
                joined[-1] = wider
        if len(joined) == len(ranges):
            return [*joined]
        ranges = joined
