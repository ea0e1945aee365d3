"""Flooding: one route for everything is announced to a neighbour instead of every single route.

For subscriptions: every neighbour behind which there is a publisher gets one entry for everything, which
covers every subscription, so publications go everywhere. For advertisements: nothing is announced, and every
neighbour counts as a publisher of everything, so subscriptions go everywhere. The caller of the strategy adds
both entries for everything: they are candidates like others, with the filter `True`.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import Factory, define, frozen

from broker.filters import parse
from broker.routing.strategy import (
    NOTHING,
    NOTHING_ANNOUNCED,
    Change,
    Item,
    RouteFilter,
    Selection,
    Snapshot,
    edited,
)

EVERYTHING: Final = RouteFilter("*", parse("True"))
"""The only candidate that is announced; it belongs to no client."""


@define(eq=False)
class Everywhere:
    """The selection that announces only `EVERYTHING`, if that is a candidate."""

    announced: dict[str, RouteFilter] = Factory(dict)
    mergers: int = 0

    def add(self, route: RouteFilter) -> Change:
        """Announce the candidate if it is `EVERYTHING`."""
        if route != EVERYTHING or self.announced:
            return NOTHING
        self.announced[route.id] = route
        return Change(added=(route,))

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Withdraw the candidate if it is `EVERYTHING`."""
        return NOTHING if self.announced.pop(id, None) is None else Change(removed=(id,))

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Announce or withdraw `EVERYTHING`, if it is one of these."""
        return edited(self, add, remove)

    def covers_of(self, route: RouteFilter) -> Iterable[str]:  # noqa: ARG002 - every route alike
        """Return the id of `EVERYTHING` if it is announced: it covers every route."""
        return tuple(self.announced)

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Return whether `EVERYTHING` is announced exactly if it is among these candidates."""
        return (EVERYTHING.id in candidates) is bool(self.announced)

    def snapshot(self) -> Snapshot:
        """Return the announced routes."""
        return Snapshot(tuple(self.announced.values()))


@frozen
class Flooding:
    """See the module."""

    name: str = "flooding"
    floods: bool = True
    is_exact: bool = False
    unites: bool = False
    is_perfect: bool = False

    def selection(
        self,
        snapshot: Snapshot = NOTHING_ANNOUNCED,
        candidates: Iterable[RouteFilter] = (),  # noqa: ARG002 - what is announced is the only one that matters
    ) -> Selection:
        """Make a selection, or restore one."""
        return Everywhere({route.id: route for route in snapshot.announced})

    def covers_item(self, announced: Item, wanted: Item) -> bool:  # noqa: ARG002 - any item
        """Return whether announcing the first makes announcing the second unnecessary."""
        return announced == EVERYTHING.item

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """Return `EVERYTHING`, if it is one of these candidates."""
        return tuple(route for route in candidates if route == EVERYTHING)
