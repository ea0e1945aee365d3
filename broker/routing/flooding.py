"""Flooding: nothing is told, since every link has a built-in entry for everything.

For subscriptions: every publication goes everywhere. For advertisements: every neighbour counts as a
publisher of everything, so subscriptions go everywhere.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from broker.routing.strategy import NOTHING, NOTHING_TOLD, Change, Item, Picture, Selection, Wish

NO_WISHES: Final[Mapping[str, Wish]] = MappingProxyType({})


@frozen
class Silence:
    """The selection that tells nothing."""

    told: Mapping[str, Wish] = NO_WISHES
    mergers: int = 0

    def add(self, wish: Wish) -> Change:  # noqa: ARG002 - whatever comes
        """Tell nothing."""
        return NOTHING

    def remove(self, id: str) -> Change:  # noqa: A002, ARG002 - whatever goes
        """Tell nothing."""
        return NOTHING

    def standing_for(self, wish: Wish) -> Iterable[str]:  # noqa: ARG002 - the built-in entry has no id
        """The built-in entry stands for everything, and has no id."""
        return ()

    def picture(self) -> Picture:
        """There is nothing to keep."""
        return NOTHING_TOLD


@frozen
class Flooding:
    """See the module."""

    name: str = "flooding"
    floods: bool = True

    def selection(
        self,
        picture: Picture = NOTHING_TOLD,  # noqa: ARG002 - it is always empty
        candidates: Iterable[Wish] = (),  # noqa: ARG002 - none matters
        *,
        label: str = "",  # noqa: ARG002 - there are no mergers
    ) -> Selection:
        """Make a selection, which has no state."""
        return Silence()

    def stands_for(self, told: Item, wanted: Item) -> bool:  # noqa: ARG002 - nothing is told
        """Whether telling the first spares telling the second: there is no telling."""
        return False

    def reduce(self, candidates: Iterable[Wish]) -> tuple[Wish, ...]:  # noqa: ARG002 - none matters
        """What to tell of these candidates: nothing."""
        return ()
