"""Moves of simulated brokers, as the shell carries them out: by detaching, or by steps."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker.core import Destination, Hop
from broker.core.stepping import Rise
from broker.healing import Candidate
from broker.messages import WayAnswer
from harness.simulator.network import Site

if TYPE_CHECKING:
    from harness.simulator.world import World


def move(world: "World", name: str, uplink: str, method: str = "path", asker: str = "") -> bool:
    """Let a client ask a broker to get another uplink."""
    site = world.sites.get(asker or name)
    if site is None:
        return False
    question = f"move {len(world.moves) + 1}"
    world.moves[question] = 0
    site.core.move(question, name, uplink, method)
    world.collect(site)
    return True


def answered(world: "World", pages: Iterable[WayAnswer]) -> None:
    """Note which moves have ended; a client that asks for one waits for that."""
    for page in pages:
        if page.question in world.moves and not page.more:
            world.moves[page.question] += 1


def leave(world: "World", site: Site, destination: Destination) -> None:
    """Let a broker leave its uplink, and dial another broker; or dial it beside the uplink."""
    assert destination.uplink != site.name, f"{site.name} dials itself"
    if destination.is_step and destination.attempts:
        world.retries[site] = destination
        return
    if destination.is_step:
        _dial_beside(world, site, destination)
        return
    uplink = site.core.uplink
    assert uplink is not None, "a root does not move"
    world.has_losses = True
    world.lose(site.outgoing[uplink].back)
    site.candidate = Candidate(destination.address, destination.uplink, "moved")
    world.dial(site.name, destination.address)


def retry(world: "World", name: str) -> bool:
    """Let a broker take a step again that was refused."""
    site = world.sites.get(name)
    destination = world.retries.pop(site, None) if site is not None else None
    if site is None or destination is None:
        return False
    _dial_beside(world, site, destination)
    return True


def retry_any(world: "World") -> bool:
    """Let one broker take its step again; return whether there was one."""
    for site in list(world.retries):
        if world.sites.get(site.name) is site:
            return retry(world, site.name)
        del world.retries[site]
    return False


def _dial_beside(world: "World", site: Site, destination: Destination) -> None:
    """Let a broker dial the one that is to take the place of its uplink; a root has other worries."""
    other = world.sites.get(destination.uplink)
    if site.core.uplink is None:
        return
    if other is None or other.link_to(site.name) or site.link_to(other.name):
        site.core.step_failed(f"{destination.uplink} is not reached")
    else:
        world.network.connect(site, other, (world.weigh(), world.weigh()))
        world.collect(other)
    world.collect(site)


def switch(world: "World", site: Site, kept: Hop, other: Hop) -> None:
    """Let two hops of a broker change their connections."""
    old, new = site.outgoing[kept], site.outgoing[other]
    site.outgoing[kept], site.outgoing[other] = new, old
    old.back.hop, new.back.hop = other, kept
    world.owing.moved(site, old.site, new.site)
    world.steps += 1


def excuse(world: "World", one: Site, other: Site) -> None:
    """Excuse what has a path over a lost link, or over the one that is about to take its place in a step."""
    world.owing.link_lost(one, other)
    for site in world.sites.values():
        rising, uplink = site.core.steps.rising, site.core.uplink
        if rising is None or uplink not in site.outgoing:
            continue
        parent = site.outgoing[uplink].site
        if rising.state is Rise.LOWERED:  # What its side has published may be pending above its new parent.
            above = parent.outgoing.get(parent.core.uplink) if parent.core.uplink is not None else None
            ends = {parent} if above is not None and {parent, above.site} == {one, other} else set()
        else:
            ends = {parent}
            may_have_switched = rising.state is Rise.LIFTED and rising.link in site.outgoing
            if may_have_switched:
                ends.add(site.outgoing[rising.link].site)
        if ends & {one, other}:
            world.owing.link_lost(site, parent)
