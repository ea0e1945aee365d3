"""The page of the ticker: a market per ordering, all open; a tab shows one of them."""

from collections.abc import Mapping

import trio
from attrs import Factory, define, field

from examples.pages.floor import Floor
from examples.pages.serving import Json, now_ms


@define(eq=False)
class TickerTab:
    """One tab, and which of all markets it shows."""

    floors: Mapping[str, Floor]
    nursery: trio.Nursery
    ordering: str = field(default=Factory(lambda self: next(iter(self.floors)), takes_self=True))

    def frame(self) -> Json:
        """What to show now."""
        return {
            "at": now_ms(),
            "ordering": self.ordering,
            "counts": {ordering: floor.counts() for ordering, floor in self.floors.items()},
            **self.floors[self.ordering].frame(),
        }

    async def do(self, request: Json) -> None:
        """The person did something; what makes no sense is left undone."""
        overlay = self.floors[self.ordering].overlay
        match request:
            case {"do": "show", "ordering": str(ordering)} if ordering in self.floors:
                self.ordering = ordering
            case {"do": "kill", "broker": str(broker)} if overlay.can_be_killed(broker):
                self.nursery.start_soon(overlay.restart, broker)
            case _:
                pass

    def close(self) -> None:
        """A tab holds nothing."""
