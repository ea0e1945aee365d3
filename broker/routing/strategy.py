"""The interface of routing strategies: which of the known routes are announced to a neighbour.

Theory of operation: a broker keeps, for each neighbour, one selection of subscriptions and one of
advertisements. The *candidates* of a selection are the routes known through other hops; the *announced*
routes are as few of them as the strategy needs. Every change of a candidate yields the difference, which
goes to the neighbour in one message.

Laws of every selection:

1. What a change yields depends on nothing but the announced routes (with their order), the number of mergers
   made, and the set of candidates: never on the order in which candidates came. So a snapshot of the three is
   enough to continue exactly as before.
2. Every candidate is covered by an announced route. No announced route covers another announced route.
3. Of the filters announced, with whether they are ordered, `reduce` computes the same set from scratch; under
   merging, the same union.

An announced item carries the id of a candidate with its filter. The id may outlive that candidate, while
another one has the same filter. When an id is both removed and added, it continues with another filter.
Mergers have ids of their own, which begin with `MERGER_MARK` and never recur within one selection.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final, NamedTuple, Protocol

from attrs import frozen

from broker.filters import Filter

MERGER_MARK: Final = "~"


class Item(NamedTuple):
    """A filter as it is announced to a neighbour, without an id: candidates with equal items share it."""

    filter: Filter
    ordered: bool


@frozen
class RouteFilter:
    """The id and filter of a subscription or an advertisement; advertisements are always ordered."""

    id: str
    filter: Filter
    ordered: bool = True

    @property
    def item(self) -> Item:
        """Return the filter and its order, without the id."""
        return Item(self.filter, self.ordered)


@frozen
class Change:
    """What to announce and what to withdraw, in one message: both parts take effect at once. Sorted by id."""

    added: tuple[RouteFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to announce or to withdraw."""
        return bool(self.added or self.removed)


NOTHING: Final = Change()


@frozen
class Snapshot:
    """The state of a selection that does not follow from its candidates."""

    announced: tuple[RouteFilter, ...] = ()
    mergers: int = 0


NOTHING_ANNOUNCED: Final = Snapshot()


class Selection(Protocol):
    """The routes announced to one neighbour on one level: subscriptions or advertisements."""

    @property
    def announced(self) -> Mapping[str, RouteFilter]:
        """Return the announced routes by id, in the order in which they were announced."""

    @property
    def mergers(self) -> int:
        """Return how many ids of its own the selection has given to mergers so far."""

    def add(self, route: RouteFilter) -> Change:
        """Add a candidate; one with its id is replaced, an equal one changes nothing."""

    def remove(self, id: str) -> Change:  # noqa: A002 - it is the interface's name for it
        """Remove a candidate; an unknown one changes nothing."""

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Add and remove candidates as one change; of two with one id the later one counts."""

    def covers_of(self, route: RouteFilter) -> Iterable[str]:
        """Return the sorted ids of all announced items that cover the route, be it a candidate or not."""

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Return whether these, by id, are all its candidates, announced or not."""

    def snapshot(self) -> Snapshot:
        """Return the state from which, with the candidates, the selection can be restored."""


class Strategy(Protocol):
    """A way to choose which routes are announced to neighbours."""

    @property
    def name(self) -> str:
        """Return the name by which it is chosen, with its factor if it has one."""

    @property
    def floods(self) -> bool:
        """Return whether nothing is ever announced, since every link has a built-in entry for everything."""

    @property
    def is_exact(self) -> bool:
        """Return whether every candidate is announced under its own id, and none covers another."""

    @property
    def unites(self) -> bool:
        """Return whether unions are announced too, which are no candidates and may outlive their parts."""

    @property
    def is_perfect(self) -> bool:
        """Return whether the announced routes match only what some candidate matches."""

    def selection(
        self,
        snapshot: Snapshot = NOTHING_ANNOUNCED,
        candidates: Iterable[RouteFilter] = (),
    ) -> Selection:
        """Make a selection, or restore one from its snapshot and its candidates in any order."""

    def covers_item(self, announced: Item, wanted: Item) -> bool:
        """Return whether announcing the first makes announcing the second unnecessary."""

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """Return what to announce of these candidates, computed from scratch and slowly; sorted by id."""


def edited(selection: Selection, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
    """Apply one change after the other, for a selection that gains nothing from seeing them together."""
    added, removed = dict[str, RouteFilter](), set[str]()
    for change in chain(map(selection.add, add), map(selection.remove, remove)):
        removed.update(each for each in change.removed if added.pop(each, None) is None)
        added.update((route.id, route) for route in change.added)
    return Change(tuple(added[each] for each in sorted(added)), tuple(sorted(removed)))
