"""Simple routing: every candidate is told under its own id."""

from collections.abc import Iterable, Mapping

from attrs import Factory, define, field, frozen

from broker.routing.strategy import NOTHING, NOTHING_TOLD, Change, Item, Picture, Selection, Wish, edited


@define(eq=False)
class Everything:
    """The selection that tells every candidate."""

    _told: dict[str, Wish] = Factory(dict)
    mergers: int = field(default=0, init=False)

    @property
    def told(self) -> Mapping[str, Wish]:
        """What the neighbour has been told, which are the candidates."""
        return self._told

    def add(self, wish: Wish) -> Change:
        """Tell it."""
        known = self._told.get(wish.id)
        if known == wish:
            return NOTHING
        if known is not None:
            del self._told[wish.id]  # It goes to the end, as something newly told.
        self._told[wish.id] = wish
        return Change(added=(wish,), removed=() if known is None else (wish.id,))

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Take it back."""
        return NOTHING if self._told.pop(id, None) is None else Change(removed=(id,))

    def edit(self, add: Iterable[Wish], remove: Iterable[str]) -> Change:
        """Tell and take back."""
        return edited(self, add, remove)

    def standing_for(self, wish: Wish) -> Iterable[str]:
        """Only the same wish stands for a wish."""
        return (wish.id,) if self._told.get(wish.id) == wish else ()

    def chooses_from(self, candidates: Mapping[str, Wish]) -> bool:
        """Whether these, by id, are all that it tells."""
        return self._told == candidates

    def picture(self) -> Picture:
        """What has to be kept of it."""
        return Picture(tuple(self._told.values()))


@frozen
class Simple:
    """See the module."""

    name: str = "simple"
    floods: bool = False
    is_exact: bool = True
    unites: bool = False
    is_perfect: bool = True

    def selection(
        self,
        picture: Picture = NOTHING_TOLD,
        candidates: Iterable[Wish] = (),  # noqa: ARG002 - they are what was told
    ) -> Selection:
        """Make a selection, or make one again."""
        return Everything({wish.id: wish for wish in picture.told})

    def stands_for(self, told: Item, wanted: Item) -> bool:
        """Whether telling the first spares telling the second: only if they also have the same id."""
        return told == wanted

    def reduce(self, candidates: Iterable[Wish]) -> tuple[Wish, ...]:
        """What to tell of these candidates: all of them."""
        by_id = {wish.id: wish for wish in candidates}
        return tuple(by_id[each] for each in sorted(by_id))
