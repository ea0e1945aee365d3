"""Leases in the simulator: brokers renew and sweep, memory changes by itself, and what leases promise then.

The verbs of `world` that are about leases are here. There is no clock: whoever draws a schedule lets brokers
renew and sweep in any order, late or never, while links deliver, stall or are lost.

Laws.

1. Where no memory changes, leases change nothing, however late renewals are, and whoever has no leases.
2. After the last change, so many turns as the most patient broker counts make all tables right.
3. A broker that lets something expire has been sent at least so many lists over that link.
4. What a subscription misses because memory changed, it is told, then or when that is found. There are two
   exceptions: what changes back before it is found, and what is announced anew before that, in the course of
   things, where one announcement stands for others.
"""

from operator import sub
from random import Random
from typing import TYPE_CHECKING, Final

from attrs import Factory, define

from broker.core import Hop
from broker.messages import LeaseListed, LinkMessage
from broker.routing import Routing
from harness.simulator.corruption import corrupt as change_memory
from harness.simulator.network import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.simulator.verdict import Fault
    from harness.simulator.world import World

TURNS: Final = 3
"""So many turns of leases change nothing in a world in which nothing is wrong."""

REPLACING: Final = {"advertise", "subscribe", "unadvertise", "unsubscribe"}
"""Where one announcement stands for others, these may announce something in the place of what is wrong."""

Changes = tuple[int, int, int]
"""How often a broker has repaired what it announced, asked for a list, and let something expire."""


@define(eq=False)
class Leasing:
    """The brokers that have leases, with their patience, and what happened to memory.

    Where it changed, order and completeness are promised for publications from number `sound_from` on. If
    something `is_replaced`, it may never be found (law 4).
    """

    patiences: dict[str, int] = Factory(dict)
    corruptions: list[str] = Factory(list)
    is_replaced: bool = False
    sound_from: int = 0
    hasty: "list[Fault]" = Factory(list)
    _lists: dict[Hop, int] = Factory(dict)

    def arrived(self, site: Site, hop: Hop, messages: "Sequence[LinkMessage]", before: int) -> None:
        """Note what a broker has received, and whether it let something expire too early (law 3)."""
        self._lists[hop] = self._lists.get(hop, 0) + sum(isinstance(each, LeaseListed) for each in messages)
        patience = self.patiences.get(site.name, 0)
        if site.core.leases.expired > before and self._lists[hop] < patience:
            text = f"{site.name} let something expire after {self._lists[hop]} lists of {patience}"
            self.hasty.append(("leases", text))


def is_exact(routing: Routing) -> bool:
    """Whether everything is announced for itself, and nothing stands for anything else."""
    return routing.subscriptions.is_exact and routing.advertisements.is_exact


# --- what happens -------------------------------------------------------------------------------------


def refresh(world: "World", name: str) -> bool:
    """A broker renews what it has announced to its neighbours."""
    site = world.sites.get(name)
    if site is None:
        return False
    world.leasing.patiences.setdefault(name, 0)
    site.core.refresh()
    world.collect(site)
    return True


def sweep(world: "World", name: str, patience: int = 1) -> bool:
    """A broker sweeps, whatever its neighbours have sent since: a link may stall for longer than a lease."""
    site = world.sites.get(name)
    if site is None:
        return False
    world.leasing.patiences[name] = patience
    site.core.sweep(patience)
    world.collect(site)
    return True


def corrupt(world: "World", name: str, chance: int) -> bool:
    """Something happens to the memory of a broker, drawn from this number."""
    site = world.sites.get(name)
    if site is None:
        return False
    text = change_memory(site.core, Random(chance))  # noqa: S311 - chance here is repeatable, not secret
    if text:
        if world.watch is not None:
            world.watch(name, text)
        leasing = world.leasing
        leasing.is_replaced = leasing.is_replaced or text in leasing.corruptions  # Twice may be as before.
        leasing.corruptions.append(text)
    world.collect(site)
    return bool(text)


def note_replaced(world: "World", verb: str) -> None:
    """Note an action that may announce something anew before it is found to be wrong (law 4)."""
    if world.leasing.corruptions and verb in REPLACING and not is_exact(world.routing):
        world.leasing.is_replaced = True


# --- what must be so at the end -----------------------------------------------------------------------


def recover(world: "World") -> None:
    """Let leases repair what was corrupted (law 2)."""
    leasing = world.leasing
    if not leasing.corruptions:
        return
    for name in world.sites:
        leasing.patiences.setdefault(name, 0)
    for _ in range(max(1, *leasing.patiences.values())):
        _turn(world)
    leasing.sound_from = len(world.record.publications)


def wrong_leases(world: "World") -> "list[Fault]":
    """Whatever leases change, although nothing is wrong; let them have some more turns to do so."""
    none = (0, 0, 0)
    before = _changes(world) if world.leasing.corruptions else {}
    for _ in range(TURNS if world.leasing.patiences else 0):
        _turn(world)
    text = "{} mended what it tells {} times, was told otherwise {} times, and let {} expire"
    found = [
        ("leases", text.format(name, *map(sub, changes, before.get(name, none))))
        for name, changes in _changes(world).items()
        if changes != before.get(name, none)
    ]
    return [*world.leasing.hasty, *found]


def _turn(world: "World") -> None:
    """Let every broker that has leases sweep and renew, once."""
    for name, patience in list(world.leasing.patiences.items()):
        world.do(("sweep", name, patience or 1))
        world.do(("refresh", name))
    world.do(("drain",))


def _changes(world: "World") -> dict[str, Changes]:
    leases = {site.name: site.core.leases for site in world.sites.values()}
    return {name: (each.repairs.count, each.repaired, each.expired) for name, each in leases.items()}
