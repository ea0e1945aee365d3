"""Brokers with journals that crash and come back, and links whose connections break and are resumed.

The verbs of `world` that are about journals are here. A broker that was started with `journal` keeps one.
Connections between such brokers carry sessions: that one is lost changes nothing in a core.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from broker.core import Effects, Hop
from broker.healing import Search
from broker.messages import Acknowledge, LinkMessage, Publication, PublicationsLost
from broker.replay_messages import ReplayCut
from broker.sessions import Missing
from broker.wire import encode_publication, publication_prefix
from harness.simulator import replays
from harness.simulator.interests import attributes_of
from harness.simulator.keeper import Keeper
from harness.simulator.network import Port, Site
from ordering import promises

if TYPE_CHECKING:
    from harness.simulator.world import Publisher, Subscriber, World


Event = tuple[int, str, bool, int]
"""Sequence number, kind, whether it is ordered, and when it was published."""


@cache
def frame_of(publisher: str, event: Event) -> bytes:
    """The whole frame of a simulated publication: journals, snapshots and caches hold frames."""
    sequence, kind, ordered, published_ns = event
    prefix = publication_prefix(publisher)
    return encode_publication(prefix, sequence, published_ns, attributes_of(kind), b"", ordered)


# --- the journal --------------------------------------------------------------------------------------


def hold(world: "World", keeper: Keeper, effects: Effects) -> None:
    """Hold back what a step led to until its input is on disk."""
    for early in keeper.hold(effects):
        world.release(keeper.port.site, early)
    world.network.ready.add(keeper.port)


def sync(world: "World", name: str) -> bool:
    """The journal of a broker is synced: what was held back leaves, and what came is acknowledged."""
    site = world.sites.get(name)
    if site is None or site.keeper is None:
        return False
    keeper = site.keeper
    world.network.ready.remove(keeper.port)
    if world.watch is not None:
        world.watch(name, "sync")
    for effects in keeper.sync():
        world.release(site, effects)
    acknowledge(world, site, keeper)
    return True


def acknowledge(world: "World", site: Site, keeper: Keeper) -> None:
    """Tell the neighbours how much of their sessions is on disk here."""
    for hop, port in site.outgoing.items():
        received = keeper.on_disk(hop)
        if not port.is_sealed and received >= keeper.acknowledged.get(hop, 0) + keeper.patience:
            keeper.acknowledged[hop] = received
            world.network.send(port, [Acknowledge(received)])


def picture(world: "World", name: str) -> bool:
    """A broker writes a snapshot."""
    site = world.sites.get(name)
    if site is None or site.keeper is None:
        return False
    sync(world, name)
    site.keeper.take_picture()
    return True


# --- crashes ------------------------------------------------------------------------------------------


def kill(world: "World", name: str, surviving: int, *kept: str | int) -> bool:
    """A broker with a journal dies; of what it had sent, its neighbours get a prefix."""
    site = world.sites.get(name)
    if site is None or site.keeper is None:
        return False
    del world.sites[name]
    world.down[name] = site
    prefixes = dict(zip(kept[::2], kept[1::2], strict=True))
    for port in site.outgoing.values():
        world.network.abandon(port.back)
        world.network.seal(port, int(prefixes.get(port.label, 0)))
    world.network.ready.remove(site.keeper.port)
    site.keeper.crash(surviving)
    return True


def lose(world: "World", name: str, *kept: str | int) -> bool:
    """A broker with a journal is lost for good, with its journal, whether it was down already or not.

    Its neighbours will have waited for it too long, one after the other.
    """
    kill(world, name, 0, *kept)
    site = world.down.pop(name, None)
    if site is None:
        return False
    world.has_losses = True
    world.note(promises.torn())
    for port in site.outgoing.values():
        world.owing.link_lost(site, port.site)
    world.forget_clients(site)
    return True


def restart(world: "World", site: Site) -> bool:
    """It comes back; its clients connect again and go on. Its links wait to be resumed."""
    keeper = site.keeper
    assert keeper is not None
    del world.down[site.name]
    world.sites[site.name] = site
    station = keeper.restart()
    site.inputs, site.core = station, station.core
    site.outgoing.clear()
    site.dialling = None
    for place in station.links.values():
        _find_again(world, site, place.hop, place.session, is_uplink=place.is_uplink)
    rejected = [place.hop for place in station.links.values() if place.verdict]
    for hop in rejected:
        world.lose(site.outgoing[hop].back)
    for publisher in world.publishers.values():
        if publisher.site is site:
            _publish_on(site, publisher)
    for subscriber in world.subscribers.values():
        if subscriber.site is site:
            _read_on(world, site, subscriber)
    _end_what_nobody_wants(world, site)
    if site.search is not None:
        # What was tried is no state of the broker; that others can dial it may not have been on disk.
        site.search, site.candidate = Search(site.name, site.search.configured), None
        station.reached_at(site.name)
    world.collect(site)
    return True


def _find_again(world: "World", site: Site, hop: Hop, session: str, *, is_uplink: bool) -> None:
    """The direction in which a link that is remembered sends; a session is named after the way up."""
    up = world.network.port(session)
    assert up is not None
    outgoing = up if is_uplink else up.back
    outgoing.back.hop = hop
    site.outgoing[hop] = outgoing
    if is_uplink and not site.core.attached(hop):
        site.dialling = outgoing.back


def _publish_on(site: Site, publisher: "Publisher") -> None:
    """A client goes on behind what was taken of its publisher."""
    assert site.keeper is not None
    place = site.keeper.station.publishers.get(publisher.name)
    if place is None:
        assert not publisher.is_ready, f"{publisher.name} had its barrier passed and is forgotten"
        advertise_at(site, publisher)
        return
    assert place.is_open or not publisher.is_ready, f"the barrier of {publisher.name} is closed again"
    publisher.is_ready, publisher.is_wanted = place.is_open, place.is_wanted
    again = [each for each in publisher.published if each.sequence > place.taken]
    if again:
        site.inputs.publish(publisher.name, again)


def advertise_at(site: Site, publisher: "Publisher") -> None:
    """A client asks to publish."""
    site.inputs.advertise(publisher.name, publisher.filter)


def _read_on(world: "World", site: Site, subscriber: "Subscriber") -> None:
    """A client goes on behind what it has received of its subscription."""
    assert site.keeper is not None
    place = site.keeper.station.subscriptions.get(subscriber.name)
    if place is None:
        assert not subscriber.is_open, f"{subscriber.name} was open and is forgotten"
        assert not subscriber.position, f"{subscriber.name} had deliveries and is forgotten"
        replays.subscribe(world, subscriber)
        return
    if site.core.replays.is_replaying(place.hop):
        replays.has_more(world, subscriber)
    assert place.is_open or not subscriber.is_open, f"a gate of {subscriber.name} is closed again"
    if place.is_open and not subscriber.is_open:
        world.acknowledged(subscriber.name)
    for batch in place.after(subscriber.position):
        assert not isinstance(batch, Missing)
        delivered(world, subscriber.name, batch)


def delivered(world: "World", subscription: str, messages: Sequence[LinkMessage]) -> None:
    """A client receives deliveries and counts them; one that has left does not."""
    subscriber = world.subscribers.get(subscription)
    if subscriber is not None:
        subscriber.position += len(messages)
        for publication in messages:
            if isinstance(publication, PublicationsLost | ReplayCut):
                world.record.gap(subscription)
                continue
            assert isinstance(publication, Publication)
            world.record.deliver(subscription, publication)


def _end_what_nobody_wants(world: "World", site: Site) -> None:
    """Clients that left do not come back, though the broker may not remember that they left."""
    assert site.keeper is not None
    for name in [name for name in site.keeper.station.publishers if name not in world.publishers]:
        site.inputs.unadvertise(name)
    for name in [name for name in site.keeper.station.subscriptions if name not in world.subscribers]:
        site.inputs.unsubscribe(name)


# --- connections --------------------------------------------------------------------------------------


def resume(world: "World", label: str) -> bool:
    """Who dialled a link dials again, whatever became of the old connection.

    Each end lets the journal sync before it says how much it has. An end that does not know the session has
    the other close the link.
    """
    up = world.network.port(label)
    if up is None or not (_is_there(world, up.site) and _is_there(world, up.back.site)):
        return False
    down = up.back
    if not (_knows(world, up) or _knows(world, down)):
        return False
    for port in (up, down):
        sync(world, port.site.name)
    for port in (up, down):
        world.network.abandon(port)
    knows = [_knows(world, port) for port in (up, down)]  # What has just left may have been a refusal.
    if not any(knows):
        return True
    if not all(knows):
        world.has_losses = True
        world.lose(up if knows[0] else down)
        return True
    for port in (up, down):
        port.is_sealed = False
    for port in (up, down):
        _go_on(world, port)
    return True


def _is_there(world: "World", site: Site) -> bool:
    return site.keeper is not None and world.sites.get(site.name) is site


def _knows(world: "World", port: Port) -> bool:
    """Whether the broker at which this direction arrives has the link."""
    return world.sites[port.site.name].outgoing.get(port.hop) is port.back


def _go_on(world: "World", port: Port) -> None:
    """The broker at the other end is told how much has arrived here, and sends what comes after that."""
    receiver, sender = port.site, port.back.site
    assert receiver.keeper is not None
    assert sender.keeper is not None
    received = receiver.keeper.on_disk(port.hop)
    receiver.keeper.acknowledged[port.hop] = received
    station, hop = sender.keeper.station, port.back.hop
    station.acknowledged(hop, received)
    place = station.links[hop.name]
    world.network.send(port, place.after(place.acknowledged))
    hold(world, sender.keeper, station.take())


def expire(world: "World", name: str, neighbour: str) -> bool:
    """A broker has waited too long for a neighbour without a connection, and declares the link lost."""
    site = world.sites.get(name)
    hop = site.link_to(neighbour) if site is not None else None
    if site is None or hop is None or not is_down(site.outgoing[hop]):
        return False
    world.has_losses = True
    world.lose(site.outgoing[hop].back)
    return True


def is_down(port: Port) -> bool:
    """Whether the connection is lost, and nothing of it is on its way."""
    return port.is_sealed and port.back.is_sealed and not port.queue and not port.back.queue


def arrived(world: "World", port: Port, messages: list[LinkMessage | Acknowledge]) -> None:
    """Feed a station: what belongs to the session, and what acknowledges the other direction."""
    assert port.site.keeper is not None
    station = port.site.keeper.station
    session: list[LinkMessage] = []
    for message in messages:
        if isinstance(message, Acknowledge):
            station.acknowledged(port.hop, message.count)
        else:
            session.append(message)
    if session:
        station.receive(port.hop, session)
    world.collect(port.site)
    if port.site.keeper.acknowledges_early():
        acknowledge(world, port.site, port.site.keeper)


def take(world: "World", name: str) -> bool:
    """The user of a subscription has had everything that its client received."""
    subscriber = world.subscribers.get(name)
    if subscriber is None or not _is_there(world, subscriber.site) or subscriber.site.keeper is None:
        return False
    subscriber.site.keeper.station.taken(name, subscriber.position)
    world.collect(subscriber.site)
    return True


def publication_for(site: Site, publisher: "Publisher", event: Event) -> Publication:
    """Make a publication, with its frame if somebody will write it down; its client keeps it."""
    sequence, kind, ordered, published_ns = event
    if site.keeper is None and not site.core.cache.is_on:
        return Publication(publisher.name, sequence, attributes_of(kind), ordered, b"")
    frame = frame_of(publisher.name, event)
    publication = Publication(publisher.name, sequence, attributes_of(kind), ordered, frame, 0, published_ns)
    publisher.published.append(publication)
    return publication


# --- the end ------------------------------------------------------------------------------------------


def bring_back(world: "World") -> None:
    """Every broker comes back that can, and everything arrives."""
    for name in list(world.down):
        world.do(("start", name))
    drain(world)


def drain(world: "World") -> None:
    """Everything arrives, over connections that are made again where they were lost.

    A link of which one end knows nothing goes: in time the other end would declare it lost.
    """
    world.do(("drain",))
    while labels := broken(world):
        _give_up_the_lost(world)
        for label in labels:
            world.do(("resume", label))
        world.do(("drain",))


def _give_up_the_lost(world: "World") -> None:
    """Links to brokers that are lost for good end, as they would in time."""
    links = [
        (site, hop)
        for site in world.sites.values()
        for hop, port in site.outgoing.items()
        if world.sites.get(port.site.name) is not port.site
    ]
    for site, hop in links:
        world.do(("expire", site.name, hop.name))


def broken(world: "World") -> list[str]:
    """The ways up of the links between brokers with journals that have no connection."""
    sites = [site for site in world.sites.values() if site.keeper is not None]
    lost = [port for site in sites for port in site.outgoing.values() if port.is_sealed]
    return list(dict.fromkeys(port.label if ">" in port.label else port.back.label for port in lost))
