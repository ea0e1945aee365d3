"""Cycles in the union of delivery orders: the publications on cycles, and a smallest cycle.

The union has p before q if some subscription delivers p before q. The steps from one delivery to the next
span it, so the graph has at most one edge per delivery.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise as neighbours

from attrs import define, frozen

VISITS_MAX = 2_000_000
"""Deliveries visited in search of the smallest cycle, about a second; then the smallest so far counts."""

FINISHED = 1 << 62
"""Greater than every position in a search; the lowest position of the members of a finished component."""

View = Sequence[int]
"""Publications in the order in which some subscription delivers them, each once."""


@frozen
class Step:
    """View number `view` has `earlier` before `later`."""

    view: int
    earlier: int
    later: int


def components(views: Sequence[View]) -> list[list[int]]:
    """Return the strongly connected components with two or more members.

    Tarjan's algorithm, with the recursion on a list of its own: it is as deep as the longest view.
    """
    following = _following(views)
    places: dict[int, int] = {}
    lowest: dict[int, int] = {}
    path: list[int] = []
    found: list[list[int]] = []
    for root in following:
        if root in places:
            continue
        descent = [_enter(root, following, places, lowest, path)]
        while descent:
            current, rest = descent[-1]
            for after in rest:
                if after not in places:
                    descent.append(_enter(after, following, places, lowest, path))
                    break
                lowest[current] = min(lowest[current], lowest[after])
            else:
                descent.pop()
                if lowest[current] == places[current]:
                    _close(current, lowest, path, found)
                else:
                    above = descent[-1][0]
                    lowest[above] = min(lowest[above], lowest[current])
    return found


def _following(views: Sequence[View]) -> dict[int, dict[int, None]]:
    """Return the direct successors of each publication in any view, in a fixed order."""
    following: dict[int, dict[int, None]] = {number: {} for view in views for number in view}
    for view in views:
        for earlier, later in neighbours(view):
            following[earlier][later] = None
    return following


def _enter(
    number: int,
    following: dict[int, dict[int, None]],
    places: dict[int, int],
    lowest: dict[int, int],
    path: list[int],
) -> tuple[int, Iterator[int]]:
    places[number] = lowest[number] = len(places)
    path.append(number)
    return number, iter(following[number])


def _close(root: int, lowest: dict[int, int], path: list[int], found: list[list[int]]) -> None:
    """Take the component of `root` off the path, up to `root`."""
    component = []
    while True:
        member = path.pop()
        lowest[member] = FINISHED
        component.append(member)
        if member == root:
            break
    if len(component) > 1:
        found.append(sorted(component))


@define(eq=False)
class _CycleSearch:
    """The views, the positions of each publication in them, and the visits that are left."""

    views: Sequence[View]
    places: dict[int, list[tuple[int, int]]]
    visits_left: int = VISITS_MAX


def smallest_cycle(views: Sequence[View]) -> list[Step]:
    """Return a cycle with the fewest publications, each step from one view; empty if there is none."""
    best: list[Step] = []
    for component in sorted(components(views), key=lambda each: (len(each), each)):
        members = frozenset(component)
        inside = [[number for number in view if number in members] for view in views]
        search = _CycleSearch(inside, _places(inside))
        for start in component:
            best = _back_to(start, search, best)
            # Two is the least a cycle can have.
            if len(best) == 2 or search.visits_left < 0:  # noqa: PLR2004 - the comment above says it
                return best
    return best


def _places(views: Sequence[View]) -> dict[int, list[tuple[int, int]]]:
    """Return the positions of each publication: pairs of view and index."""
    places: dict[int, list[tuple[int, int]]] = {}
    for view, numbers in enumerate(views):
        for position, number in enumerate(numbers):
            places.setdefault(number, []).append((view, position))
    return places


def _back_to(start: int, search: _CycleSearch, best: list[Step]) -> list[Step]:
    """Return the shortest cycle through `start` if it is shorter than the best so far; else the best so far.

    Breadth first. All that follows a position in a view is reached at once, so of each view only the part
    before the first position reached so far is still searched.
    """
    came: dict[int, Step] = {}
    unreached = [len(view) for view in search.views]
    level, length = [start], 0
    while level and (not best or length + 1 < len(best)):
        length += 1
        reached: list[int] = []
        for number in level:
            reached += _reach(number, search, came, unreached)
            if start in came:
                return _trace(start, came)
            if search.visits_left < 0:
                return best
        level = reached
    return best


def _reach(number: int, search: _CycleSearch, came: dict[int, Step], unreached: list[int]) -> list[int]:
    """Return the publications that some view has after this one and that were not reached before."""
    reached = []
    for view, position in search.places[number]:
        search.visits_left -= 1
        if position + 1 < unreached[view]:
            search.visits_left -= unreached[view] - position
            for later in search.views[view][position + 1 : unreached[view]]:
                if later not in came:
                    came[later] = Step(view, number, later)
                    reached.append(later)
            unreached[view] = position + 1
    return reached


def _trace(start: int, came: dict[int, Step]) -> list[Step]:
    steps = [came[start]]
    while steps[-1].earlier != start:
        steps.append(came[steps[-1].earlier])
    return steps[::-1]
