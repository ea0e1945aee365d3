"""A player: publishes its actions, and computes the state of the game from its deliveries. No server does.

When it moves on, it subscribes to the new sight before it leaves the old one, and publishes a mark that both
deliver: the old one counts up to the mark, the new one from there. It asks for the state of a new region with
a `watch`; the longest watcher answers with the state at that position; later events are applied to that.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Any, Final, cast

import trio
from attrs import asdict, define, field

from concord import Client, Delivery, GapError, Publisher, connect
from examples.game.world import GEMS, HEIGHT, WIDTH, GameEvent, Region, interest, region_at, sight

ATTEMPTS: Final = 2  # to get an answer; then no player knows the region, and it begins anew for all
ANSWER_TIMEOUT_S: Final = 1.5  # several times the way through an overlay
SETTLE_S: Final = 2.0  # a restarted broker takes clients before it has its uplink again


@define(eq=False)
class GameQuestion:
    """A question about a region: the event `place` asks it; `since` has the deliveries after that event."""

    place: str
    since: list[tuple[Delivery, GameEvent]] | None = None
    answered: trio.Event = field(factory=trio.Event)


@define(eq=False)
class Player:
    """One player. `regions` are those it knows; it is at `x` and `y`, unless it is out."""

    name: str
    client: Client
    publisher: Publisher
    judged: Callable[[Delivery, GameEvent, bool], None]  # called with each applied event: has it counted?
    x: int
    y: int
    is_out: bool = True
    attempts: int = ATTEMPTS
    regions: dict[str, Region] = field(factory=dict)
    _questions: dict[str, GameQuestion] = field(factory=dict)
    _until: str = ""  # the mark at which the present subscription ends
    _moved: trio.Event = field(factory=trio.Event)

    async def play(self) -> None:
        """Follow the regions in sight. After a gap the state is unknown, so the player asks for all anew."""
        while True:
            self.regions, self._questions = {}, {}
            try:
                async with trio.open_nursery() as nursery:
                    await self._look_around(nursery)
            except* GapError:
                await trio.sleep(SETTLE_S)

    async def _look_around(self, nursery: trio.Nursery) -> None:
        old, over = frozenset[str](), trio.Event()
        over.set()
        while True:
            self._moved = trio.Event()
            if (new := sight(region_at(self.x, self.y))) != old:
                over = await nursery.start(self._see, old, new, over)
                for name in sorted(new - old):
                    nursery.start_soon(self._learn, name)
            old = new
            await self._moved.wait()

    async def _see(
        self,
        old: frozenset[str],
        new: frozenset[str],
        over: trio.Event,
        task_status: trio.TaskStatus[trio.Event],
    ) -> None:
        """Take the deliveries of one subscription, from its own mark to that of the next one."""
        mark, ended, is_on = token_hex(4), trio.Event(), False
        async with self.client.subscribe(interest(new, self.name)) as deliveries:
            for name in sorted(old - new):
                await self._say("leave", region=name)
            self._until = mark
            await self._say("mark", to=self.name, place=mark)
            await over.wait()
            for name in old - new:
                self.regions.pop(name, None)
                self._end_question(name)
            task_status.started(ended)
            async for delivery in deliveries:
                event = GameEvent(**cast("dict[str, Any]", delivery.attributes))
                if event.place == mark:
                    is_on = True
                elif is_on and event.place == self._until:
                    break
                elif is_on:
                    await self._take(delivery, event, sorted({event.region, event.into} & new))
        ended.set()

    async def _learn(self, name: str) -> None:
        """Ask for the state of a region until a watcher answers; if none does, begin it anew."""
        for attempt in range(self.attempts):
            if name in self.regions:
                return
            self._questions[name] = question = GameQuestion(token_hex(4))
            await self._say("watch", region=name, place=question.place, attempt=attempt)
            with trio.move_on_after(ANSWER_TIMEOUT_S):
                await question.answered.wait()
                return
        if name not in self.regions:
            await self._say("begin", region=name, place=token_hex(4))

    async def _take(self, delivery: Delivery, event: GameEvent, names: list[str]) -> None:
        if event.kind == "answer":
            self._take_answer(event, json.loads(delivery.payload))
        for name in names:
            question = self._questions.get(name)
            if event.kind == "begin":
                self._know(Region(name, event.place, watchers=[event.player]))
                await self._say("watch", region=name)
            elif name in self.regions:
                self._apply(delivery, event, self.regions[name])
                if event.kind == "watch" and event.attempt >= 0:
                    await self._answer_watch(event, self.regions[name])
            elif question and question.place == event.place:
                question.since = []
            elif question and question.since is not None:
                question.since.append((delivery, event))

    def _take_answer(self, event: GameEvent, state: dict[str, Any]) -> None:
        """Take the state at the position of our question, and apply the events delivered since."""
        question = self._questions.get((region := Region(**state)).name)
        if question and question.place == event.place and question.since is not None:
            self._know(region)
            for delivery, later in question.since:
                self._apply(delivery, later, region)

    def _know(self, region: Region) -> None:
        self.regions[region.name] = region
        self._end_question(region.name)

    def _end_question(self, name: str) -> None:
        """End the question about a region: it is known, or out of sight."""
        if question := self._questions.pop(name, None):
            question.answered.set()

    def _apply(self, delivery: Delivery, event: GameEvent, region: Region) -> None:
        counts = region.apply(event)
        self.is_out |= counts and event.kind == "tag" and event.target == self.name
        self.judged(delivery, event, counts)

    async def _answer_watch(self, event: GameEvent, region: Region) -> None:
        if region.watchers[0] == self.name != event.player:
            await self._say("answer", json.dumps(asdict(region)), to=event.player, place=event.place)

    async def _say(self, kind: str, payload: str = "", **attributes: Any) -> None:
        event = GameEvent(kind=kind, player=self.name, **attributes)
        await self.publisher.publish(event.attributes(), payload.encode())

    async def move(self, x: int, y: int) -> bool:
        """Move to a cell, if its region is known; a player who is out comes in. Return whether it moved."""
        old, new = "" if self.is_out else region_at(self.x, self.y), ""
        if not (0 <= x < WIDTH and 0 <= y < HEIGHT) or (new := region_at(x, y)) not in self.regions:
            return False
        self.x, self.y, self.is_out = x, y, False
        await self._say("move", region=old or new, into="" if old == new else new, x=x, y=y)
        self._moved.set()
        return True

    async def grab(self) -> None:
        """Take the gems that lie here."""
        region = self.regions.get(region_at(self.x, self.y))
        for gem in range(GEMS):
            if region and not self.is_out and region.cell(gem) == (self.x, self.y):
                await self._say(
                    "grab", region=region.name, gem=gem, turn=region.taken[gem], x=self.x, y=self.y
                )

    async def tag(self, target: str) -> None:
        """Touch another player, who has to be within reach when it is this event's turn."""
        await self._say("tag", region=region_at(self.x, self.y), target=target, x=self.x, y=self.y)

    async def leave(self) -> None:
        """Leave every region."""
        for name in sorted(self.regions):
            await self._say("leave", region=name)


@asynccontextmanager
async def join(
    broker: str, name: str, x: int, y: int, judged: Callable[[Delivery, GameEvent, bool], None]
) -> AsyncIterator[Player]:
    """Connect a player who is to come in at a cell: call `play` to follow the game, `move` to come in."""
    async with connect(broker, name=name) as client, client.advertise(f"player == {name!r}") as publisher:
        player = Player(name, client, publisher, judged, x, y)
        yield player
        await player.leave()
