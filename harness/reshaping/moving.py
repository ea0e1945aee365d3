"""A random move every so often on nine real brokers under load, beside a quiet run of the same length."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import trio

from broker import Client
from harness.reshaping.load import as_row
from harness.reshaping.overlay import ReshapedOverlay, loaded


async def run(
    command: Sequence[str], seconds: float, every_s: float | None, per_second: float, seed: int
) -> Mapping[str, float]:
    """Let brokers move for so long, or nobody if `every_s` is None; return the figures."""
    random, counts = Random(seed), Counter[str]()  # noqa: S311 - repeatable, not secret
    async with loaded(command, per_second) as (overlay, load, client), trio.open_nursery() as nursery:
        with trio.move_on_after(seconds):
            while True:
                await trio.sleep(every_s or seconds)
                nursery.start_soon(_move, overlay, client, random, counts)
        await load.settle()
    return {"moved": counts["moved"], "refused": counts["refused"], **as_row(load)}


async def _move(overlay: ReshapedOverlay, client: Client, random: Random, counts: Counter[str]) -> None:
    """Move a broker below one that is not below it."""
    name = random.choice([each for each, uplink in overlay.uplinks.items() if uplink])
    others = sorted(set(overlay.uplinks) - overlay.below(name) - {overlay.uplinks[name]})
    if others:
        is_moved = await overlay.move(client, name, random.choice(others))
        counts["moved" if is_moved else "refused"] += 1
