"""Subscriptions that ask for the past, in the simulated world."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from broker.replay import Window
from broker.station import Station, SubscriptionTerms
from harness.simulator.network import Port
from harness.simulator.nowhere import NOWHERE

if TYPE_CHECKING:
    from harness.simulator.world import Subscriber, World

ROOM_BYTES: Final = 1
"""What is asked for at a time: one publication."""

BOUND_BYTES: Final = 10**9
"""Nothing is cut short for want of room."""


def subscribe(world: "World", subscriber: "Subscriber") -> None:
    """Subscribe where the client is, with the part of the past that it wants."""
    name, site, inputs = subscriber.name, subscriber.site, subscriber.site.inputs
    ordered = world.record.streams[name].ordered
    since_ns, newest = subscriber.since_ns, subscriber.newest
    if since_ns is not None:
        world.past.asked(name, site, subscriber.kinds, None if newest else since_ns)
    if isinstance(inputs, Station):
        replay = () if since_ns is None else (since_ns, newest)
        inputs.subscribe(name, SubscriptionTerms(subscriber.filter, ordered, bound_bytes=BOUND_BYTES), replay)
    else:
        window = None if since_ns is None else Window(since_ns, newest, BOUND_BYTES)
        inputs.subscribe(name, subscriber.filter, ordered=ordered, window=window)


def go_on(world: "World", names: Iterable[str]) -> None:
    """These can be given more of their past."""
    for name in names:
        if name in world.subscribers:
            has_more(world, world.subscribers[name])


def has_more(world: "World", subscriber: "Subscriber") -> None:
    """Its client will ask for more, sooner or later."""
    port = world.pulling.get(subscriber.name)
    if port is None:
        label = f"{subscriber.name}?"
        port = Port(label, subscriber.site, NOWHERE, 1.0, subscription=subscriber.name)
        world.pulling[subscriber.name] = port
    world.network.ready.add(port)
