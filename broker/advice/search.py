"""The search for a tree in which deliveries travel and wait less: local changes, from several beginnings.

Laws.

1. A change gives one broker another uplink, gathers below one broker some of those that it has most
   deliveries with, or makes another broker the root. Changes are made as long as one gains; the best of all
   ends is advised. The beginnings are the present tree and, for every root, one that is as flat as may be;
   the best of these is the first.
2. Each move must gain `MOVE_WORTH` of what deliveries cost now for each broker in the mean, and another root
   `ROOT_WORTH` of what all cost: nobody moves for less. So where nothing gains, the present tree is advised.
3. The same traffic gives the same advice: there is no chance and no clock. Large overlays end the search by
   `WORK_PAIRS`.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from attrs import define, field, frozen

from broker.advice.steps import AdvisedStep, Tree, steps_to
from broker.advice.traffic import BrokerTraffic, TrafficError
from broker.advice.waiting import ROOT, TreeCost, Uplinks, WaitingModel

CHILDREN: Final = 8
"""The children of a broker, unless it has more now: an event for all of them is sent so often by it alone."""

DELIVERIES_MIN: Final = 100
"""Fewer deliveries may be so by chance."""

MOVE_WORTH: Final = 0.05
ROOT_WORTH: Final = 0.05
"""The root is ended and started again for that: its clients get a gap."""

WORK_PAIRS: Final = 10_000_000
"""Pairs of a source and a reader that are looked at: some ten seconds."""


@frozen
class Advice:
    """The tree that is advised, beside the present one; `is_searched` unless the search ended early.

    `link_s` is how long a link takes, as far as what has waited shows.
    """

    uplinks: Tree
    before: TreeCost
    after: TreeCost
    steps: Sequence[AdvisedStep]
    link_s: float | None
    is_searched: bool

    @property
    def gain(self) -> float:
        """Return the part of the cost that the tree saves."""
        return 1 - self.after.total / self.before.total


def advise(
    traffic: Sequence[BrokerTraffic], children_max: int = CHILDREN, *, keeps_root: bool = False
) -> Advice:
    """Return the best tree that is found for what brokers have counted.

    Raises:
        TrafficError: they have counted too little, or are no one tree.
    """
    present = _present(traffic)
    model = WaitingModel.of(traffic)
    before = model.cost(present)
    if before.deliveries < DELIVERIES_MIN:
        raise TrafficError(
            f"there were {before.deliveries:.0f} deliveries of events that were published meanwhile, which "
            f"are too few for advice: at least {DELIVERIES_MIN} are needed"
        )
    search = TreeSearch(model, present, before.total, children_max, keeps_root)
    best = search.best()
    names = model.names
    tree = {name: "" if above == ROOT else names[above] for name, above in zip(names, best, strict=True)}
    waited_s = sum(each.waiting_s for each in traffic)
    return Advice(
        tree,
        before,
        model.cost(best),
        steps_to({each.broker: each.uplink for each in traffic}, tree),
        waited_s / before.held if before.held and waited_s else None,
        search.work_left > 0,
    )


def _present(traffic: Sequence[BrokerTraffic]) -> list[int]:
    """Return the present uplinks, by the places of brokers."""
    places = {each.broker: place for place, each in enumerate(traffic)} | {"": ROOT}
    uplinks = [places.get(each.uplink, len(traffic)) for each in traffic]
    if uplinks.count(ROOT) != 1 or len(traffic) in uplinks:
        raise TrafficError("the brokers form no one tree now: ask again when none is on its way")
    return uplinks


@define(eq=False)
class TreeSearch:
    """One search over the trees of some brokers."""

    _model: WaitingModel
    _present: Uplinks
    _scale: float
    _children_max: int
    _keeps_root: bool
    work_left: int = WORK_PAIRS
    _limits: Sequence[int] = field(init=False)
    _partners: Sequence[Sequence[int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        places = range(len(self._present))
        self._partners = self._model.partners()
        self._limits = [max(self._children_max, self._present.count(place)) for place in places]

    def best(self) -> list[int]:
        """Return the best of the trees that the search ends at."""
        beginnings = sorted(((self.value(tree), tree) for tree in self._beginnings()), key=itemgetter(0))
        found = [self._climbed(value, tree) for value, tree in beginnings]
        return min(found, key=itemgetter(0))[1]

    def value(self, uplinks: Uplinks) -> float:
        """Return what a tree costs, with what getting there is worth (law 2)."""
        self.work_left -= self._model.size
        changed = [place for place, above in enumerate(uplinks) if above != self._present[place]]
        is_rooted_anew = self._present.index(ROOT) in changed
        moves_worth = MOVE_WORTH * (len(changed) - is_rooted_anew) / len(uplinks)
        worth = moves_worth + ROOT_WORTH * is_rooted_anew
        return self._model.cost(uplinks).total + self._scale * worth

    def _beginnings(self) -> Iterator[list[int]]:
        yield list(self._present)
        present = self._present.index(ROOT)
        for root in [present, *(each for each in range(len(self._present)) if each != present)]:
            if root == present or not self._keeps_root:
                yield self._flat(root)

    def _flat(self, root: int) -> list[int]:
        """Return a tree below this root in which no broker is deeper than it must be."""
        uplinks = [ROOT] * len(self._present)
        others = iter(place for place in range(len(uplinks)) if place != root)
        filled = [root]
        for above in filled:
            for _, place in zip(range(self._limits[above]), others, strict=False):
                uplinks[place] = above
                filled.append(place)
        return uplinks

    def _climbed(self, value: float, uplinks: list[int]) -> tuple[float, list[int]]:
        """Change a tree as long as that gains; return the end and what it costs."""
        is_better = True
        while is_better and self.work_left > 0:
            is_better = False
            for broker in range(len(uplinks)):
                gained, changed = self._improved(uplinks, broker, value)
                if gained < value * (1 - 1e-9):
                    value, uplinks, is_better = gained, changed, True
        return value, uplinks

    def _improved(self, uplinks: list[int], broker: int, value: float) -> tuple[float, list[int]]:
        """Return the best tree in which one broker has another uplink, other children, or is the root."""
        best = value, uplinks
        for tree in self._changes(uplinks, broker):
            if self.work_left <= 0:
                break
            found = self.value(tree)
            if found < best[0]:
                best = found, tree
        return best

    def _changes(self, uplinks: list[int], broker: int) -> Iterator[list[int]]:
        if uplinks[broker] != ROOT:
            for above in range(len(uplinks)):
                is_free = uplinks.count(above) < self._limits[above]
                if above != uplinks[broker] and is_free and not _is_below(above, broker, uplinks):
                    yield [*uplinks[:broker], above, *uplinks[broker + 1 :]]
            if not self._keeps_root:
                tree = _rooted_at(broker, uplinks)
                if all(tree.count(place) <= limit for place, limit in enumerate(self._limits)):
                    yield tree
        yield from self._gathered(uplinks, broker)

    def _gathered(self, uplinks: list[int], broker: int) -> Iterator[list[int]]:
        """Yield trees in which ever more of its partners are below a broker."""
        tree = list(uplinks)
        for partner in self._partners[broker]:
            if tree.count(broker) == self._limits[broker]:
                return
            if tree[partner] != broker and not _is_below(broker, partner, tree):
                tree[partner] = broker
                yield list(tree)


def _is_below(place: int, broker: int, uplinks: Uplinks) -> bool:
    """Return whether one broker is below another one, or the same."""
    while place not in {broker, ROOT}:
        place = uplinks[place]
    return place == broker


def _rooted_at(broker: int, uplinks: Sequence[int]) -> list[int]:
    """Return the tree with the same links, and another root."""
    tree = list(uplinks)
    above, place = ROOT, broker
    while place != ROOT:
        tree[place], above, place = above, place, uplinks[place]
    return tree
