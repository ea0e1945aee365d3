"""Players on real brokers without distances: what they know, and that they know the same."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from attrs import define, field

from broker import Delivery
from examples.game.player import Player, join
from examples.game.world import SIDE, GameEvent, region_at, sight
from harness.overlay import start_brokers
from harness.processes import start_server


@define
class Watcher:
    """Lets a test wait until something is so, looking whenever a player has applied an event."""

    judgements: list[tuple[str, GameEvent, bool]] = field(factory=list)
    changed: trio.Event = field(factory=trio.Event)

    def judge(self, name: str) -> "Judge":
        return Judge(self, name)


@define
class Judge:
    watcher: Watcher
    name: str

    def __call__(self, _: Delivery, event: GameEvent, counts: bool) -> None:  # noqa: FBT001 - as players call it
        self.watcher.judgements.append((self.name, event, counts))
        changed, self.watcher.changed = self.watcher.changed, trio.Event()
        changed.set()


@define
class Table:
    """Two brokers, and players at them."""

    nursery: trio.Nursery
    addresses: list[str]
    watcher: Watcher = field(factory=Watcher)

    async def seat(self, name: str, x: int, y: int, *, broker: int = 0, attempts: int = 2) -> Player:
        player: Player = await self.nursery.start(self._sit, self.addresses[broker], name, x, y)
        player.attempts = attempts
        self.nursery.start_soon(player.play)
        while not sight(region_at(x, y)) <= player.regions.keys():
            await self.look()
        await player.move(x, y)
        return player

    async def _sit(
        self, address: str, name: str, x: int, y: int, task_status: trio.TaskStatus[Player]
    ) -> None:
        async with join(address, name, x, y, self.watcher.judge(name)) as player:
            task_status.started(player)
            await trio.sleep_forever()

    async def look(self) -> None:
        """Wait for the next event that is applied, or a moment: an answer is not applied."""
        with trio.move_on_after(0.02):
            await self.watcher.changed.wait()

    async def verdicts(self, kind: str, count: int) -> list[tuple[str, str, bool]]:
        """Who judged whose action, and how."""
        while len(found := [each for each in self.watcher.judgements if each[1].kind == kind]) < count:
            await self.look()
        return sorted((viewer, event.player, counts) for viewer, event, counts in found)


@asynccontextmanager
async def table() -> AsyncIterator[Table]:
    async with trio.open_nursery() as nursery:
        servers = await start_brokers(nursery, {"B1": None, "B2": "B1"})
        async with trio.open_nursery() as players:
            yield Table(players, [server.address for server in servers.values()])
            players.cancel_scope.cancel()
        nursery.cancel_scope.cancel()


async def test_a_newcomer_gets_the_state_and_two_who_grab_a_gem_agree() -> None:
    async with table() as here:
        ada = await here.seat("Ada", 5, 5, attempts=0)
        ben = await here.seat("Ben", 6, 5, broker=1)
        while {"Ada", "Ben"} != ben.regions["b2"].players.keys() or ben.regions["b2"] != ada.regions["b2"]:
            await here.look()
        gem = ada.regions["b2"].cell(0)
        for player in (ada, ben):
            await player.move(*gem)
        for player in (ada, ben):
            await player.grab()
        verdicts = await here.verdicts("grab", 4)
        by_viewer = {name: [each[1:] for each in verdicts if each[0] == name] for name in ("Ada", "Ben")}
        assert by_viewer["Ada"] == by_viewer["Ben"]
        assert sorted(counts for _, counts in by_viewer["Ada"]) == [False, True]


async def test_who_walks_on_sees_what_is_new_and_forgets_what_is_not_in_sight() -> None:
    async with table() as here:
        ada = await here.seat("Ada", 5, 5, attempts=0)
        for x in range(6, 2 * SIDE + 1):
            assert await ada.move(x, 5)
        while ada.regions.keys() != sight("c2"):
            await here.look()
        while ada.regions["c2"].players != {"Ada": [2 * SIDE, 5]}:
            await here.look()
        assert ada.regions["b2"].players == {}


async def test_nobody_goes_where_nothing_is_known() -> None:
    async with table() as here:
        ada = await here.seat("Ada", 5, 5, attempts=0)
        assert not await ada.move(4 * SIDE, 5)
        assert not await ada.move(-1, 5)


async def test_a_region_that_nobody_remembers_begins_anew() -> None:
    async with table() as here:
        ada = await here.seat("Ada", 5, 5, attempts=0)
        before = ada.regions["b2"].began
        ben = await here.seat("Ben", 5, 5, attempts=0, broker=1)
        while ada.regions["b2"] != ben.regions["b2"]:
            await here.look()
        assert ada.regions["b2"].began != before


async def test_after_a_gap_everything_is_asked_anew() -> None:
    arguments = ("broker", "--name", "B1", "--listen")
    async with trio.open_nursery() as nursery, trio.open_nursery() as players:
        first = await start_server(nursery, "broker B1", "broker", (*arguments, "127.0.0.1:0"))
        here = Table(players, [first.address])
        ada = await here.seat("Ada", 5, 5, attempts=0)
        before = ada.regions["b2"].began
        first.program.process.kill()
        await first.program.process.wait()
        # It restarts at its address without a memory: no player knows the state any more.
        await start_server(nursery, "broker B1", "broker", (*arguments, first.address))
        while "b2" not in ada.regions or ada.regions["b2"].began == before:
            await here.look()
        assert ada.regions.keys() == sight("b2")
        players.cancel_scope.cancel()
        nursery.cancel_scope.cancel()
