"""Simple routing: every candidate is announced under its own id."""

from collections.abc import Iterable, Mapping

from attrs import Factory, define, field, frozen

from broker.routing.strategy import (
    NOTHING,
    NOTHING_ANNOUNCED,
    Change,
    Item,
    Selection,
    Snapshot,
    Wish,
    edited,
)


@define(eq=False)
class Everything:
    """The selection that announces every candidate."""

    _announced: dict[str, Wish] = Factory(dict)
    mergers: int = field(default=0, init=False)

    @property
    def announced(self) -> Mapping[str, Wish]:
        """What has been announced to the neighbour, which are the candidates."""
        return self._announced

    def add(self, wish: Wish) -> Change:
        """Announce it."""
        known = self._announced.get(wish.id)
        if known == wish:
            return NOTHING
        if known is not None:
            del self._announced[wish.id]  # It goes to the end, as something newly announced.
        self._announced[wish.id] = wish
        return Change(added=(wish,), removed=() if known is None else (wish.id,))

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Take it back."""
        return NOTHING if self._announced.pop(id, None) is None else Change(removed=(id,))

    def edit(self, add: Iterable[Wish], remove: Iterable[str]) -> Change:
        """Announce and take back."""
        return edited(self, add, remove)

    def standing_for(self, wish: Wish) -> Iterable[str]:
        """Only the same wish stands for a wish."""
        return (wish.id,) if self._announced.get(wish.id) == wish else ()

    def chooses_from(self, candidates: Mapping[str, Wish]) -> bool:
        """Whether these, by id, are all that it announces."""
        return self._announced == candidates

    def snapshot(self) -> Snapshot:
        """What has to be kept of it."""
        return Snapshot(tuple(self._announced.values()))


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
        snapshot: Snapshot = NOTHING_ANNOUNCED,
        candidates: Iterable[Wish] = (),  # noqa: ARG002 - they are what was announced
    ) -> Selection:
        """Make a selection, or make one again."""
        return Everything({wish.id: wish for wish in snapshot.announced})

    def stands_for(self, announced: Item, wanted: Item) -> bool:
        """Whether announcing the first spares announcing the second: only if they also have the same id."""
        return announced == wanted

    def reduce(self, candidates: Iterable[Wish]) -> tuple[Wish, ...]:
        """What to announce of these candidates: all of them."""
        by_id = {wish.id: wish for wish in candidates}
        return tuple(by_id[each] for each in sorted(by_id))
