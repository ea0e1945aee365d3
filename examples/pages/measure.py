"""Measures what the pages show: disagreements a minute, and what a page with many bots costs.

python -m examples.pages.measure              # both applications for a minute, under pairwise and fifo
python -m examples.pages.measure --kill       # brokers are killed and started again meanwhile
python -m examples.pages.measure --bots 100   # frames a second and latency of the game's page, in Chromium
"""

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any, Final

import click
import trio

from examples.game.bot import PACE_S
from examples.pages.floor import Floor
from examples.pages.match import Match
from examples.pages.overlay import CITIES, DemoOverlay
from examples.pages.running import overlays
from examples.pages.serving import served
from examples.pages.tabs import GameTab

ORDERINGS: Final = ("pairwise", "fifo")
SEED: Final = 11
PLAYERS: Final = 8
DAY_S: Final = 60.0
SECONDS_BETWEEN_KILLS: Final = 14.0
BOTS_PACE_S: Final = 1.0
"""A hundred players who make a step a second each: each step is delivered to some thirty of them."""

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")

Counts = Callable[[], Mapping[str, Any]]


async def _kill_often(overlay: DemoOverlay) -> None:
    """Kill the brokers, one after the other."""
    while True:
        for city in reversed(CITIES):
            await trio.sleep(SECONDS_BETWEEN_KILLS)
            await overlay.restart(city.name)


async def _count(seconds: float, *, kill: bool) -> dict[str, list[Mapping[str, Any]]]:
    """Run both applications under both orderings, all at once."""
    counts: dict[str, list[Counts]] = {"game": [], "ticker": []}
    async with (
        overlays(ORDERINGS, ()) as games,
        overlays(ORDERINGS, ()) as markets,
        trio.open_nursery() as nursery,
    ):
        for overlay in games.values():
            match = Match.of(overlay, PLAYERS, SEED, pace_s=PACE_S)
            nursery.start_soon(match.play)
            counts["game"].append(match.counts)
        for overlay in markets.values():
            floor = Floor(overlay, (), DAY_S, SEED)
            nursery.start_soon(floor.trade)
            counts["ticker"].append(floor.counts)
        if kill:
            for overlay in (*games.values(), *markets.values()):
                nursery.start_soon(_kill_often, overlay)
        await trio.sleep(seconds)
        found = {name: [count() for count in each] for name, each in counts.items()}
        nursery.cancel_scope.cancel()
    return found


def _watch(address: str, seconds: float) -> dict[str, float]:
    """Look at the page for a while; the figures are the page's own."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only this measurement needs a browser

    found = [path for path in map(shutil.which, BROWSERS) if path]
    if not found:
        raise click.ClickException("needs Chromium: install the package chromium of your system")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        page.goto(address)
        page.wait_for_function("() => window.concord && window.concord.frame")
        page.wait_for_timeout(seconds * 1000)
        figures = {
            "frames_per_second": float(page.evaluate("concord.meter.framesPerSecond")),
            "painted_after_ms": float(page.evaluate("concord.meter.latencyMs")),
        }
        browser.close()
    return figures


async def _page(bots: int, seconds: float) -> dict[str, float]:
    """The game's page with so many bots on one overlay."""
    async with overlays(ORDERINGS[:1], ()) as found, trio.open_nursery() as nursery:
        (match,) = [Match.of(overlay, bots, SEED, pace_s=BOTS_PACE_S) for overlay in found.values()]
        nursery.start_soon(match.play)
        stage = partial(GameTab, {ORDERINGS[0]: match}, nursery)
        address = await nursery.start(partial(served, "game", stage, 0))
        figures = await trio.to_thread.run_sync(_watch, address, seconds, abandon_on_cancel=True)
        latencies_ms = [1000 * each for seat in match.seats.values() for each in seat.latencies_s]
        figures["delivered_after_ms"] = round(median(latencies_ms), 1)
        figures["shared"] = match.onlooker.shared_count
        figures["disputed"] = match.onlooker.disputed_count
        nursery.cancel_scope.cancel()
    return figures


@click.command(epilog="Example: python -m examples.pages.measure --seconds 60")
@click.option("--seconds", default=60.0, show_default=True, help="How long to look.")
@click.option("--kill", is_flag=True, help="Kill brokers meanwhile, and start them again.")
@click.option(
    "--bots", type=click.IntRange(4, 200), help="Measure the game's page with so many bots instead."
)
def command(seconds: float, *, kill: bool, bots: int | None) -> None:
    """Print what was counted, one JSON object a line."""
    if bots:
        click.echo(json.dumps({"bots": bots, **trio.run(_page, bots, seconds)}))
        return
    for name, counts in trio.run(partial(_count, seconds, kill=kill)).items():
        for each in counts:
            click.echo(json.dumps({"application": name, "seconds": seconds, **each}))


if __name__ == "__main__":
    command()
