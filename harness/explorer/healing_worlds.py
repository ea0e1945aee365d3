"""Small overlays that lose brokers, exhaustively: every tree, every loss, every order in which things happen.

A world is a tree of a few brokers that all know each other, some of which are lost at once, and uplinks
that are configured or not. From there every interleaving is followed, up to equal states, of arrivals (of
the losses too, which each neighbour notices on its own) and of the steps of brokers without an uplink. The
steps of each broker are limited; far rounds come every second time, so that some are among them.

Checked in every state: no broker is below itself. Checked in every state with nothing in flight: if all go
on, all survivors become one tree with exact tables.

Run as `python -m harness.explorer.healing_worlds`.
"""

import json
import sys
from collections.abc import Hashable, Iterator
from copy import deepcopy
from itertools import combinations, permutations, product
from typing import Final

import click
from attrs import define, frozen

from broker.healing import search
from harness.explorer.fingerprint import fingerprint
from harness.simulator.liveness import rest
from harness.simulator.network import LinkEnd, Site
from harness.simulator.world import World
from harness.worker_processes import worker_processes
from ordering.fifo import Fifo

FAR_EVERY: Final = 2
"""Replaces the product's number: the same rounds, sooner."""

SURVIVORS: Final = 2
"""The fewest brokers that remain: one alone has no other to find."""


@frozen
class Loss:
    """One world. `parents` has each broker's parent, `lost` are lost at once, `steps` limits each broker."""

    parents: tuple[tuple[str, str], ...]
    lost: tuple[str, ...]
    is_configured: bool
    steps: int = 2

    def __str__(self) -> str:
        tree = " ".join(f"{child}>{parent or '-'}" for child, parent in self.parents)
        return (
            f"{tree}, lost {' '.join(self.lost)}, uplinks {'configured' if self.is_configured else 'unknown'}"
        )


@define
class WorldTally:
    """The counts of some worlds. Each of `faults` names its world."""

    worlds: int = 0
    states: int = 0
    rests: int = 0
    faults: tuple[str, ...] = ()

    def add(self, other: "WorldTally") -> None:
        """Add the counts of another world."""
        self.worlds += other.worlds
        self.states += other.states
        self.rests += other.rests
        self.faults += other.faults


def losses(count: int, steps: int) -> Iterator[Loss]:
    """Yield all worlds of this number of brokers: every tree with every order of names, and every loss."""
    names = [f"B{number}" for number in range(1, count + 1)]
    seen = set()
    for order in permutations(names):
        for places in product(*(range(number) for number in range(1, count))):
            parents = {order[0]: "", **{order[n]: order[p] for n, p in enumerate(places, 1)}}
            seen.add(tuple(sorted(parents.items())))
    for tree in sorted(seen):
        for size in range(1, count - SURVIVORS + 1):
            for lost in combinations(names, size):
                for is_configured in (True, False):
                    yield Loss(tree, lost, is_configured, steps)


def explore(loss: Loss) -> WorldTally:
    """Follow every interleaving of one world; stop at the first fault."""
    before, search.FAR_EVERY = search.FAR_EVERY, FAR_EVERY  # type: ignore[misc]  # sooner, as said above
    try:
        return _explored(loss)
    finally:
        search.FAR_EVERY = before  # type: ignore[misc]  # as above


def _explored(loss: Loss) -> WorldTally:
    tally = WorldTally(worlds=1)
    first = _begun(loss)
    todo = [(first, dict.fromkeys(first.sites, loss.steps))]
    seen = {_key(*todo[0])}
    while todo:
        world, steps = todo.pop()
        tally.states += 1
        fault = _ring(world)
        if not world.network.ready.ports and not fault:
            tally.rests += 1
            fault = _unfinished(world)
        if fault:
            tally.faults = (f"{loss}: {fault}",)
            return tally
        for state in _followers(world, steps):
            key = _key(*state)
            if key not in seen:
                seen.add(key)
                todo.append(state)
    return tally


def _begun(loss: Loss) -> World:
    world = World(Fifo)
    for name, parent in loss.parents:
        world.do(("start", name))
        world.do(("reach", name, *((parent,) if parent and loss.is_configured else ())))
    for name, parent in loss.parents:
        if parent:
            world.do(("dial", name, parent))
            world.do(("drain",))
    for name in loss.lost:
        world.do(("crash", name))
    return world


State = tuple[World, dict[str, int]]
"""A world, and how many steps each broker may still take."""


def _followers(world: World, steps: dict[str, int]) -> Iterator[State]:
    for port in world.network.ready.ports:
        after = deepcopy(world)
        after.do(("deliver", port.label))
        yield after, steps
    for name, left in steps.items():
        if left:
            after = deepcopy(world)
            if after.do(("heal", name)):
                yield after, {**steps, name: left - 1}


def _key(world: World, steps: dict[str, int]) -> Hashable:
    return tuple(map(_site_key, world.sites.values())), tuple(steps.values())


def _site_key(site: Site) -> Hashable:
    assert site.search is not None
    links = tuple(
        (
            hop.name,
            hop.number,
            port.is_sealed,
            *(END if isinstance(m, LinkEnd) else m for m in port.back.queue),
        )
        for hop, port in site.outgoing.items()
    )
    asked = site.asked.name if site.asked is not None else ""
    tried = tuple(sorted(site.search._tried))  # noqa: SLF001 - part of the state that is compared
    return fingerprint(site.core), links, asked, site.search.round, tried


END: Final = "end"
"""The end of a connection, the same in all copies of a world."""


def _ring(world: World) -> str:
    """Return how a broker is below itself, by the links that both ends count as attached; "" if none is."""
    above = {site.name: _attached_to(site) for site in world.sites.values()}
    for name, first in above.items():
        at, passed = first, set()
        while at and at not in passed:
            if at == name:
                return f"{name} is below itself: {above}"
            passed.add(at)
            at = above.get(at, "")
    return ""


def _attached_to(site: Site) -> str:
    hop = site.core.uplink
    port = site.outgoing[hop] if hop is not None else None
    return port.site.name if port is not None and port.site.core.attached(port.hop) else ""


def _unfinished(world: World) -> str:
    wrong = rest(deepcopy(world))
    return f"{wrong[0][0]}: {wrong[0][1]}" if wrong else ""


@click.command(epilog="Example: python -m harness.explorer.healing_worlds --brokers 3 --steps 4")
@click.option("--brokers", type=click.IntRange(3, 5), default=4, show_default=True)
@click.option(
    "--steps", type=click.IntRange(1), default=3, show_default=True, help="Of each broker, at most."
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True)
def command(brokers: int, steps: int, jobs: int) -> None:
    """Explore all worlds of so many brokers; prints one JSON object, exit status 1 if something is wrong."""
    tally = WorldTally()
    with worker_processes(jobs) as pool:
        for piece in pool.map(explore, losses(brokers, steps)):
            tally.add(piece)
            for fault in piece.faults:
                click.echo(fault, err=True)
    figures = {
        "worlds": tally.worlds,
        "states": tally.states,
        "rests": tally.rests,
        "faults": len(tally.faults),
    }
    click.echo(json.dumps(figures))
    sys.exit(1 if tally.faults else 0)


if __name__ == "__main__":
    command()
