"""Leases in the simulator: brokers renew and sweep, memory changes by itself, and what leases promise then.

The verbs of `world` that are about leases are here. There is no clock: a schedule lets brokers renew and
sweep in any order, late or never, while links deliver, stall or are lost.

Laws.

1. Where no memory changes, leases change nothing, however late renewals are, and with or without leases.
2. After the last change, as many turns as the largest `expire_after` make all tables right.
3. A broker that lets a route expire has received at least `expire_after` lists over that link.
4. A subscription gets a gap for what it misses because memory changed, then or when the change is found.
   There are two exceptions: a change that is undone before it is found, and one that is replaced before that
   by a regular announcement, where one announcement covers others.
"""

from operator import sub
from random import Random
from typing import TYPE_CHECKING, Final

from attrs import Factory, define

from broker.core import Hop, LocalClients
from broker.messages import LeaseListed, LinkMessage
from broker.routing import Routing
from harness.simulator.corruption import corrupt as change_memory
from harness.simulator.corruption import corrupt_local
from harness.simulator.damage import damage as damage_plugin
from harness.simulator.network import Site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.simulator.verdict import Fault
    from harness.simulator.world import World

TURNS: Final = 3
"""The turns of leases that must change nothing in a world in which nothing is wrong."""

REPLACING: Final = {"advertise", "subscribe", "unadvertise", "unsubscribe"}
"""The verbs that may replace a wrong announcement, where one announcement covers others."""

Changes = tuple[int, int, int]
"""How often a broker has repaired an announcement, asked for a list, and let a route expire."""


@define(eq=False)
class Leasing:
    """The brokers that have leases, after how many lists each lets a route expire, and changes of memory.

    After a change, order and completeness are promised for publications from number `sound_from` on. If a
    change `is_replaced`, it may never be found (law 4). If one `is_local`, clients may get what they have not
    asked for. What a plugin has lost because its state `is_damaged` is not known to anybody: then nothing is
    promised for what was published before.
    """

    expire_after: dict[str, int] = Factory(dict)
    corruptions: list[str] = Factory(list)
    is_replaced: bool = False
    is_local: bool = False
    is_damaged: bool = False
    sound_from: int = 0
    hasty: "list[Fault]" = Factory(list)
    _lists: dict[Hop, int] = Factory(dict)

    @property
    def is_excused(self) -> bool:
        """Return whether events may wait for anything, and clients get anything."""
        return self.is_damaged or self.is_local

    def arrived(self, site: Site, hop: Hop, messages: "Sequence[LinkMessage]", before: int) -> None:
        """Count the lists that a broker has received, and note a route that expired too early (law 3)."""
        self._lists[hop] = self._lists.get(hop, 0) + sum(isinstance(each, LeaseListed) for each in messages)
        expire_after = self.expire_after.get(site.name, 0)
        if site.core.leases.expired > before and self._lists[hop] < expire_after:
            text = f"{site.name} let something expire after {self._lists[hop]} lists of {expire_after}"
            self.hasty.append(("leases", text))


def is_exact(routing: Routing) -> bool:
    """Return whether every route is announced itself, and none covers another."""
    return routing.subscriptions.is_exact and routing.advertisements.is_exact


# --- what happens -------------------------------------------------------------------------------------


def refresh(world: "World", name: str) -> bool:
    """Let a broker renew its announcements to its neighbours."""
    site = world.sites.get(name)
    if site is None:
        return False
    world.leasing.expire_after.setdefault(name, 0)
    site.core.refresh(clients_of(world, site))
    world.collect(site)
    return True


def clients_of(world: "World", site: Site) -> LocalClients:
    """Return what the clients of a broker have asked for."""
    publishers = [each for each in world.publishers.values() if each.site is site]
    subscribers = [each for each in world.subscribers.values() if each.site is site]
    notified = [each.name for each in publishers if each.is_ready]
    return LocalClients(
        {each.name: each.filter for each in publishers},
        {each.name: (each.filter, world.record.streams[each.name].ordered) for each in subscribers},
        {*notified, *(each.name for each in subscribers if each.is_open)},
    )


def sweep(world: "World", name: str, expire_after: int = 1) -> bool:
    """Let a broker sweep, whatever its neighbours have sent: a link may stall for longer than a lease."""
    site = world.sites.get(name)
    if site is None:
        return False
    world.leasing.expire_after[name] = expire_after
    site.core.sweep(expire_after)
    world.collect(site)
    return True


def corrupt(world: "World", name: str, chance: int, where: str = "") -> bool:
    """Change the memory of a broker, as drawn from this number; "local": what it has for its clients."""
    site = world.sites.get(name)
    if site is None:
        return False
    change = corrupt_local if where else change_memory
    text = change(site.core, Random(chance))  # noqa: S311 - chance here is repeatable, not secret
    if text:
        if world.watch is not None:
            world.watch(name, text)
        leasing = world.leasing
        leasing.is_replaced = leasing.is_replaced or text in leasing.corruptions  # Twice may be as before.
        leasing.corruptions.append(text)
        leasing.is_local = leasing.is_local or bool(where)
    world.collect(site)
    return bool(text)


def damage(world: "World", name: str, chance: int) -> bool:
    """Change a field of the ordering plugin of a broker, as drawn from this number."""
    site = world.sites.get(name)
    if site is None:
        return False
    text = damage_plugin(site.core, Random(chance))  # noqa: S311 - as above
    if text:
        if world.watch is not None:
            world.watch(name, text)
        world.leasing.corruptions.append(text)
        world.leasing.is_damaged = True
    world.collect(site)
    return bool(text)


def note_replaced(world: "World", verb: str) -> None:
    """Note an action that may replace a wrong announcement before it is found (law 4)."""
    if world.leasing.corruptions and verb in REPLACING and not is_exact(world.routing):
        world.leasing.is_replaced = True


# --- what must be so at the end -----------------------------------------------------------------------


def recover(world: "World") -> None:
    """Let leases repair what was corrupted (law 2)."""
    leasing = world.leasing
    if not leasing.corruptions:
        return
    for name in world.sites:
        leasing.expire_after.setdefault(name, 0)
    for _ in range(max(1, *leasing.expire_after.values())):
        _turn(world)
    leasing.sound_from = len(world.record.publications)


def wrong_leases(world: "World") -> "list[Fault]":
    """Take some more turns; return what leases change although nothing is wrong."""
    none = (0, 0, 0)
    before = _changes(world) if world.leasing.corruptions else {}
    for _ in range(TURNS if world.leasing.expire_after else 0):
        _turn(world)
    text = "{} repaired its announcements {} times, asked for {} lists, and let {} routes expire"
    found = [
        ("leases", text.format(name, *map(sub, changes, before.get(name, none))))
        for name, changes in _changes(world).items()
        if changes != before.get(name, none)
    ]
    return [*world.leasing.hasty, *found]


def _turn(world: "World") -> None:
    """Let every broker that has leases sweep and renew once."""
    for name, expire_after in list(world.leasing.expire_after.items()):
        world.do(("sweep", name, expire_after or 1))
        world.do(("refresh", name))
    world.do(("drain",))


def renew_all(world: "World") -> None:
    """Let every broker renew once, whatever is still on its way."""
    for name in list(world.sites):
        world.do(("refresh", name))


def _changes(world: "World") -> dict[str, Changes]:
    leases = {site.name: site.core.leases for site in world.sites.values()}
    return {name: (each.repairs.count, each.repaired, each.expired) for name, each in leases.items()}
