"""The station: the core, the sessions of its links, and the places of its publishers and subscriptions.

Laws.

1. Its whole state follows from its inputs, in their order: the same inputs give the same state, the same
   numbers on every link and the same positions of every subscription. There is no clock here and no chance.
2. Every input is handed to the `recorder` before it is applied. Without a recorder nothing is encoded.
3. `take` hands over effects, as the core does, and numbers what leaves. The lists in it are shared: whoever
   takes them reads them and changes nothing.
4. What was said once is also state (`links`, `publishers`, `subscriptions`), for those who come back.

With a journal, whoever uses a station lets nothing out of the process that follows from an input before that
input is synced: another run might number differently what somebody has already seen.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from attrs import AttrsInstance, frozen

from broker.core import BrokerCore, CoreEffects, Hop
from broker.filters import Filter
from broker.messages import LinkMessage, Publication
from broker.replay import Bounds, ReplayWindow
from broker.routing import DEFAULT, Routing
from broker.station import inputs as i
from broker.station.places import (
    Away,
    LinkPlace,
    PublisherPlace,
    SubscriptionPlace,
    SubscriptionTerms,
    Waited,
)
from ordering.interface import OrderingFactory

RETIRED_COUNT_MAX: Final = 10_000
"""Publishers remembered after they were withdrawn: a megabyte or two. The oldest is forgotten; its client
then gets a new id, which is correct but may deliver again what it sends again."""

Recorder = Callable[[bytes], object]


class _Sink(Protocol):
    """Keeps what leaves through a hop."""

    def add(self, batch: Sequence[LinkMessage], /) -> None: ...


@frozen
class Retired:
    """What has to be known of a publisher to go on: whose it was, and how far it had come."""

    client: str
    user: str
    taken: int


class Station:
    """One broker, but for its connections. `ordering_name` says which plugin it has, options included."""

    def __init__(
        self,
        name: str,
        ordering: OrderingFactory,
        incarnation: str = "",
        *,
        ordering_name: str = "",
        routing: Routing = DEFAULT,
    ) -> None:
        self.name = name
        self.incarnation = incarnation
        self.ordering_name = ordering_name
        self.core = BrokerCore(name, ordering, incarnation, routing)
        self.recorder: Recorder | None = None
        self._links: dict[str, LinkPlace] = {}
        self._publishers: dict[str, PublisherPlace] = {}
        self._retired: OrderedDict[str, Retired] = OrderedDict()
        self._subscriptions: dict[str, SubscriptionPlace] = {}
        self._durable: dict[tuple[str, str, str], SubscriptionPlace] = {}
        self._link_of: dict[Hop, LinkPlace] = {}
        self._sinks: dict[Hop, _Sink] = {}
        self.waited = Waited()
        self._minted = 0
        self._taken = 0
        self.touched = 0
        """How often anything here was recorded or applied: if that is the same, the state is the same."""
        self._is_recovered = False

    # --- looking ---

    @property
    def links(self) -> Mapping[str, LinkPlace]:
        """The open links, by the neighbour's name."""
        return self._links

    @property
    def publishers(self) -> Mapping[str, PublisherPlace]:
        """The local publishers that are advertised, by id."""
        return self._publishers

    @property
    def subscriptions(self) -> Mapping[str, SubscriptionPlace]:
        """The local subscriptions, by id."""
        return self._subscriptions

    def resumable(self, publisher: str, client: str, user: str) -> int | None:
        """How far a retired publisher had come, or None if it is not known as this client's."""
        known = self._retired.get(publisher)
        return known.taken if known is not None and (known.client, known.user) == (client, user) else None

    def durable(self, user: str, client: str, name: str) -> SubscriptionPlace | None:
        """Return the durable subscription of that name, if that client has one."""
        return self._durable.get((user, client, name))

    def mint(self, client: str) -> str:
        """Return a fresh id for a publisher, subscription or question, unique in the overlay."""
        self._minted += 1
        return f"{client}@{self.name}.{self.incarnation}/{self._minted}"

    # --- writing down ---

    def begin(self, recorder: Recorder) -> None:
        """From now on hand every input to the recorder; a fresh station first says whose the records are."""
        self.recorder = recorder
        if not self._is_recovered:
            self._record(i.Begun(i.FORMAT, self.name, self.incarnation, self.ordering_name))

    def _record(self, content: AttrsInstance) -> None:
        self.touched += 1
        if self.recorder is not None:
            self.recorder(i.record_of(content, self._taken))
            self._taken = 0

    def link_at(self, number: int) -> Hop:
        """Return the link whose hop has this number, as records name it.

        Raises:
            KeyError: there is none.
        """
        for hop in self._link_of:
            if hop.number == number:
                return hop
        raise KeyError(number)

    def minted(self, count: int) -> None:
        """So many ids had been made when something was written down."""
        self._minted = max(self._minted, count)

    def recovered(self) -> None:
        """What was written down has been applied; its effects were taken, and the next record says so."""
        self.take()
        self._is_recovered = True

    # --- pictures ---

    def state(self) -> tuple[object, ...]:
        """What there is beside the core, for `restore`."""
        places = self._links, self._publishers, self._retired, self._subscriptions
        return self._minted, *places, self.waited

    def restore(  # noqa: PLR0913, PLR0917 - one per kind of place
        self,
        minted: int,
        links: Mapping[str, LinkPlace],
        publishers: dict[str, PublisherPlace],
        retired: OrderedDict[str, Retired],
        subscriptions: Mapping[str, SubscriptionPlace],
        waited: Waited,
    ) -> None:
        """Go on from there; the core has been restored."""
        self.waited = waited
        self._minted, self._publishers, self._retired = minted, publishers, retired
        for link in links.values():
            self._add_link(link)
        for subscription in subscriptions.values():
            self._add_subscription(subscription)

    # --- absences ---

    def time_passed(self, awake_ms: int, asleep_ms: int, at_ms: int) -> None:
        """So much time has passed; `at_ms` is what the clock on the wall says."""
        self._record(i.TimePassed(awake_ms, asleep_ms, at_ms))
        self.waited.passed(awake_ms, asleep_ms, at_ms)

    def left(self, kind: str, name: str) -> Away:
        """Somebody has no connection any more; return since when, for one that was away before."""
        place = self._place(kind, name)
        if place.away is None:
            self._record(i.Left(kind, name))
            place.away = self.waited.now()
        return place.away

    def came(self, kind: str, name: str) -> None:
        """Somebody has a connection again."""
        place = self._place(kind, name)
        if place.away is not None:
            self._record(i.Came(kind, name))
            place.away = None

    def _place(self, kind: str, name: str) -> LinkPlace | PublisherPlace | SubscriptionPlace:
        match kind:
            case "link":
                return self._links[name]
            case "publisher":
                return self._publishers[name]
            case _:
                return self._subscriptions[name]

    # --- links ---

    def reached_at(self, address: str) -> None:
        """Others can dial this broker there ("" if they cannot); what is known already changes nothing."""
        own = self.core.roster.own
        if own is None or own.address != address:
            self._record(i.ReachedAt(address))
            self.core.reached_at(address)

    def open_link(self, name: str, session: str, *, uplink: bool) -> Hop:
        """A neighbour greeted us, and a new session was agreed on; there is no open link of that name."""
        assert name not in self._links
        self._record(i.LinkOpened(name, session, uplink))
        hop = self.core.open_link(name, uplink=uplink)
        place = LinkPlace(name, hop, uplink, session)
        self._add_link(place)
        return hop

    def _add_link(self, place: LinkPlace) -> None:
        self._links[place.name] = self._link_of[place.hop] = place
        self._sinks[place.hop] = place._outgoing  # noqa: SLF001 - a place shows what the station keeps

    def close_link(self, link: Hop) -> None:
        """The link is declared lost: its session is forgotten (R8)."""
        place = self._link_of.get(link)
        if place is None:
            return
        self._record(i.LinkClosed(link.number))
        del self._link_of[link], self._links[place.name], self._sinks[link]
        self.core.close_link(link)

    def receive(self, link: Hop, messages: Sequence[LinkMessage]) -> None:
        """Take session frames that came over the newest connection of a link.

        Raises:
            ProtocolError: the neighbour may not say that now; close the link.
        """
        self.touched += 1
        if self.recorder is not None:
            self.recorder(i.record_of_received(link.number, messages, self._taken))
            self._taken = 0
        self._link_of[link].received += len(messages)
        self.core.receive(link, messages)

    def acknowledged(self, link: Hop, count: int) -> None:
        """The neighbour has so many of our session frames; a count that is not news changes nothing.

        Raises:
            SessionError: so many were never sent.
        """
        outgoing = self._link_of[link]._outgoing  # noqa: SLF001 - as above
        outgoing.check_sent(count)
        if count > outgoing.acknowledged:
            self._record(i.Acknowledged(link.number, count))
            outgoing.acknowledge(count)

    # --- publishers ---

    def advertise(self, publisher: str, content: Filter, *, client: str = "", user: str = "") -> int:
        """A local publisher announces what it will publish; return how far it had come before."""
        assert publisher not in self._publishers
        self._record(i.AdvertisedInput(publisher, content, client, user, self._minted))
        taken = self.resumable(publisher, client, user) or 0
        self._retired.pop(publisher, None)
        self._publishers[publisher] = PublisherPlace(publisher, content, client, user, taken)
        self.core.advertise(publisher, content)
        return taken

    def unadvertise(self, publisher: str, *, retire: bool = False) -> None:
        """A local publisher is gone; one that retires may come back and go on."""
        place = self._publishers[publisher]
        self._record(i.Unadvertised(publisher, retire))
        del self._publishers[publisher]
        if retire:
            self._retired[publisher] = Retired(place.client, place.user, place.taken)
            if len(self._retired) > RETIRED_COUNT_MAX:
                self._retired.popitem(last=False)
        self.core.unadvertise(publisher)

    def publish(self, publisher: str, publications: Sequence[Publication]) -> None:
        """A local publisher whose barrier is passed publishes what follows on what was taken of it."""
        place = self._publishers[publisher]
        assert publications[0].sequence == place.taken + 1
        self.touched += 1
        if self.recorder is not None:
            self.recorder(i.record_of_published(publications, self._taken))
            self._taken = 0
        place.taken = publications[-1].sequence
        self.core.publish(publisher, publications)

    # --- subscriptions ---

    def subscribe(self, subscription: str, terms: SubscriptionTerms, replay: tuple[int, ...] = ()) -> Hop:
        """A local client subscribes; there is no durable subscription of that name and client.

        `replay` is empty, or since when (in nanoseconds since 1970) and how many (0: all) of the past it is
        to have first.
        """
        assert subscription not in self._subscriptions
        assert not terms.durable or terms.durable_name not in self._durable
        self._record(i.SubscribedInput(subscription, terms, self._minted, replay))
        window = None
        if replay:
            since_ns, count = replay
            window = ReplayWindow(since_ns, count, terms.bound_bytes)
        hop = self.core.subscribe(subscription, terms.filter, ordered=terms.ordered, window=window)
        self._add_subscription(SubscriptionPlace(subscription, terms, hop))
        return hop

    def _add_subscription(self, place: SubscriptionPlace) -> None:
        self._subscriptions[place.id] = place
        self._sinks[place.hop] = place._stream  # noqa: SLF001 - as above
        if place.terms.durable:
            self._durable[place.terms.durable_name] = place

    def unsubscribe(self, subscription: str) -> None:
        """A local subscription ends: its place and what was kept for it are forgotten."""
        place = self._subscriptions[subscription]
        self._record(i.Unsubscribed(subscription))
        del self._subscriptions[subscription], self._sinks[place.hop]
        if place.terms.durable:
            del self._durable[place.terms.durable_name]
        self.core.unsubscribe(subscription)

    def taken(self, subscription: str, position: int) -> None:
        """The user has had everything up to this position; it is not kept any more.

        Raises:
            SessionError: so much was never delivered.
        """
        stream = self._subscriptions[subscription]._stream  # noqa: SLF001 - as above
        stream.check_sent(position)
        if position > stream.acknowledged:
            self._record(i.Taken(subscription, position))
            stream.acknowledge(position)

    def drop(self, subscription: str, count: int) -> None:
        """The newest deliveries are too many to keep: they become a gap in their place.

        Raises:
            SessionError: so many are not kept.
        """
        stream = self._subscriptions[subscription]._stream  # noqa: SLF001 - as above
        stream.check_kept(count)
        self._record(i.Dropped(subscription, count))
        stream.drop_newest(count)

    # --- leases ---

    def refresh(self) -> None:
        """Say again to each neighbour what it has been told."""
        self._record(i.Refreshed())
        self.core.refresh()

    def sweep(self, patience: int) -> None:
        """Forget what neighbours have not said again for so many sweeps."""
        self._record(i.Swept(patience))
        self.core.sweep(patience)

    # --- the past ---

    def replay_more(self, subscription: str, size_bytes: int) -> None:
        """A subscription that waits for its past has room for so much of it."""
        self._record(i.ReplayWanted(subscription, size_bytes))
        self.core.replay_more(subscription, size_bytes)

    def bound_replays(self, bounds: Bounds) -> None:
        """Keep so much of the recent past; what is known already changes nothing."""
        if self.core.replays.bounds != bounds:
            content = i.ReplaysBounded(bounds.size_bytes, bounds.count, bounds.part_bytes, bounds.step_count)
            self._record(content)
            self.core.bound_replays(bounds)

    def forget_before(self, before_ns: int) -> None:
        """What was published before this is too old to be kept; without any, nothing changes."""
        if self.core.cache.has_before(before_ns):
            self._record(i.CacheAged(before_ns))
            self.core.cache.forget_before(before_ns)

    # --- explaining ---

    def explain_way(self, question: str, publisher: str, sequence: int) -> None:
        """Ask every broker that a publication came to for its part."""
        self._record(i.WayExplained(question, publisher, sequence, self._minted))
        self.core.explain_way(question, publisher, sequence)

    # --- what is due ---

    def take(self) -> CoreEffects:
        """Hand over what became due since the last call, numbered and kept (law 3)."""
        self.touched += 1
        self._taken = i.TAKEN
        effects = self.core.take()
        sinks = self._sinks
        for hop, messages in effects.outgoing:
            sinks[hop].add(messages)
        # A client may have withdrawn in the same step what it asked for.
        for publisher in effects.advertised:
            if (advertised := self._publishers.get(publisher)) is not None:
                advertised.is_open = True
        for publisher, is_wanted in effects.wanted:
            self._publishers[publisher].is_wanted = is_wanted
        for subscription in effects.subscribed:
            if (subscribed := self._subscriptions.get(subscription)) is not None:
                subscribed.is_open = True
        for hop, verdict in effects.rejected:
            if (link := self._link_of.get(hop)) is not None:
                link.verdict = verdict
        return effects
