"""One match of the game on one overlay: seats with players in them, bots where nobody plays, and an onlooker.

What a page is shown of it is `Match.frame`: what the chosen players know, as they know it, and where they
differ.
"""

import time
from collections import deque
from random import Random
from statistics import median
from typing import Final

import trio
from attrs import define, field

from concord import ConcordError, Delivery
from examples.game.bot import PACE_S, Bot
from examples.game.player import ATTEMPTS, Player, join
from examples.game.world import GEMS, HEIGHT, WIDTH, GameEvent
from examples.pages.onlooker import Call, Onlooker
from examples.pages.overlay import DemoOverlay

NAMES: Final = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
TAG_POINTS: Final = 3
GEM_POINTS: Final = 1

MARK_S: Final = 5.0
"""How long a view marks the place of a disagreement: long enough to be looked at, and then gone."""

CALLS_SHOWN: Final = 8

IDLE_S: Final = 30.0
"""A person who does nothing for so long has left the seat to its bot."""

_LATENCIES_MAX: Final = 64

Json = dict[str, object]


@define(eq=False)
class MatchSeat:
    """A player, where it is connected, and who plays it."""

    name: str
    city: str
    random: Random
    player: Player | None = None
    score: int = 0
    is_connected: bool = False
    held_by: str = ""
    held_at_s: float = 0.0
    latencies_s: deque[float] = field(factory=lambda: deque(maxlen=_LATENCIES_MAX))

    def is_held(self) -> bool:
        """Whether a person plays."""
        return bool(self.held_by) and time.monotonic() - self.held_at_s < IDLE_S

    def take(self, person: str) -> bool:
        """A person wants to play, and may, unless another one does."""
        if self.is_held() and self.held_by != person:
            return False
        self.held_by, self.held_at_s = person, time.monotonic()
        return True

    @property
    def bot(self) -> Bot:
        """A bot that plays for the player of this seat."""
        assert self.player is not None
        return Bot(self.player, self.random)


@define(eq=False)
class Match:
    """The players of one overlay."""

    overlay: DemoOverlay
    seats: dict[str, MatchSeat]
    onlooker: Onlooker = field(factory=Onlooker)
    pace_s: float = PACE_S
    has_bots: bool = True
    began_s: float = field(factory=time.monotonic)
    _marks: deque[tuple[float, Call]] = field(factory=deque)

    @classmethod
    def of(
        cls, overlay: DemoOverlay, count: int, seed: int, *, pace_s: float = PACE_S, has_bots: bool = True
    ) -> "Match":
        """Return seats for so many players, spread over the overlay's brokers."""
        cities = list(overlay.addresses)
        names = [NAMES[i] if i < len(NAMES) else f"P{i + 1}" for i in range(count)]
        seats = {
            name: MatchSeat(name, cities[i % len(cities)], Random(f"{seed}/{name}"))  # noqa: S311 - a game
            for i, name in enumerate(names)
        }
        return cls(overlay, seats, pace_s=pace_s, has_bots=has_bots)

    async def play(self) -> None:
        """Run every player until cancelled."""
        async with trio.open_nursery() as nursery:
            for seat in self.seats.values():
                nursery.start_soon(self._sit, seat)

    async def _sit(self, seat: MatchSeat) -> None:
        """Keep a player in the game; one whose client has failed for good comes in again."""
        while True:
            try:
                await self._join(seat)
            except* ConcordError:
                seat.is_connected = False
                await trio.sleep(self.pace_s)

    async def _join(self, seat: MatchSeat) -> None:
        def judged(delivery: Delivery, event: GameEvent, counts: bool) -> None:  # noqa: FBT001 - as players call it
            self._judged(seat, delivery, event, counts=counts)

        x, y = seat.random.randrange(WIDTH), seat.random.randrange(HEIGHT)
        address = self.overlay.addresses[seat.city]
        async with join(address, seat.name, x, y, judged) as player, trio.open_nursery() as nursery:
            # On brokers of our own there is nobody to ask at first; on those of others there may be a game.
            player.attempts = 0 if self.overlay.ordering else ATTEMPTS
            seat.player = player
            nursery.start_soon(player.play)
            nursery.start_soon(self._attend, seat, player)

    async def _attend(self, seat: MatchSeat, player: Player) -> None:
        """Step by step: bring in who is out, and let the bot play where no person does."""
        while True:
            await trio.sleep(self.pace_s * seat.random.uniform(0.7, 1.3))
            seat.is_connected = player.client.state == "connected"
            if player.is_out:
                await seat.bot.come_in()
                player.attempts = ATTEMPTS
            elif self.has_bots and not seat.is_held():
                await seat.bot.step()

    def _judged(self, seat: MatchSeat, delivery: Delivery, event: GameEvent, *, counts: bool) -> None:
        seat.latencies_s.append(time.time() - delivery.published_at)
        assert seat.player is not None
        region = seat.player.regions.get(event.region)
        began = region.began if region else ""
        disputed = self.onlooker.judged(seat.name, delivery, event, counts=counts, began=began)
        if disputed:
            self._marks.append((time.monotonic(), disputed))
        if counts and event.player == seat.name:
            seat.score += {"grab": GEM_POINTS, "tag": TAG_POINTS}.get(event.kind, 0)

    def counts(self) -> Json:
        """The figures of the match."""
        found, minutes = self.onlooker, max(time.monotonic() - self.began_s, 1.0) / 60
        return {
            "ordering": self.overlay.ordering,
            "shared": found.shared_count,
            "disputed": found.disputed_count,
            "taken": found.taken_count,
            "twice": found.twice_count,
            "perMinute": round(found.disputed_count / minutes, 1),
        }

    def frame(self, names: list[str]) -> Json:
        """Return what these players know, and the figures shown beside it."""
        while self._marks and time.monotonic() - self._marks[0][0] > MARK_S:
            self._marks.popleft()
        calls = list(self.onlooker.close_calls)[-CALLS_SHOWN:]
        seats = [self.seats[name] for name in names if name in self.seats]
        return {
            "views": [self._view(seat) for seat in seats],
            "board": {seat.name: seat.score for seat in self.seats.values()},
            "calls": [_call(call) for call in reversed(calls)],
            "brokers": self.overlay.shown(),
            "ports": self.overlay.ports,
        }

    def _view(self, seat: MatchSeat) -> Json:
        player = seat.player
        regions = {} if player is None else player.regions
        marks = [
            {"x": call.event.x, "y": call.event.y, "counts": call.judgements[seat.name]}
            for _, call in self._marks
            if seat.name in call.judgements
        ]
        return {
            "name": seat.name,
            "city": seat.city,
            "connected": seat.is_connected,
            "person": seat.held_by if seat.is_held() else "",
            "out": player is None or player.is_out,
            "score": seat.score,
            "latencyMs": round(1000 * median(seat.latencies_s)) if seat.latencies_s else 0,
            "regions": {
                name: [
                    [region.cell(gem) for gem in range(GEMS)],
                    [[who, *at] for who, at in sorted(region.players.items())],
                ]
                for name, region in sorted(regions.items())
            },
            "marks": marks,
        }


def _call(call: Call) -> Json:
    event = call.event
    return {
        "kind": event.kind,
        "who": event.player,
        "target": event.target,
        "region": event.region,
        "disputed": call.is_disputed,
        "yes": [name for name, counts in call.judgements.items() if counts],
        "no": [name for name, counts in call.judgements.items() if not counts],
    }
