"""The liveness of healing: all survivors that know of each other end in one tree, after finitely many tries.

Brokers that were in one tree at rest must find each other again, whatever broke since. A broker that was
restarted without its memory, or was lost before its news had reached all, finds only brokers that know of it
or that it has configured, and roots that have it configured (an attached broker does not move). So there must
be as many trees as groups of brokers that know of each other, and no more.
"""

from collections.abc import Iterable

from broker.healing.search import FAR_EVERY
from harness.simulator.network import Site
from harness.simulator.world import World

Fault = tuple[str, str]


def heal_all(world: World) -> list[Fault]:
    """Let all roots go on with their searches until no tree knows of another one; return faults."""
    for _ in range(_tries_max(world)):
        roots = _roots(world)
        stuck = [site.name for site in roots if site.dialling is not None]
        if stuck:
            return [("stuck", f"{name} waits for ever to be attached") for name in stuck]
        if len(roots) <= len(_groups(world)):
            return []
        for root in roots:
            world.do(("heal", root.name))
        world.do(("drain",))
    roots_left = ", ".join(site.name for site in _roots(world))
    return [("stuck", f"the survivors do not become one tree: {roots_left} go on alone")]


def _tries_max(world: World) -> int:
    """Return the most tries: for each attachment the rounds up to a far one, of all brokers ever known."""
    known = max(len(site.core.roster) for site in world.sites.values())
    configured = max(len(site.search.configured) for site in world.sites.values() if site.search is not None)
    return len(world.sites) * FAR_EVERY * (known + configured + 1)


def _roots(world: World) -> list[Site]:
    return [site for site in world.sites.values() if site.core.uplink is None]


def _groups(world: World) -> list[set[str]]:
    """Return the groups of brokers, by name, that must each end in one tree."""
    groups: list[set[str]] = []
    for site in world.sites.values():
        group = {site.name, *_known_to(site, world)}
        apart = [other for other in groups if not other & group]
        groups = [*apart, group.union(*(other for other in groups if other & group))]
    return groups


def _known_to(site: Site, world: World) -> Iterable[str]:
    known = {place.address for place in site.core.roster.everything()}
    if site.search is not None and site.core.uplink is None:
        known.update(site.search.configured)
    if site in world.acquainted:
        known.update(other.name for other in world.acquainted)
    return known & set(world.sites)
