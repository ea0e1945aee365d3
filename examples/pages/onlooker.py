"""Compares the conclusions of the players of one match. It decides nothing, and no player knows of it.

A *disagreement* is an action, a grab or a tag, that was delivered to two players, and counted for one of them
and not for the other. Each action is one disagreement at most, however many players are on either side. A
player disagrees only about actions delivered to it. An action is *shared* when two players have judged it,
and a *close call* when it was too late for a player, whether the others agree or not.

A gem is *held twice* when two players have each counted their own grab of it.
"""

from collections import deque
from typing import Final

from attrs import define, field

from concord import Delivery
from examples.game.world import GameEvent

_REMEMBERED: Final = 4096
"""Actions that a player may still judge: minutes of play. Older ones are only counted."""

_CALLS_MAX: Final = 64
"""What a page may want to show."""

Action = tuple[str, int]
Gem = tuple[str, str, int, int]


@define(eq=False)
class Call:
    """An action, and what players said of it, in the order in which they did."""

    event: GameEvent
    judgements: dict[str, bool] = field(factory=dict)

    @property
    def is_disputed(self) -> bool:
        """Whether it counted for some and not for others."""
        return len(set(self.judgements.values())) > 1


@define(eq=False)
class Onlooker:
    """Counts for one match. `close_calls` has the latest last."""

    shared_count: int = 0
    disputed_count: int = 0
    taken_count: int = 0
    twice_count: int = 0
    close_calls: deque[Call] = field(factory=lambda: deque(maxlen=_CALLS_MAX))
    _calls: dict[Action, Call] = field(factory=dict)
    _owners: dict[Gem, set[str]] = field(factory=dict)

    def judged(
        self, player: str, delivery: Delivery, event: GameEvent, *, counts: bool, began: str
    ) -> Call | None:
        """A player has come to a conclusion about an event. Returns the call that is disputed since now."""
        if event.kind not in {"grab", "tag"}:
            return None
        call = self._calls.setdefault((delivery.publisher, delivery.sequence), Call(event))
        if len(self._calls) > _REMEMBERED:
            del self._calls[next(iter(self._calls))]
        if player in call.judgements:
            return None
        was_disputed, was_close = call.is_disputed, not all(call.judgements.values())
        call.judgements[player] = counts
        self.shared_count += len(call.judgements) == 2  # noqa: PLR2004 - two share
        if not counts and not was_close:
            self.close_calls.append(call)
        if counts and event.kind == "grab" and event.player == player:
            self._owned((began, event.region, event.gem, event.turn), player)
        if was_disputed or not call.is_disputed:
            return None
        self.disputed_count += 1
        return call

    def _owned(self, gem: Gem, player: str) -> None:
        owners = self._owners.setdefault(gem, set())
        if len(self._owners) > _REMEMBERED:
            del self._owners[next(iter(self._owners))]
        self.taken_count += not owners
        self.twice_count += bool(owners)
        owners.add(player)
