"""Which brokers are lost at once, and which uplinks are configured, in schedules of losses for good."""

from collections.abc import Sequence
from random import Random
from typing import Final

from harness.simulator.network import Site
from harness.simulator.world import World

SURVIVORS: Final = 2
"""The fewest brokers that remain: two, to disagree."""


def chosen(how: str, world: World, random: Random) -> list[Site]:
    """Choose the brokers to lose: any one, if the tree has none of this description."""
    sites = list(world.sites.values())
    room = len(sites) - SURVIVORS
    if room < 1:
        return []
    match how:
        case "root":
            victims = [site for site in sites if site.core.uplink is None]
        case "middle":
            victims = [site for site in sites if site.core.uplink is not None and _children(site)]
        case "neighbours":
            victims = _with_parent(sites, random)
        case "root and a child":
            victims = _with_child(
                [site for site in sites if _children(site) and site.core.uplink is None], random
            )
        case "many":
            victims = random.sample(sites, random.randint(1, room))
        case "all but two":
            victims = random.sample(sites, room)
        case _:
            victims = []
    if how in ("root", "middle") and victims:
        victims = [random.choice(victims)]
    return (victims or [random.choice(sites)])[:room]


def _children(site: Site) -> list[Site]:
    return [site.outgoing[hop].site for hop in site.core.neighbours.values() if hop is not site.core.uplink]


def _with_parent(sites: Sequence[Site], random: Random) -> list[Site]:
    attached = [site for site in sites if site.core.uplink is not None]
    if not attached:
        return []
    site = random.choice(attached)
    assert site.core.uplink is not None
    return _alive([site, site.outgoing[site.core.uplink].site], sites)


def _with_child(roots: Sequence[Site], random: Random) -> list[Site]:
    if not roots:
        return []
    root = random.choice(roots)
    return [root, random.choice(_children(root))]


def _alive(victims: Sequence[Site], sites: Sequence[Site]) -> list[Site]:
    return [site for site in victims if site in sites]


def configured(how: str, name: str, parent: str, names: Sequence[str], random: Random) -> tuple[str, ...]:
    """Choose the configured uplinks of a broker that is first attached to `parent` ("" for the root)."""
    others = [each for each in names if each != name]
    some = random.sample(others, random.randint(0, min(2, len(others))))
    first = [parent] if parent else []
    match how:
        case "parent":
            return tuple(first)
        case "parent and others":
            return tuple(dict.fromkeys([*first, *some]))
        case "anybody":
            return tuple(some)
        case _:
            return ()
