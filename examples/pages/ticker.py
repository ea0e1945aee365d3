"""The page of the ticker: a market per ordering, all open; a tab shows one of them."""

from collections.abc import Mapping

import trio
from attrs import define

from examples.pages.floor import Floor
from examples.pages.serving import Json, now_ms


@define(eq=False)
class TickerStage:
    """What all tabs share."""

    floors: Mapping[str, Floor]
    nursery: trio.Nursery

    def open(self) -> "TickerTab":
        """A new tab."""
        return TickerTab(self, next(iter(self.floors)))


@define(eq=False)
class TickerTab:
    """One tab, and which market it shows."""

    stage: TickerStage
    ordering: str

    def frame(self) -> Json:
        """What to show now."""
        return {
            "at": now_ms(),
            "ordering": self.ordering,
            "counts": {ordering: floor.counts() for ordering, floor in self.stage.floors.items()},
            **self.stage.floors[self.ordering].frame(),
        }

    async def do(self, request: Json) -> None:
        """The person did something; what makes no sense is left undone."""
        overlay = self.stage.floors[self.ordering].overlay
        match request:
            case {"do": "show", "ordering": str(ordering)} if ordering in self.stage.floors:
                self.ordering = ordering
            case {"do": "kill", "broker": str(broker)} if overlay.can_be_killed(broker):
                self.stage.nursery.start_soon(overlay.restart, broker)
            case _:
                pass

    def close(self) -> None:
        """A tab holds nothing."""
