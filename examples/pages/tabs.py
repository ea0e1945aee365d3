"""Open pages: a tab of the game shows a match and may play in it, a tab of the ticker shows a market.

There is a match or a market for each ordering, and all of them run; a tab shows one.
"""

from collections.abc import Mapping
from secrets import token_hex
from typing import Final

import trio
from attrs import Factory, define, field

from examples.game.world import COLUMNS, HEIGHT, ROWS, SIDE, WIDTH
from examples.pages.floor import Floor
from examples.pages.match import Match, MatchSeat
from examples.pages.serving import Json, now_ms

VIEWS: Final = 4
"""Views side by side: each broker has a player there, and one of them has two."""


@define(eq=False)
class GameTab:
    """One tab: which of all matches it shows, through whose eyes, and who it plays."""

    matches: Mapping[str, Match]
    nursery: trio.Nursery
    ordering: str = field(default=Factory(lambda self: next(iter(self.matches)), takes_self=True))
    person: str = field(factory=lambda: token_hex(4))
    names: list[str] = field(factory=list)
    you: str = ""

    @property
    def match(self) -> Match:
        """The match that the tab shows."""
        return self.matches[self.ordering]

    @property
    def seat(self) -> MatchSeat | None:
        """The seat that the person has, if it still has one."""
        seat = self.match.seats.get(self.you)
        return seat if seat and seat.is_held() and seat.held_by == self.person else None

    def frame(self) -> Json:
        """Return the present state for the page."""
        names = self.names or list(self.match.seats)[:VIEWS]
        return {
            "at": now_ms(),
            "map": {"columns": COLUMNS, "rows": ROWS, "side": SIDE, "width": WIDTH, "height": HEIGHT},
            "ordering": self.ordering,
            "counts": {ordering: match.counts() for ordering, match in self.matches.items()},
            "you": self.you if self.seat else "",
            **self.match.frame(names),
        }

    async def do(self, request: Json) -> None:
        """Perform a request of the person; ignore one that has no meaning."""
        match request:
            case {"do": "show", "ordering": str(ordering)} if ordering in self.matches:
                self.close()
                self.ordering = ordering
            case {"do": "views", "names": [*names]}:
                seats = self.match.seats
                self.names = [name for name in names if isinstance(name, str) and name in seats][:VIEWS]
            case {"do": "take", "name": str(name)} if name in self.match.seats:
                self.close()
                self.you = name if self.match.seats[name].take(self.person) else ""
            case {"do": "release"}:
                self.close()
            case {"do": "step", "dx": int(dx), "dy": int(dy)} if max(abs(dx), abs(dy)) == 1:
                await self._step(dx, dy)
            case {"do": "tag"}:
                await self._tag()
            case {"do": "kill", "broker": str(broker)} if self.match.overlay.can_be_killed(broker):
                self.nursery.start_soon(self.match.overlay.restart, broker)
            case _:
                pass

    async def _step(self, dx: int, dy: int) -> None:
        if (seat := self.seat) and seat.take(self.person) and seat.player and not seat.player.is_out:
            await seat.player.move(seat.player.x + dx, seat.player.y + dy)
            await seat.player.grab()

    async def _tag(self) -> None:
        seat = self.seat
        if seat and seat.take(self.person) and seat.player and not seat.player.is_out:
            target = seat.bot.in_reach()
            if target:
                await seat.player.tag(target)

    def close(self) -> None:
        """The person has left its seat."""
        if seat := self.seat:
            seat.held_by = ""
        self.you = ""


@define(eq=False)
class TickerTab:
    """One tab, and which of all markets it shows."""

    floors: Mapping[str, Floor]
    nursery: trio.Nursery
    ordering: str = field(default=Factory(lambda self: next(iter(self.floors)), takes_self=True))

    def frame(self) -> Json:
        """Return the present state for the page."""
        return {
            "at": now_ms(),
            "ordering": self.ordering,
            "counts": {ordering: floor.counts() for ordering, floor in self.floors.items()},
            **self.floors[self.ordering].frame(),
        }

    async def do(self, request: Json) -> None:
        """Perform a request of the person; ignore one that has no meaning."""
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
