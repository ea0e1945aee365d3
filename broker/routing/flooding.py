"""Flooding: everything is announced to a neighbour at once, and nothing in particular.

For subscriptions: every neighbour behind which somebody publishes gets one entry for everything, which stands
for every subscription, so publications go everywhere. For advertisements: nothing is announced, and every
neighbour counts as a publisher of everything, so subscriptions go everywhere. Both entries for everything are
made by who uses the strategy: they are candidates like others, with the filter `True`.
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
"""The one candidate that comes from nobody and is announced."""


@define(eq=False)
class Everywhere:
    """The selection that announces only `EVERYTHING`, if that is a candidate."""

    announced: dict[str, RouteFilter] = Factory(dict)
    mergers: int = 0

    def add(self, route: RouteFilter) -> Change:
        """Announce it if it is everything."""
        if route != EVERYTHING or self.announced:
            return NOTHING
        self.announced[route.id] = route
        return Change(added=(route,))

    def remove(self, id: str) -> Change:  # noqa: A002 - as in the interface
        """Take it back if it is everything."""
        return NOTHING if self.announced.pop(id, None) is None else Change(removed=(id,))

    def edit(self, add: Iterable[RouteFilter], remove: Iterable[str]) -> Change:
        """Announce everything, or take it back, if it is one of these."""
        return edited(self, add, remove)

    def covers_of(self, route: RouteFilter) -> Iterable[str]:  # noqa: ARG002 - whatever it is
        """Everything stands for whatever there is."""
        return tuple(self.announced)

    def chooses_from(self, candidates: Mapping[str, RouteFilter]) -> bool:
        """Whether everything is announced if it is among these, and not otherwise; no other matters."""
        return (EVERYTHING.id in candidates) is bool(self.announced)

    def snapshot(self) -> Snapshot:
        """What has to be kept of it."""
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
        """Make a selection, or make one again."""
        return Everywhere({route.id: route for route in snapshot.announced})

    def covers_item(self, announced: Item, wanted: Item) -> bool:  # noqa: ARG002 - whatever is wanted
        """Whether announcing the first spares announcing the second."""
        return announced == EVERYTHING.item

    def reduce(self, candidates: Iterable[RouteFilter]) -> tuple[RouteFilter, ...]:
        """What to announce of these candidates: everything, if it is one of them."""
        return tuple(route for route in candidates if route == EVERYTHING)
