"""From overlays to a page: starts the brokers, lets the program play on each, and serves what it does."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from examples.game.bot import PACE_S
from examples.pages.floor import Floor
from examples.pages.match import Match
from examples.pages.overlay import DemoOverlay, existing, started
from examples.pages.serving import Stage, check_free, served
from examples.pages.tabs import GameTab, TickerTab
from examples.ticker.day import read

EXISTING: Final = "as started"
"""What the ordering of an overlay is called that others have started."""

SEED: Final = 7


@asynccontextmanager
async def overlays(
    orderings: tuple[str, ...], addresses: tuple[str, ...]
) -> AsyncIterator[dict[str, DemoOverlay]]:
    """An overlay for each ordering; or the one that runs already."""
    found: dict[str, DemoOverlay] = {}

    async def keep(ordering: str, task_status: trio.TaskStatus[None]) -> None:
        async with started(ordering) as overlay:
            found[ordering] = overlay
            task_status.started()
            await trio.sleep_forever()

    if addresses:
        yield {EXISTING: existing(addresses)}
        return
    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as starting:
            for ordering in orderings:
                starting.start_soon(nursery.start, keep, ordering)
        yield {ordering: found[ordering] for ordering in orderings}
        nursery.cancel_scope.cancel()


async def perform(
    page: str,
    port: int,
    orderings: tuple[str, ...],
    addresses: tuple[str, ...],
    announce: Callable[[str], None],
    **options: Any,
) -> None:
    """Run a demo until cancelled."""
    check_free(port)
    async with overlays(orderings, addresses) as found, trio.open_nursery() as nursery:
        stage = STAGES[page](found, nursery, **options)
        address = await nursery.start(partial(served, page, stage, port))
        announce(address)


def _game(
    found: dict[str, DemoOverlay],
    nursery: trio.Nursery,
    players: int = 8,
    pace_s: float = PACE_S,
    *,
    has_bots: bool = True,
) -> Stage:
    matches = {
        ordering: Match.of(overlay, players, SEED, pace_s=pace_s, has_bots=has_bots)
        for ordering, overlay in found.items()
    }
    for match in matches.values():
        nursery.start_soon(match.play)
    return partial(GameTab, matches, nursery)


def _ticker(
    found: dict[str, DemoOverlay], nursery: trio.Nursery, csv: str | None = None, day_s: float = 60.0
) -> Stage:
    day = read(Path(csv)) if csv else ()
    floors = {ordering: Floor(overlay, day, day_s, SEED) for ordering, overlay in found.items()}
    for floor in floors.values():
        nursery.start_soon(floor.trade)
    return partial(TickerTab, floors, nursery)


STAGES: Final[dict[str, Callable[..., Stage]]] = {"game": _game, "ticker": _ticker}
