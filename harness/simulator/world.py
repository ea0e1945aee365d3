"""The simulated world: brokers, their clients and their network, changed by one action at a time.

An action is a tuple of a verb and its arguments; its text is a line of a scenario file. An action that makes
no sense in the present state (a delivery where nothing waits, a crash of a dead broker) does nothing, so that
a schedule with some actions left out is a schedule still. A name counts what began before: `B2` is a broker,
`P1` a publisher, `S3` a subscription, `B2>B1` the direction from B2, which dialled, to B1, and `B1<B2` the
other; `B2>B1.2` belongs to the second connection of the two.

    start B1                          a broker starts, or starts again after a crash
    dial B2 B1                        B2 dials B1, to become its child
    reach B2 [B1 B3]                  others can dial B2 from now on; its uplinks, in order of preference
    heal B2                           B2, if it has no uplink, takes the next step to get one
    move B2 B3 [reattach] [B1]        a client of B1 (of B2 if none is given) asks B2 to move below B3, step
                                      by step or by detaching
    advertise P1 B1 ab                a client of B1 will publish events of the kinds a and b
    subscribe S1 B2 a [unordered]     a client of B2 subscribes to events of kind a
    keep B1 [1000] [4096]             B1 keeps so many bytes of what its publishers publish, for replays, and
                                      looks at so many publications at a time
    subscribe S1 B2 a since 30 [newest 2]  the same; first the past since time 30, or the newest two of it
    mark B1                           B1 sends its neighbours a mark of how far its cache goes, if one is due
    pull S1                           its client has room for more of the past
    unadvertise P1, unsubscribe S1    a publisher or subscription is withdrawn
    publish P1 a [S1] [unordered] [@57]  an event of kind a, published after reading all that S1 delivered;
                                      by the publisher's clock at 57
    deliver B2>B1 [3]                 the next three messages of this direction arrive (1 if none is given)
    retry B2                          B2 takes a step again that was refused
    crash B2 [B2>B1 1]...             B2 dies; of what it had sent, only the first message arrives at B1
    cut B2>B1 3 0                     the connection is lost; three messages and none still arrive
    settle B1 B2...                   messages in flight between these brokers arrive, and what follows from
                                      them there; not what was sent over connections that are lost
    refresh B1                        B1 renews what it has announced to its neighbours
    sweep B1 [3]                      B1 sweeps; a route expires after three lists without it (1 if none is
                                      given)
    corrupt B1 17 [local]             the memory of B1 changes by itself, as the number says (of its clients)
    damage B1 17                      a field of the ordering plugin of B1 changes by itself, likewise
    continue B1                       B1 takes the next part of what a new neighbour is to know
    part 2                            brokers that start from now on do no more of that than two in one step
    page 40                           brokers that start from now on announce what they know in pages with so
                                      many bytes of items
    drain                             everything on its way arrives

There are no sessions and no journals here: a broker that is lost is lost for good, and so is a connection.
Whole brokers, which have both, are in `harness.whole`.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from attrs import Factory, define, evolve, field

from broker.core import BrokerCore, CoreEffects, Destination
from broker.core.effects import ProtocolError
from broker.core.stepping import BROKEN, LEFT_OVER
from broker.filters import Filter
from broker.healing import Search
from broker.messages import LinkMessage, Publication, PublicationsLost
from broker.replay import Bounds
from broker.replay_messages import ReplayCut
from broker.routing import DEFAULT, Routing
from harness.simulator import leasing, moving, replays
from harness.simulator.interests import filter_of
from harness.simulator.leasing import Leasing
from harness.simulator.message_texts import text_of
from harness.simulator.needless import needless_waits
from harness.simulator.network import NOWHERE, Network, Port, Site
from harness.simulator.owing import Owing
from harness.simulator.past import ENOUGH_BYTES, SimulatedPast
from harness.simulator.record import Record, Stream
from ordering import promises
from ordering.interface import OrderingFactory

Action = tuple[str | int, ...]

Watch = Callable[[str, str], None]
"""Receives each event of a schedule: the broker or subscription, and a few characters about it."""

After = Callable[[Site, Port | None, int], None]
"""Receives each step of a broker: the port and how many messages arrived there; None if a client acted."""

DRAIN_LIMIT: Final = 50_000
"""More deliveries than any schedule needs to come to rest; beyond it brokers talk in circles."""


class RestlessError(Exception):
    """The brokers never stop sending to each other."""


@define(eq=False)
class SimulatedPublisher:
    """A client's publisher. `is_ready` once it may publish, `is_wanted` while a subscription overlaps it."""

    name: str
    site: Site
    kinds: str
    is_ready: bool = False
    is_wanted: bool = False

    @property
    def filter(self) -> Filter:
        """Return the filter that it advertises."""
        return filter_of(self.kinds)


@define(eq=False)
class SimulatedSubscriber:
    """A client's subscription; `is_open` once all gates are open."""

    name: str
    site: Site
    kinds: str
    is_open: bool = False
    since_ns: int | None = None
    newest: int = 0

    @property
    def filter(self) -> Filter:
        """Return the filter that it subscribes with."""
        return filter_of(self.kinds)


@define(eq=False)
class World:
    """All brokers, clients and connections at one moment, and the record of what clients saw.

    `owing` knows which deliveries are due; `acquainted` are the brokers that were all in one tree at rest.
    """

    ordering: OrderingFactory
    routing: Routing = DEFAULT
    weigh: Callable[[], float] = lambda: 1.0
    network: Network = Factory(Network)
    sites: dict[str, Site] = Factory(dict)
    publishers: dict[str, SimulatedPublisher] = Factory(dict)
    subscribers: dict[str, SimulatedSubscriber] = Factory(dict)
    record: Record = Factory(Record)
    actions: list[Action] = Factory(list)
    watch: Watch | None = None
    announce: Callable[[Action], None] | None = None
    after: After | None = None
    owing: Owing = field(init=False)
    has_losses: bool = False
    moves: dict[str, int] = Factory(dict)  # How often each has ended, as its asker learnt.
    retries: dict[Site, Destination] = Factory(dict)
    steps: int = 0
    needless: list[str] = Factory(list)
    """The items that have waited although no subscription asked for an order."""
    leasing: Leasing = Factory(Leasing)
    acquainted: frozenset[Site] = frozenset()
    past: SimulatedPast = field(init=False)
    pulling: dict[str, Port] = Factory(dict)
    _starts: dict[str, int] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self.owing = Owing(self.record)
        self.past = SimulatedPast(self.record, self.owing)

    def do(self, action: Action) -> bool:
        """Carry out an action and keep it; return whether it made sense."""
        self.actions.append(action)
        leasing.note_replaced(self, str(action[0]))
        if self.announce is not None:
            self.announce(action)
        made_sense = VERBS[str(action[0])](self, *action[1:])
        if not made_sense:
            self.actions.pop()
        return made_sense

    # --- brokers and connections ---

    def start(self, name: str) -> bool:
        """Start a broker."""
        if name in self.sites:
            return False
        count = self._starts[name] = self._starts.get(name, 0) + 1
        self.sites[name] = Site(name, BrokerCore(name, self.ordering, str(count), self.routing))
        return True

    def page(self, size_bytes: int) -> bool:
        """Let brokers that start from now on cut announcements into pages of this size."""
        self.routing = evolve(self.routing, page_bytes=size_bytes)
        return True

    def part(self, count: int) -> bool:
        """Let brokers that start from now on take parts of this size (`broker.core.crossing`)."""
        self.routing = evolve(self.routing, part_count=count)
        return True

    def continue_crossing(self, name: str) -> bool:
        """Let a broker take the next part of what a new neighbour is to know."""
        site = self.sites.get(name)
        if site is None or site.crossing is None or site.crossing.place < 0:
            return False
        self.network.ready.remove(site.crossing)
        site.core.continue_crossing()
        self.collect(site)
        return True

    def dial(self, child: str, parent: str) -> bool:
        """Let a root ask another broker to attach it; that one may still have an old link of this name.

        As in the shell, a broker has one link per name: the dialler must have noticed that an old one is
        lost, the listener closes an old one, unless it is itself below the dialler.
        """
        if child == parent or child not in self.sites or parent not in self.sites:
            return False
        dialler, listener = self.sites[child], self.sites[parent]
        if dialler.core.uplink is not None or dialler.dialling is not None:
            return False
        if dialler.link_to(parent) is not None:
            return False
        old = listener.link_to(child)
        if old is not None:
            if listener.outgoing[old].site is dialler and old in (listener.core.uplink, listener.asked):
                return False
            self.lose(listener.outgoing[old].back)
        self.note(promises.torn())
        dialler.dialling = self.network.connect(dialler, listener, (self.weigh(), self.weigh()))
        self.collect(listener)
        self.collect(dialler)
        return True

    def reach(self, name: str, *uplinks: str) -> bool:
        """Let a broker be dialled by others and search its uplink itself; its address is its name."""
        site = self.sites.get(name)
        if site is None or site.search is not None:
            return False
        site.search = Search(name, uplinks)
        site.core.reached_at(name)
        self.collect(site)
        return True

    def heal(self, name: str) -> bool:
        """Let a broker without an uplink dial its next candidate, or begin another round."""
        site = self.sites.get(name)
        if site is None or site.search is None or site.core.uplink is not None or site.dialling is not None:
            return False
        candidate = site.search.next(site.core.roster, site.core.below)
        if candidate is None:
            site.search.begin_round()
            return True
        if self.watch is not None:
            self.watch(name, f"tries {candidate.address}: {candidate.why}")
        site.candidate = candidate
        self.dial(name, candidate.address)
        return True

    def crash(self, name: str, *kept: str | int) -> bool:
        """Kill a broker; its neighbours receive a prefix of what it had sent."""
        site = self.sites.get(name)
        if site is None:
            return False
        del self.sites[name]
        self.has_losses = True
        self.note(promises.torn())
        prefixes = dict(zip(kept[::2], kept[1::2], strict=True))
        if site.crossing is not None:
            self.network.ready.remove(site.crossing)
        for port in site.outgoing.values():
            moving.excuse(self, site, port.site)
            self.past.link_lost()
            self.network.abandon(port.back)
            self.network.seal(port, int(prefixes.get(port.label, 0)))
        for gone in [each for each in self.publishers.values() if each.site is site]:
            self._forget_publisher(gone)
        for left in [each for each in self.subscribers.values() if each.site is site]:
            self._forget_subscriber(left)
        return True

    def cut(self, label: str, kept: int, kept_back: int) -> bool:
        """Break a connection of two live brokers; each receives a prefix and then notices the loss."""
        port = self.network.port(label)
        if port is None or port.is_sealed or port.back.is_sealed:
            return False
        self.has_losses = True
        moving.excuse(self, port.site, port.back.site)
        self.past.link_lost()
        self.network.seal(port, kept)
        self.network.seal(port.back, kept_back)
        return True

    def lose(self, port: Port, *, is_loss: bool = True) -> None:
        """Let the broker at this port notice that its connection is lost, or close it."""
        site = port.site
        if site.outgoing.pop(port.hop, None) is None:
            return
        if is_loss and (site.core.attached(port.hop) or site.asked is port.hop):
            self.note(promises.torn())
            moving.excuse(self, site, port.back.site)
            self.past.link_lost()
        self.network.abandon(port)
        self.network.seal(port.back, len(port.back.queue))
        if site.dialling is port:
            site.dialling = None
        if site.search is not None and site.core.uplink is port.hop:
            site.search.lost()
        site.core.close_link(port.hop)
        self.collect(site)

    # --- clients ---

    def advertise(self, name: str, broker: str, kinds: str) -> bool:
        """Let a client advertise what it will publish."""
        site = self.sites.get(broker)
        if site is None or name in self.publishers:
            return False
        self.publishers[name] = SimulatedPublisher(name, site, kinds)
        self.note(promises.advertise(name, kinds))
        site.core.advertise(name, filter_of(kinds))
        self.collect(site)
        return True

    def unadvertise(self, name: str) -> bool:
        """Withdraw a publisher."""
        publisher = self.publishers.get(name)
        if publisher is None:
            return False
        self._forget_publisher(publisher)
        publisher.site.core.unadvertise(name)
        self.collect(publisher.site)
        return True

    def subscribe(self, name: str, broker: str, kinds: str, *rest: str | int) -> bool:
        """Let a client subscribe."""
        site = self.sites.get(broker)
        if site is None or name in self.record.streams:
            return False
        options = dict(pairwise(rest))
        since_ns = int(options["since"]) if "since" in options else None
        self.subscribers[name] = SimulatedSubscriber(
            name, site, kinds, since_ns=since_ns, newest=int(options.get("newest", 0))
        )
        self.record.streams[name] = Stream("unordered" not in rest, kinds, broker)
        self.note(promises.subscribe(name, kinds))
        replays.subscribe(self, self.subscribers[name])
        self.collect(site)
        return True

    def keep(self, name: str, size_bytes: int = ENOUGH_BYTES, step_count: int = 1) -> bool:
        """Let a broker keep what its publishers publish."""
        site = self.sites.get(name)
        if site is None:
            return False
        self.record.caches_hold = self.record.caches_hold and size_bytes >= ENOUGH_BYTES
        site.core.bound_replays(Bounds(size_bytes, 10**6, 1, step_count))
        self.collect(site)
        return True

    def mark(self, name: str) -> bool:
        """Let a broker mark how far its cache goes."""
        site = self.sites.get(name)
        if site is None or not site.core.replays.is_mark_due:
            return False
        site.core.replays.mark()
        self.collect(site)
        return True

    def pull(self, name: str) -> bool:
        """Let the client of a subscription ask for more of the past."""
        port = self.pulling.get(name)
        if port is None or port.place < 0:
            return False
        self.network.ready.remove(port)
        if name in self.subscribers and self.sites.get(port.site.name) is port.site:
            port.site.core.replay_more(name, replays.ROOM_BYTES)
            self.collect(port.site)
        return True

    def unsubscribe(self, name: str) -> bool:
        """Withdraw a subscription."""
        subscriber = self.subscribers.get(name)
        if subscriber is None:
            return False
        self._forget_subscriber(subscriber)
        subscriber.site.core.unsubscribe(name)
        self.collect(subscriber.site)
        return True

    def _forget_publisher(self, publisher: SimulatedPublisher) -> None:
        del self.publishers[publisher.name]
        self.note(promises.unadvertise(publisher.name, publisher.kinds))

    def _forget_subscriber(self, subscriber: SimulatedSubscriber) -> None:
        del self.subscribers[subscriber.name]
        self.past.forget(subscriber.name)
        self.note(promises.unsubscribe(subscriber.name, subscriber.kinds))

    def note(self, operation: promises.Operation) -> None:
        """Append an operation to the formal trace: of a client, or of the overlay."""
        self.record.operations.append(operation)

    def publish(self, name: str, kind: str, *rest: str) -> bool:
        """Let a publisher that may publish do so; what it has read came before."""
        publisher = self.publishers.get(name)
        if publisher is None or not publisher.is_ready or kind not in publisher.kinds:
            return False
        ordered = "unordered" not in rest
        readers = [each for each in rest if each in self.record.streams]
        wanted_by = [(s.name, s.site) for s in self.subscribers.values() if s.is_open and kind in s.kinds]
        owed = self.owing.published_at(publisher.site, wanted_by)
        flags = (ordered, readers[0] if readers else None)
        published_ns = next((int(each[1:]) for each in rest if each.startswith("@")), None)
        if published_ns is None:
            published_ns = self.clock_ns
        else:
            self.record.clocks_agree = False
        published = self.record.publish(name, publisher.site.name, kind, flags, owed)
        published.wanted = tuple(wanted for wanted, _ in wanted_by)
        published.published_ns = published_ns
        self.past.published_at(publisher.site, published_ns, kind, list(self.subscribers.values()))
        event = (published.sequence, kind, ordered, published_ns)
        publication = replays.publication_for(publisher.site, name, event)
        publisher.site.core.publish(name, (publication,))
        self.collect(publisher.site)
        return True

    @property
    def clock_ns(self) -> int:
        """Return the time, which each publication advances by ten."""
        return 10 * len(self.record.publications) + 10

    @property
    def _owes_no_gap(self) -> bool:
        """Return whether an operator has moved brokers, and nothing was lost or has gone wrong."""
        return bool(self.moves) and not self.has_losses and not self.leasing.corruptions

    # --- what follows ---

    def deliver(self, label: str, count: int = 1) -> bool:
        """Deliver the next messages at the port of this label."""
        port = self.network.port(label)
        if port is None or not port.queue:
            return False
        self.arrive(port, count)
        return True

    def arrive(self, port: Port, count: int) -> None:
        """Feed the next messages to the core, then the end of the connection if it is reached."""
        site = port.site
        if port.subscription:
            self.pull(port.subscription)
            return
        if port.crosses:
            self.continue_crossing(site.name)
            return
        messages, is_lost = self.network.take(port, count)
        if self.watch is not None:
            self._show_arrivals(port, messages, self.watch, is_lost=is_lost)
        if messages:
            expired = site.core.leases.expired
            try:
                site.core.receive(port.hop, messages)
            except ProtocolError:
                if not self.leasing.is_damaged:
                    raise
                self.lose(port)
                return
            self.leasing.arrived(site, port.hop, messages, expired)
            self.collect(site, port, len(messages))
        if is_lost:
            self.lose(port)

    @staticmethod
    def _show_arrivals(port: Port, messages: list[LinkMessage], watch: Watch, *, is_lost: bool) -> None:
        sender = port.label.replace("<", ">").partition(".")[0].split(">")[0]
        for message in messages:
            watch(port.site.name, f"<{sender} {text_of(message)}")
        if is_lost:
            watch(port.site.name, f"<{sender} lost")

    def settle(self, *names: str) -> bool:
        """Deliver all messages in flight between some brokers, over connections that live."""
        sites = [self.sites[name] for name in names if name in self.sites]
        for _ in range(DRAIN_LIMIT):
            ports = [port for site in sites for port in site.outgoing.values() if port.site in sites]
            port = next((port for port in ports if port.queue and not port.is_sealed), None)
            if port is None and not any(self.continue_crossing(site.name) for site in sites):
                return True
            if port is not None:
                self.arrive(port, len(port.queue))
        raise RestlessError(f"{', '.join(names)} go on sending to each other for ever")

    def drain(self) -> bool:
        """Deliver all messages in flight, and all that follow from them."""
        ready = self.network.ready.ports
        for _ in range(DRAIN_LIMIT):
            if not ready and not moving.retry_any(self):
                self._come_to_rest()
                return True
            if ready:
                self.arrive(ready[0], len(ready[0].queue))
        raise RestlessError("brokers go on sending to each other for ever")

    def _come_to_rest(self) -> None:
        self.owing.at_rest(self.sites.values())
        self.past.at_rest()
        if sum(site.core.uplink is None for site in self.sites.values()) == 1:
            self.acquainted = frozenset(self.sites.values())
            self.note(promises.rest())
        else:
            self.note(promises.torn())

    def collect(self, site: Site, port: Port | None = None, count: int = 0) -> None:
        """Carry out the effects of a core."""
        self._release(site, site.core.take())
        # In a step everything for the child waits, and a broker with a wrong memory may wait for anything.
        if site.core.waiting_count and not (self.moves or self.leasing.is_excused):
            unordered = {name for name, stream in self.record.streams.items() if not stream.ordered}
            self.needless += needless_waits(site.core, unordered)
        if self.after is not None:
            self.after(site, port, count)

    def _release(self, site: Site, effects: CoreEffects) -> None:
        for kept, other in effects.switched:
            moving.switch(self, site, kept, other)
        if self.watch is not None:
            for hop, messages in effects.outgoing:
                place, sign = (site.name, f">{hop.name} ") if hop.is_link else (hop.name, "")
                for message in messages:
                    self.watch(place, sign + text_of(message))
        for hop, messages in self.network.carry(site, effects):
            self._take_deliveries(hop.name, messages)
        self._note_progress(effects)
        replays.go_on(self, effects.replaying)
        moving.answered(self, effects.explained)
        self._note_links(site, effects)
        if effects.is_unfinished:
            if site.crossing is None:
                site.crossing = Port(f"{site.name}+", site, NOWHERE, 1.0, crosses=True)
            self.network.ready.add(site.crossing)

    def _note_progress(self, effects: CoreEffects) -> None:
        for name in self.publishers.keys() & effects.advertised:
            self.publishers[name].is_ready = True
        for name in effects.subscribed:
            if name in self.record.streams:  # Memory may have invented it.
                self._acknowledged(name)
        for name, is_wanted in effects.wanted:
            if name in self.publishers:
                assert self.publishers[name].is_wanted is not is_wanted, f"{name} got the same notice twice"
                self.publishers[name].is_wanted = is_wanted

    def _note_links(self, site: Site, effects: CoreEffects) -> None:
        for hop in effects.attached:
            if site.asked is hop:
                site.dialling = None
                if site.search is not None and site.candidate is not None:
                    site.search.attached(site.candidate)
        for hop, verdict in effects.rejected:
            if (port := site.outgoing.get(hop)) is not None:
                self.has_losses = self.has_losses or verdict == BROKEN
                self.lose(port.back, is_loss=verdict != LEFT_OVER)
        for destination in effects.moving:
            moving.leave(self, site, destination)

    def _acknowledged(self, name: str) -> None:
        """Note that a client learns that all gates of its subscription are open."""
        self.note(promises.acknowledge(name, self.record.streams[name].kinds))
        if name in self.subscribers:
            self.subscribers[name].is_open = True

    def _take_deliveries(self, subscription: str, messages: list[LinkMessage]) -> None:
        for publication in messages:
            if isinstance(publication, PublicationsLost | ReplayCut):
                self.record.gap(subscription)
                if self._owes_no_gap and isinstance(publication, PublicationsLost):
                    self.needless.append(f"{subscription} has got a gap, and nothing was lost")
                continue
            assert isinstance(publication, Publication)
            self.record.deliver(subscription, publication)


VERBS: Final[Mapping[str, Callable[..., bool]]] = {
    "start": World.start,
    "page": World.page,
    "part": World.part,
    "continue": World.continue_crossing,
    "dial": World.dial,
    "reach": World.reach,
    "heal": World.heal,
    "move": moving.move,
    "retry": moving.retry,
    "crash": World.crash,
    "cut": World.cut,
    "advertise": World.advertise,
    "unadvertise": World.unadvertise,
    "subscribe": World.subscribe,
    "unsubscribe": World.unsubscribe,
    "refresh": leasing.refresh,
    "sweep": leasing.sweep,
    "corrupt": leasing.corrupt,
    "damage": leasing.damage,
    "publish": World.publish,
    "keep": World.keep,
    "mark": World.mark,
    "pull": World.pull,
    "deliver": World.deliver,
    "settle": World.settle,
    "drain": World.drain,
}
