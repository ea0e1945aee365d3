"""Trees of brokers by their uplinks, and how simulated brokers join them."""

from collections.abc import Mapping

from harness.simulator.world import World


def ancestry(name: str, uplinks: Mapping[str, str]) -> list[str]:
    """Return a broker and all above it."""
    found = []
    while name:
        found.append(name)
        name = uplinks[name]
    return found


def distance(one: str, other: str, uplinks: Mapping[str, str]) -> int:
    """Return the number of links between two brokers."""
    return len(set(ancestry(one, uplinks)) ^ set(ancestry(other, uplinks)))


def join(world: World, name: str, uplink: str) -> None:
    """Start a broker below another one, or as the root, and let everything arrive."""
    world.do(("start", name))
    world.do(("reach", name, *([uplink] if uplink else [])))
    if uplink:
        world.do(("dial", name, uplink))
    world.drain()
