"""Subscriptions that ask for the past, in the simulated world."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from broker.messages import Publication
from broker.replay import ReplayWindow
from broker.wire import encode_publication, publication_prefix
from harness.simulator.interests import attributes_of, flat_attributes_of
from harness.simulator.network import NOWHERE, Port, Site

if TYPE_CHECKING:
    from harness.simulator.world import SimulatedSubscriber, World

ROOM_BYTES: Final = 1
"""How much a subscription asks for at a time: one publication."""

BOUND_BYTES: Final = 10**9
"""A bound that no replay reaches."""


Event = tuple[int, str, bool, int]
"""Sequence number, kind, whether it is ordered, and when it was published."""


@cache
def frame_of(publisher: str, event: Event) -> bytes:
    """Return the whole frame of a simulated publication: caches hold frames."""
    sequence, kind, ordered, published_ns = event
    prefix = publication_prefix(publisher)
    return encode_publication(prefix, sequence, published_ns, flat_attributes_of(kind), b"", ordered)


def publication_for(site: Site, publisher: str, event: Event) -> Publication:
    """Make a publication, with its frame if its broker has a cache."""
    sequence, kind, ordered, published_ns = event
    if not site.core.cache.is_on:
        return Publication(publisher, sequence, attributes_of(kind), ordered, b"")
    frame = frame_of(publisher, event)
    return Publication(publisher, sequence, attributes_of(kind), ordered, frame, 0, published_ns)


def subscribe(world: "World", subscriber: "SimulatedSubscriber") -> None:
    """Subscribe at the client's broker, with the part of the past that it asks for."""
    name, site, core = subscriber.name, subscriber.site, subscriber.site.core
    ordered = world.record.streams[name].ordered
    since_ns, newest = subscriber.since_ns, subscriber.newest
    if since_ns is None:
        core.subscribe(name, subscriber.filter, ordered=ordered)
        return
    world.past.asked(name, site, subscriber.kinds, None if newest else since_ns)
    window = ReplayWindow(since_ns, newest, BOUND_BYTES)
    core.subscribe(name, subscriber.filter, ordered=ordered, window=window)


def go_on(world: "World", names: Iterable[str]) -> None:
    """Note that these subscriptions can get more of their past."""
    for name in names:
        if name in world.subscribers:
            has_more(world, world.subscribers[name])


def has_more(world: "World", subscriber: "SimulatedSubscriber") -> None:
    """Let the client of a subscription ask for more, sooner or later."""
    port = world.pulling.get(subscriber.name)
    if port is None:
        label = f"{subscriber.name}?"
        port = Port(label, subscriber.site, NOWHERE, 1.0, subscription=subscriber.name)
        world.pulling[subscriber.name] = port
    world.network.ready.add(port)
