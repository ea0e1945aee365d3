"""The liveness of healing: all survivors that know of each other end in one tree, after finitely many tries.

Who was in one tree at rest once must find the others again, whatever broke since. A broker that came back
without its memory, or that was lost before its news had gone round, can be found only by who has heard of it,
by whom it has configured, and by a top that has it configured (who is attached does not move): there must be
as many trees as groups that know of each other, and no more.
"""

from collections.abc import Iterable

from broker.healing.search import FAR_EVERY
from harness.simulator.network import Site
from harness.simulator.world import World

Fault = tuple[str, str]


def heal_all(world: World) -> list[Fault]:
    """Let every top go on with its search until no tree is left that knows of another one; all at once."""
    for _ in range(_tries_max(world)):
        tops = _tops(world)
        stuck = [site.name for site in tops if site.dialling is not None]
        if stuck:
            return [("stuck", f"{name} waits for ever to be attached") for name in stuck]
        if len(tops) <= len(_groups(world)):
            return []
        for top in tops:
            world.do(("heal", top.name))
        world.do(("drain",))
    tops_left = ", ".join(site.name for site in _tops(world))
    return [("stuck", f"the survivors do not become one tree: {tops_left} go on alone")]


def _tries_max(world: World) -> int:
    """Each attachment takes at most the rounds up to a far one, of all brokers there ever were."""
    known = max(len(site.core.roster) for site in world.sites.values())
    configured = max(len(site.search.configured) for site in world.sites.values() if site.search is not None)
    return len(world.sites) * FAR_EVERY * (known + configured + 1)


def _tops(world: World) -> list[Site]:
    return [site for site in world.sites.values() if site.core.uplink is None]


def _groups(world: World) -> list[set[str]]:
    """Brokers that must end in one tree, by name."""
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
