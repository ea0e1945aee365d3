"""The station: the core, the sessions of its links, and the states of its publishers and subscriptions.

Laws.

1. Its whole state follows from its inputs, in their order: the same inputs give the same state, the same
   numbers on every link and the same positions of every subscription. There is no clock here and no chance.
2. Every input is handed to the `recorder` before it is applied. Without a recorder nothing is encoded.
3. `take` returns effects, as the core does, and numbers the outgoing messages. The lists in it are shared: a
   caller reads them and changes nothing.
4. Sessions resume from the states `links`, `publishers` and `subscriptions`.

With a journal, the user of a station lets no effect of an input out of the process before that input is
synced: another run might give other numbers to messages that a peer has already seen.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from attrs import AttrsInstance, frozen

from broker.core import BrokerCore, CoreEffects, Hop, LocalClients
from broker.filters import Filter
from broker.messages import LinkMessage, Publication
from broker.replay import Bounds, ReplayWindow
from broker.routing import DEFAULT, Routing
from broker.station import inputs as i
from broker.station.states import (
    DisconnectedSince,
    ElapsedTime,
    LinkState,
    LocalPublisherState,
    LocalSubscriptionState,
    SubscriptionTerms,
)
from ordering.interface import OrderingFactory

RETIRED_COUNT_MAX: Final = 10_000
"""Publishers remembered after they were withdrawn: a megabyte or two. The oldest is forgotten; its client
then gets a new id, which is correct but may deliver again what it sends again."""

Recorder = Callable[[bytes], object]


class _HopStream(Protocol):
    """Keeps the messages sent to a hop until they are acknowledged."""

    def add(self, batch: Sequence[LinkMessage], /) -> None: ...


@frozen
class Retired:
    """The owner of a withdrawn publisher, and its last sequence number: from these it is resumed."""

    client: str
    user: str
    taken: int


class Station:
    """One broker without its connections. `ordering_name` names its plugin, options included."""

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
        self._links: dict[str, LinkState] = {}
        self._publishers: dict[str, LocalPublisherState] = {}
        self._retired: OrderedDict[str, Retired] = OrderedDict()
        self._subscriptions: dict[str, LocalSubscriptionState] = {}
        self._durable: dict[tuple[str, str, str], LocalSubscriptionState] = {}
        self._link_of: dict[Hop, LinkState] = {}
        self._stream_of: dict[Hop, _HopStream] = {}
        self.elapsed = ElapsedTime()
        self._minted = 0
        self._taken = 0
        self.touched = 0
        """How often an input was recorded or applied: if this is the same, the state is the same."""
        self._is_recovered = False

    # --- reading ---

    @property
    def links(self) -> Mapping[str, LinkState]:
        """The open links, by the neighbour's name."""
        return self._links

    @property
    def publishers(self) -> Mapping[str, LocalPublisherState]:
        """The local publishers that are advertised, by id."""
        return self._publishers

    @property
    def subscriptions(self) -> Mapping[str, LocalSubscriptionState]:
        """The local subscriptions, by id."""
        return self._subscriptions

    def resumable(self, publisher: str, client: str, user: str) -> int | None:
        """Return the last sequence number of a retired publisher, or None if this client has no such."""
        known = self._retired.get(publisher)
        return known.taken if known is not None and (known.client, known.user) == (client, user) else None

    def durable(self, user: str, client: str, name: str) -> LocalSubscriptionState | None:
        """Return the durable subscription of that name, if that client has one."""
        return self._durable.get((user, client, name))

    def mint(self, client: str) -> str:
        """Return a fresh id for a publisher, subscription or question, unique in the overlay."""
        self._minted += 1
        return f"{client}@{self.name}.{self.incarnation}/{self._minted}"

    # --- recording ---

    def begin(self, recorder: Recorder) -> None:
        """Hand every input to the recorder from now on; a fresh station first records its own name."""
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
        """Count at least so many ids as made: a record or snapshot says so."""
        self._minted = max(self._minted, count)

    def recovered(self) -> None:
        """End the recovery: take the effects of the last record, as the next record states."""
        self.take()
        self._is_recovered = True

    # --- snapshots ---

    def state(self) -> tuple[object, ...]:
        """Return the state beside the core, as `restore` takes it."""
        states = self._links, self._publishers, self._retired, self._subscriptions
        return self._minted, *states, self.elapsed

    def restore(  # noqa: PLR0913, PLR0917 - one per kind of state
        self,
        minted: int,
        links: Mapping[str, LinkState],
        publishers: dict[str, LocalPublisherState],
        retired: OrderedDict[str, Retired],
        subscriptions: Mapping[str, LocalSubscriptionState],
        elapsed: ElapsedTime,
    ) -> None:
        """Restore the state beside the core, which has been restored before."""
        self.elapsed = elapsed
        self._minted, self._publishers, self._retired = minted, publishers, retired
        for link in links.values():
            self._add_link(link)
        for subscription in subscriptions.values():
            self._add_subscription(subscription)

    # --- reconnect timeouts ---

    def time_passed(self, awake_ms: int, asleep_ms: int, at_ms: int) -> None:
        """Record how much time has passed; `at_ms` is the time of the wall clock."""
        self._record(i.TimePassed(awake_ms, asleep_ms, at_ms))
        self.elapsed.passed(awake_ms, asleep_ms, at_ms)

    def left(self, kind: str, name: str) -> DisconnectedSince:
        """Record that a session is disconnected; return since when, which may be before a restart."""
        state = self._state_of(kind, name)
        if state.disconnected_since is None:
            self._record(i.Left(kind, name))
            state.disconnected_since = self.elapsed.now()
        return state.disconnected_since

    def came(self, kind: str, name: str) -> None:
        """Record that a session is connected again."""
        state = self._state_of(kind, name)
        if state.disconnected_since is not None:
            self._record(i.Came(kind, name))
            state.disconnected_since = None

    def _state_of(self, kind: str, name: str) -> LinkState | LocalPublisherState | LocalSubscriptionState:
        match kind:
            case "link":
                return self._links[name]
            case "publisher":
                return self._publishers[name]
            case _:
                return self._subscriptions[name]

    # --- links ---

    def reached_at(self, address: str) -> None:
        """Set the address at which other brokers dial this one ("": none); the same again changes nothing."""
        own = self.core.roster.own
        if own is None or own.address != address:
            self._record(i.ReachedAt(address))
            self.core.reached_at(address)

    def open_link(self, name: str, session: str, *, uplink: bool) -> Hop:
        """Open a link with a new session to a neighbour of which no link is open; return its hop."""
        assert name not in self._links
        self._record(i.LinkOpened(name, session, uplink))
        hop = self.core.open_link(name, uplink=uplink)
        state = LinkState(name, hop, uplink, session)
        self._add_link(state)
        return hop

    def _add_link(self, state: LinkState) -> None:
        self._links[state.name] = self._link_of[state.hop] = state
        self._stream_of[state.hop] = state._outgoing  # noqa: SLF001 - the state shows what the station keeps

    def close_link(self, link: Hop) -> None:
        """Declare the link lost: forget its session (R8)."""
        state = self._link_of.get(link)
        if state is None:
            return
        self._record(i.LinkClosed(link.number))
        del self._link_of[link], self._links[state.name], self._stream_of[link]
        self.core.close_link(link)

    def receive(self, link: Hop, messages: Sequence[LinkMessage]) -> None:
        """Take session frames that arrived over the newest connection of a link.

        Raises:
            ProtocolError: the neighbour may not send this now; close the link.
        """
        self.touched += 1
        if self.recorder is not None:
            self.recorder(i.record_of_received(link.number, messages, self._taken))
            self._taken = 0
        self._link_of[link].received += len(messages)
        self.core.receive(link, messages)

    def acknowledged(self, link: Hop, count: int) -> None:
        """Take an acknowledgement of the first `count` session frames; an old one changes nothing.

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
        """Advertise a local publisher; return its last sequence number, if it is resumed, or 0."""
        assert publisher not in self._publishers
        self._record(i.AdvertisedInput(publisher, content, client, user, self._minted))
        taken = self.resumable(publisher, client, user) or 0
        self._retired.pop(publisher, None)
        self._publishers[publisher] = LocalPublisherState(publisher, content, client, user, taken)
        self.core.advertise(publisher, content)
        return taken

    def unadvertise(self, publisher: str, *, retire: bool = False) -> None:
        """Withdraw a local publisher; one that retires may be resumed."""
        state = self._publishers[publisher]
        self._record(i.Unadvertised(publisher, retire))
        del self._publishers[publisher]
        if retire:
            self._retired[publisher] = Retired(state.client, state.user, state.taken)
            if len(self._retired) > RETIRED_COUNT_MAX:
                self._retired.popitem(last=False)
        self.core.unadvertise(publisher)

    def publish(self, publisher: str, publications: Sequence[Publication]) -> None:
        """Publish the next publications of a local publisher whose barrier is passed."""
        state = self._publishers[publisher]
        assert publications[0].sequence == state.taken + 1
        self.touched += 1
        if self.recorder is not None:
            self.recorder(i.record_of_published(publications, self._taken))
            self._taken = 0
        state.taken = publications[-1].sequence
        self.core.publish(publisher, publications)

    # --- subscriptions ---

    def subscribe(self, subscription: str, terms: SubscriptionTerms, replay: tuple[int, ...] = ()) -> Hop:
        """Subscribe for a local client that has no durable subscription of that name; return the hop.

        `replay` is empty, or the start (in nanoseconds since 1970) and the number (0: all) of the past
        publications to deliver first.
        """
        assert subscription not in self._subscriptions
        assert not terms.durable or terms.durable_name not in self._durable
        self._record(i.SubscribedInput(subscription, terms, self._minted, replay))
        window = None
        if replay:
            since_ns, count = replay
            window = ReplayWindow(since_ns, count, terms.bound_bytes)
        hop = self.core.subscribe(subscription, terms.filter, ordered=terms.ordered, window=window)
        self._add_subscription(LocalSubscriptionState(subscription, terms, hop))
        return hop

    def _add_subscription(self, state: LocalSubscriptionState) -> None:
        self._subscriptions[state.id] = state
        self._stream_of[state.hop] = state._stream  # noqa: SLF001 - as above
        if state.terms.durable:
            self._durable[state.terms.durable_name] = state

    def unsubscribe(self, subscription: str) -> None:
        """End a local subscription: forget its state and its stream."""
        state = self._subscriptions[subscription]
        self._record(i.Unsubscribed(subscription))
        del self._subscriptions[subscription], self._stream_of[state.hop]
        if state.terms.durable:
            del self._durable[state.terms.durable_name]
        self.core.unsubscribe(subscription)

    def taken(self, subscription: str, position: int) -> None:
        """Take the confirmation of all deliveries up to this position: they are not kept any more.

        Raises:
            SessionError: so much was never delivered.
        """
        stream = self._subscriptions[subscription]._stream  # noqa: SLF001 - as above
        stream.check_sent(position)
        if position > stream.acknowledged:
            self._record(i.Taken(subscription, position))
            stream.acknowledge(position)

    def drop(self, subscription: str, count: int) -> None:
        """The newest deliveries are too many to keep: they become a gap in the stream.

        Raises:
            SessionError: so many are not kept.
        """
        stream = self._subscriptions[subscription]._stream  # noqa: SLF001 - as above
        stream.check_kept(count)
        self._record(i.Dropped(subscription, count))
        stream.drop_newest(count)

    # --- new neighbours ---

    def continue_crossing(self) -> None:
        """Go on with what a new neighbour is to know."""
        self._record(i.CrossingContinued())
        self.core.continue_crossing()

    # --- leases ---

    def refresh(self) -> None:
        """Renew all announcements at each neighbour."""
        self._record(i.Refreshed())
        publishers, subscriptions = self._publishers.values(), self._subscriptions.values()
        opened = {each.id for each in publishers if each.is_open}
        opened.update(each.id for each in subscriptions if each.is_open)
        self.core.refresh(
            LocalClients(
                {each.id: each.filter for each in publishers},
                {each.id: (each.terms.filter, each.terms.ordered) for each in subscriptions},
                opened,
            )
        )

    def sweep(self, missed_renewals_max: int) -> None:
        """Let routing state expire that so many renewals in a row have left out."""
        self._record(i.Swept(missed_renewals_max))
        self.core.sweep(missed_renewals_max)

    # --- the past ---

    def replay_more(self, subscription: str, size_bytes: int) -> None:
        """Replay up to this many bytes to a subscription that has room for them."""
        self._record(i.ReplayWanted(subscription, size_bytes))
        self.core.replay_more(subscription, size_bytes)

    def bound_replays(self, bounds: Bounds) -> None:
        """Set the limits of the cache of past publications; the same limits change nothing."""
        if self.core.replays.bounds != bounds:
            content = i.ReplaysBounded(bounds.size_bytes, bounds.count, bounds.part_bytes, bounds.step_count)
            self._record(content)
            self.core.bound_replays(bounds)

    def forget_before(self, before_ns: int) -> None:
        """Drop cached publications that are older than this; without any, nothing changes."""
        if self.core.cache.has_before(before_ns):
            self._record(i.CacheAged(before_ns))
            self.core.cache.forget_before(before_ns)

    def mark_position(self) -> None:
        """Send neighbours a mark of the position in the cache; if none is due, nothing changes."""
        if self.core.replays.is_mark_due:
            self._record(i.PositionMarked())
            self.core.replays.mark()

    # --- explaining ---

    def explain_way(self, question: str, publisher: str, sequence: int) -> None:
        """Ask every broker that a publication has reached for its part of the way."""
        self._record(i.WayExplained(question, publisher, sequence, self._minted))
        self.core.explain_way(question, publisher, sequence)

    # --- moves ---

    def _switch(self, kept: Hop, other: Hop) -> None:
        """Let two hops change their links."""
        old, new = self._link_of[kept], self._link_of[other]
        old.hop, new.hop = other, kept
        for state in (old, new):
            self._link_of[state.hop] = state
            self._stream_of[state.hop] = state._outgoing  # noqa: SLF001 - as above

    def step_failed(self, text: str) -> None:
        """Take it that the broker for a step of a move was not reached."""
        self._record(i.StepFailed(text))
        self.core.step_failed(text)

    def move(self, question: str, broker: str, uplink: str, method: str) -> None:
        """Ask a broker of the overlay to move below another one."""
        self._record(i.MoveWanted(question, broker, uplink, method, self._minted))
        self.core.move(question, broker, uplink, method)

    # --- effects ---

    def take(self) -> CoreEffects:
        """Return the effects since the last call; outgoing messages are numbered and kept (law 3)."""
        self.touched += 1
        self._taken = i.TAKEN
        effects = self.core.take()
        for kept, other in effects.switched:
            self._switch(kept, other)
        streams = self._stream_of
        for hop, messages in effects.outgoing:
            streams[hop].add(messages)
        # A client may have withdrawn its request in the same step.
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
