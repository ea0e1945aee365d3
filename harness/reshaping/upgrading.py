"""An upgrade of nine real brokers from one build to another under load, by moves and drains alone.

For each broker, from the root down: one of the new build starts below the root, takes the children of the old
one and its place, and the old one is drained. Clients of that go to other brokers, behind a gap; nobody else
notices.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from broker import Client, connect
from harness.processes import ProcessError
from harness.reshaping.load import as_row
from harness.reshaping.overlay import NINE, ReshapedOverlay, loaded

NEW: Final = "-new"
"""Behind the names of brokers of the new build."""


async def upgrade(
    old: Sequence[str], new: Sequence[str], per_second: float, report: Callable[[str], None]
) -> Mapping[str, float]:
    """Replace every broker; return the figures of the load."""
    async with loaded(old, per_second, [name + NEW for name in NINE]) as (overlay, load, _):
        for name in NINE:
            await _replace(overlay, name, new)
            report(f"{name} is replaced by {name}{NEW}")
    return as_row(load)


async def _replace(overlay: ReshapedOverlay, name: str, command: Sequence[str]) -> None:
    """Let a broker of another build take the place of one."""
    successor = name + NEW
    await overlay.start(successor, overlay.uplinks[name] or name, command)
    async with connect(overlay.servers[successor].address, name="operator", retry=True) as client:
        await _take_place(overlay, client, name, successor)


async def _take_place(overlay: ReshapedOverlay, client: Client, name: str, successor: str) -> None:
    for child in [each for each, uplink in overlay.uplinks.items() if uplink == name and each != successor]:
        if not await overlay.move(client, child, successor):
            raise ProcessError(f"{child} did not move below {successor}")
    outcome = await client.drain(name)
    if outcome["state"] != "ended":
        raise ProcessError(f"{name} did not end: {outcome['text']}")
    uplink = overlay.uplinks.pop(name)
    overlay.uplinks[successor] = uplink
    del overlay.servers[name]
