"""A bot: goes for gems, tags who is near, and now and then does neither. Plays where people do not.

    python -m examples.game.bot --broker 127.0.0.1:7411 --name zoe

joins a game that runs, from a shell, and says what it gets.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import click
import trio
from attrs import define

from concord import Delivery
from examples.game.player import Player, join
from examples.game.world import GEMS, HEIGHT, WIDTH, GameEvent, region_at

PACE_S: Final = 0.3
"""Between two steps: three a second, as a person plays who does not hurry."""

REST_S: Final = 1.5
"""A tagged player comes in again after this time."""

TAG_SHARE: Final = 0.5
WHIM_SHARE: Final = 0.12
"""How often a bot tags a player in reach, and how often it makes a step at random."""


@define(eq=False)
class Bot:
    """Plays for a player, one step at a time; all choices are drawn from `random`."""

    player: Player
    random: Random
    pace_s: float = PACE_S

    async def play(self) -> None:
        """Play for ever."""
        while True:
            await trio.sleep(self.pace_s * self.random.uniform(0.7, 1.3))
            await self.step()

    async def step(self) -> None:
        """Come in, tag a player, or move and grab."""
        if self.player.is_out:
            await self.come_in()
        elif (target := self.in_reach()) and self.random.random() < TAG_SHARE:
            await self.player.tag(target)
        else:
            await self.player.move(*self._next_cell())
            await self.player.grab()

    async def come_in(self) -> None:
        """Appear somewhere in sight; after a tag, somewhere else and not at once."""
        if region_at(self.player.x, self.player.y) in self.player.regions:
            await trio.sleep(REST_S * self.pace_s / PACE_S)
            region = self.player.regions[self.random.choice(sorted(self.player.regions))]
            await self.player.move(*region.cell(self.random.randrange(GEMS)))

    def in_reach(self) -> str | None:
        """Return the name of a player who can be tagged from here, if there is one."""
        region = self.player.regions.get(region_at(self.player.x, self.player.y))
        others = sorted(region.players.items()) if region else []
        near = [name for name, at in others if name != self.player.name and self._distance(at[0], at[1]) <= 1]
        return self.random.choice(near) if near else None

    def _distance(self, x: int, y: int) -> int:
        return max(abs(x - self.player.x), abs(y - self.player.y))

    def _next_cell(self) -> tuple[int, int]:
        """Return the next cell towards the nearest gem in sight, or at times a random neighbour."""
        player, random = self.player, self.random
        gems = [region.cell(gem) for region in player.regions.values() for gem in range(GEMS)]
        if not gems or random.random() < WHIM_SHARE:
            return player.x + random.randint(-1, 1), player.y + random.randint(-1, 1)
        x, y = min(gems, key=lambda gem: self._distance(*gem) + random.random())
        return player.x + _sign(x - player.x), player.y + _sign(y - player.y)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _printing(name: str) -> Callable[[Delivery, GameEvent, bool], None]:
    def judged(_: Delivery, event: GameEvent, counts: bool) -> None:  # noqa: FBT001 - as players call it
        if event.player == name and event.kind in ("grab", "tag"):
            what = f"{event.kind:<5}{event.target:<8}in {event.region}"
            click.echo(f"{what}  {'counts' if counts else 'was too late'}")

    return judged


async def _play(broker: str, name: str, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a game
    x, y = random.randrange(WIDTH), random.randrange(HEIGHT)
    async with join(broker, name, x, y, _printing(name)) as player, trio.open_nursery() as nursery:
        nursery.start_soon(player.play)
        nursery.start_soon(Bot(player, random).play)


@click.command(epilog="Example: python -m examples.game.bot --broker 127.0.0.1:7411 --name zoe")
@click.option("--broker", required=True, metavar="HOST:PORT", help="Any broker of the overlay.")
@click.option("--name", default="zoe", show_default=True, help="Of the player; unique in the game.")
@click.option("--seed", default=0, show_default=True, help="What the bot's choices are drawn from.")
def command(broker: str, name: str, seed: int) -> None:
    """Let a bot join a game that runs, until Ctrl-C."""
    trio.run(_play, broker, name, seed)


if __name__ == "__main__":
    command()
