"""Who has lost its connection, and until when it is waited for.

Law: what is given up is given up by a call from here, between steps of everything else. Time decides nothing
else: whether somebody is away, and since when, is told by the connections.
"""

from collections.abc import Callable
from math import inf
from typing import Protocol

import trio
from attrs import define, field

__all__ = ["Absences", "Absent"]


class Absent(Protocol):
    """Something without a connection that may be given one again."""

    def give_up(self) -> None:
        """Nobody came in time."""
        ...


@define(eq=False)
class Absences:
    """Everybody who is waited for; `settle` carries out what follows from giving somebody up."""

    _settle: Callable[[], None]
    _deadlines_s: dict[Absent, float] = field(factory=dict, init=False)
    _wakes_at_s: float = field(default=inf, init=False)
    _sooner: trio.Event = field(factory=trio.Event, init=False)

    def left(self, who: Absent, until_s: float) -> None:
        """Wait for somebody until then."""
        self._deadlines_s[who] = until_s
        if until_s < self._wakes_at_s:
            self._sooner.set()

    def came(self, who: Absent) -> None:
        """Wait no longer: it is back, or not wanted any more."""
        self._deadlines_s.pop(who, None)

    def __len__(self) -> int:
        return len(self._deadlines_s)

    async def run(self) -> None:
        """Give up whoever is overdue, for ever."""
        while True:
            self._sooner = trio.Event()
            self._give_up_overdue(trio.current_time())
            self._wakes_at_s = min(self._deadlines_s.values(), default=inf)
            with trio.move_on_at(self._wakes_at_s):
                await self._sooner.wait()

    def _give_up_overdue(self, now_s: float) -> None:
        overdue = [who for who, until_s in self._deadlines_s.items() if until_s <= now_s]
        for who in overdue:
            # Whoever was given up before may have taken this one along.
            if self._deadlines_s.pop(who, None) is not None:
                who.give_up()
        if overdue:
            self._settle()
