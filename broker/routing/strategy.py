"""The interface of routing strategies: what a neighbour is told of what is known here.

Theory of operation: a broker keeps, for each neighbour, one selection of subscriptions and one of
advertisements. Its *candidates* are what is known through other hops; what the neighbour has been *told* is
as little of it as the strategy needs. Every change of a candidate yields the difference, which goes to the
neighbour in one message.

Laws of every selection:

1. What a change yields depends on nothing but what was told (with its order), on how many mergers were made,
   and on the set of candidates: never on the order in which those came. So a picture of the three is enough
   to go on exactly as before.
2. Every candidate is stood for by something told. Nothing told stands for something else told.
3. Of the filters told, with whether they are ordered, `reduce` computes the same set from scratch; under
   merging, the same union.

A told item carries the id of a candidate with its filter. The id may outlive that candidate, while another
one has the same filter. When an id is both removed and added, it goes on with another filter. Mergers have
ids of their own, which begin with `MERGER_MARK` and never come again within one selection.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final, NamedTuple, Protocol

from attrs import frozen

from broker.filters import Filter

MERGER_MARK: Final = "~"


class Item(NamedTuple):
    """What a neighbour can be told, without the id: equal ones need telling once."""

    filter: Filter
    ordered: bool


@frozen
class Wish:
    """A subscription or an advertisement; advertisements are always ordered."""

    id: str
    filter: Filter
    ordered: bool = True

    @property
    def item(self) -> Item:
        """The wish without its id."""
        return Item(self.filter, self.ordered)


@frozen
class Change:
    """What to tell the neighbour, in one message: both parts take effect at once. Each is sorted by id."""

    added: tuple[Wish, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.added or self.removed)


NOTHING: Final = Change()


@frozen
class Picture:
    """What has to be kept of a selection, beside its candidates, to make it again."""

    told: tuple[Wish, ...] = ()
    mergers: int = 0


NOTHING_TOLD: Final = Picture()


class Selection(Protocol):
    """What one neighbour is told of one level: subscriptions or advertisements."""

    @property
    def told(self) -> Mapping[str, Wish]:
        """What the neighbour has been told, by id, in the order it was told."""

    @property
    def mergers(self) -> int:
        """How many ids of its own the selection has given to mergers so far."""

    def add(self, wish: Wish) -> Change:
        """Take a candidate in; one with its id is replaced, an equal one changes nothing."""

    def remove(self, id: str) -> Change:  # noqa: A002 - it is the interface's name for it
        """Forget a candidate; an unknown one changes nothing."""

    def edit(self, add: Iterable[Wish], remove: Iterable[str]) -> Change:
        """Take candidates in and forget some, as one change; of two with one id the later one counts."""

    def standing_for(self, wish: Wish) -> Iterable[str]:
        """The ids of all told items that stand for the wish, be it a candidate or not; sorted."""

    def chooses_from(self, candidates: Mapping[str, Wish]) -> bool:
        """Whether these, by id, are all its candidates, told or not."""

    def picture(self) -> Picture:
        """What has to be kept, beside the candidates, to make the selection again."""


class Strategy(Protocol):
    """A way to choose what neighbours are told."""

    @property
    def name(self) -> str:
        """The name by which it is chosen, with its factor if it has one."""

    @property
    def floods(self) -> bool:
        """Whether nothing is ever told, because every link has a built-in entry for everything."""

    @property
    def is_exact(self) -> bool:
        """Whether every candidate is told under its own id, and nothing stands for anything else."""

    @property
    def unites(self) -> bool:
        """Whether it tells unions too, which nobody asked for as such, and which may outlive their parts."""

    @property
    def is_perfect(self) -> bool:
        """Whether what is told matches only what some candidate matches."""

    def selection(
        self,
        picture: Picture = NOTHING_TOLD,
        candidates: Iterable[Wish] = (),
    ) -> Selection:
        """Make a selection, or make one again from its picture and its candidates in any order."""

    def stands_for(self, told: Item, wanted: Item) -> bool:
        """Whether telling the first spares telling the second."""

    def reduce(self, candidates: Iterable[Wish]) -> tuple[Wish, ...]:
        """What to tell of these candidates, computed from scratch and slowly; sorted by id."""


def edited(selection: Selection, add: Iterable[Wish], remove: Iterable[str]) -> Change:
    """Make one change after the other, for a selection that gains nothing from seeing them together."""
    added, removed = dict[str, Wish](), set[str]()
    for change in chain(map(selection.add, add), map(selection.remove, remove)):
        removed.update(each for each in change.removed if added.pop(each, None) is None)
        added.update((wish.id, wish) for wish in change.added)
    return Change(tuple(added[each] for each in sorted(added)), tuple(sorted(removed)))
