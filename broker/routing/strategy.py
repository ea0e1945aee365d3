"""The interface of routing strategies: what of all that is known here is announced to a neighbour.

Theory of operation: a broker keeps, for each neighbour, one selection of subscriptions and one of
advertisements. Its *candidates* are what is known through other hops; what has been *announced* to the
neighbour is as little of it as the strategy needs. Every change of a candidate yields the difference, which
goes to the neighbour in one message.

Laws of every selection:

1. What a change yields depends on nothing but what was announced (with its order), on how many mergers were
   made, and on the set of candidates: never on the order in which those came. So a snapshot of the three is
   enough to go on exactly as before.
2. Every candidate is stood for by something announced. Nothing announced stands for something else announced.
3. Of the filters announced, with whether they are ordered, `reduce` computes the same set from scratch; under
   merging, the same union.

An announced item carries the id of a candidate with its filter. The id may outlive that candidate, while
another one has the same filter. When an id is both removed and added, it goes on with another filter. Mergers
have ids of their own, which begin with `MERGER_MARK` and never come again within one selection.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final, NamedTuple, Protocol

from attrs import frozen

from broker.filters import Filter

MERGER_MARK: Final = "~"


class Item(NamedTuple):
    """What can be announced to a neighbour, without the id: equal ones need it once."""

    filter: Filter
    ordered: bool


@frozen
class RouteFilter:
    """A subscription or an advertisement; advertisements are always ordered."""

    id: str
    filter: Filter
    ordered: bool = True

    @property
    def item(self) -> Item:
        """The route without its id."""
        return Item(self.filter, self.ordered)


@frozen
class Change:
    """What to announce to the neighbour, in one message: both parts take effect at once. Sorted by id."""

    added: tuple[RouteFilter, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to announce."""
        return bool(self.added or self.removed)


NOTHING: Final = Change()


@frozen
class Snapshot:
    """What has to be kept of a selection, beside its candidates, to make it again."""

    announced: tuple[RouteFilter, ...] = ()
    mergers: int = 0


NOTHING_ANNOUNCED: Final = Snapshot()


class Selection(Protocol):
    """What is announced to one neighbour on one level: subscriptions or advertisements."""

    @property
    def announced(self) -> Mapping[str, RouteFilter]:
        """What has been announced to the neighbour, by id, in its order."""

    @property
    def mergers(self) -> int:
        """How many ids of its own the selection has given to mergers so far."""

    def add(self, route: RouteFilter) -> Change:
        """Take a candidate in; one with its id is replaced, an equal one changes nothing."""

    def remove(self, id: str) -> Change:  # noqa: A002 - it is the interface's name for it
        """Forget a candidate; an unknown one changes nothing."""

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Take candidates in and forget some, as one change; of two with one id the later one counts."""

    def covers_of(self, route: RouteFilter) -> Iterable[str]:
        """The ids of all announced items that stand for the route, be it a candidate or not; sorted."""

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Whether these, by id, are all its candidates, announced or not."""

    def snapshot(self) -> Snapshot:
        """What has to be kept, beside the candidates, to make the selection again."""


class Strategy(Protocol):
    """A way to choose what is announced to neighbours."""

    @property
    def name(self) -> str:
        """The name by which it is chosen, with its factor if it has one."""

    @property
    def floods(self) -> bool:
        """Whether nothing is ever announced, because every link has a built-in entry for everything."""

    @property
    def is_exact(self) -> bool:
        """Whether every candidate is announced under its own id, and nothing stands for anything else."""

    @property
    def unites(self) -> bool:
        """Whether it announces unions too, which nobody asked for, and which may outlive their parts."""

    @property
    def is_perfect(self) -> bool:
        """Whether what is announced matches only what some candidate matches."""

    def selection(
        self,
        snapshot: Snapshot = NOTHING_ANNOUNCED,
        candidates: Iterable[RouteFilter] = (),
    ) -> Selection:
        """Make a selection, or make one again from its snapshot and its candidates in any order."""

    def covers_item(self, announced: Item, wanted: Item) -> bool:
        """Whether announcing the first spares announcing the second."""

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """What to announce of these candidates, computed from scratch and slowly; sorted by id."""


def edited(selection: Selection, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
    """Make one change after the other, for a selection that gains nothing from seeing them together."""
    added, removed = dict[str, RouteFilter](), set[str]()
    for change in chain(map(selection.add, add), map(selection.remove, remove)):
        removed.update(each for each in change.removed if added.pop(each, None) is None)
        added.update((route.id, route) for route in change.added)
    return Change(tuple(added[each] for each in sorted(added)), tuple(sorted(removed)))
