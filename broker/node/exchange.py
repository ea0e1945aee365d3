"""The exchange between connections and the station: it carries out the effects of the core.

Laws:

1. The station is called from here and from the sessions, always within one step: feed it, `settle`. After
   `settle` no effect of the core is left over.
2. Backpressure on publishers is decided here: by a link's queue (`broker.node.credit`), a subscriber that is
   slower but makes progress (`broker.node.backpressure`), publications that are pending in the ordering
   plugin, and a journal without room.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from attrs import Factory, define, field

from broker.core import BrokerCore, CoreEffects, Destination, Hop
from broker.core.demand import Demand
from broker.filters import Filter
from broker.healing import Search
from broker.messages import LinkMessage, Publication, WayAnswer
from broker.node.backpressure import SLOW_AFTER_S
from broker.node.budget import Budgets, Resource
from broker.node.config import NodeConfig
from broker.node.connection import Connection, fault_of
from broker.node.credit import CreditBatch, Granting, Share
from broker.node.log import Log
from broker.node.queues import FrameRun, LinkQueue, RunCache
from broker.node.reconnect_timeouts import ReconnectTimeouts
from broker.node.replaying import Replaying
from broker.node.timers import Timer, Timers
from broker.node.totals import Totals
from broker.station import LinkState, Station

if TYPE_CHECKING:
    from broker.node.publishers import LocalPublisher
    from broker.node.subscriptions import LocalSubscription


WAITING_COUNT_MAX: Final = 20_000
"""While more publications than this are pending, lower hops get no credit: a few megabytes of small events,
and some hundred milliseconds of a fast broker's work when the acknowledgement comes."""

JUDGING_INTERVAL_S: Final = SLOW_AFTER_S / 5
"""How often subscriptions for which publishers wait are judged."""


class HopSession(Protocol):
    """The session of a hop: a link's or a subscription's."""

    def put(
        self, messages: Sequence[LinkMessage], run: FrameRun | None, batch: CreditBatch | None, now_s: float
    ) -> None:
        """Queue the messages of one step to this hop; `run` holds their bytes if all are publications."""
        ...


class OfferWatch(Protocol):
    """A client's watch of what is on offer."""

    filter: Filter

    def changed(self, changes: Sequence[tuple[str, Filter | None, Filter | None]]) -> None:
        """Take advertisements with their filters before and now."""
        ...


class OpenLink(HopSession, Granting, Protocol):
    """A link to another broker, known by its name."""

    queue: LinkQueue
    publications_in: int
    publications_out: int
    connections: int

    @property
    def name(self) -> str:
        """The neighbour's name."""
        ...

    @property
    def is_connected(self) -> bool:
        """Whether it has a connection now."""
        ...

    @property
    def state(self) -> LinkState:
        """The link's state at the station."""
        ...

    @property
    def is_uplink(self) -> bool:
        """Whether the neighbour is our parent."""
        ...

    def acknowledge(self) -> None:
        """Acknowledge the frames received since the last acknowledgement, if there are any."""
        ...

    def attached(self) -> None:
        """Take the link as part of the tree."""
        ...

    def rejected(self, verdict: str) -> None:
        """Close the link: the neighbour's tree has rejected the attachment."""
        ...


class ThrottlingSubscription(Protocol):
    """A subscription for which publishers may have to wait."""

    def judge(self, now_s: float) -> bool:
        """Decide whether it is slow; return whether publishers still wait for it."""
        ...


Tally = Callable[[Sequence[tuple[Hop, Sequence[LinkMessage]]]], None]
"""Counts the messages that leave a broker, for measurements by kind."""


@define(eq=False)
class Exchange:
    """The state that all connections of one broker share.

    `records` counts the records of this run, `synced` those of them on disk; both stay 0 without a journal.
    `fresh_records`, `filled_connections` and `ended_connections` are of the present step, for the node.
    """

    station: Station
    config: NodeConfig
    search: Search
    wall_ns: Callable[[], int]
    timers: Timers = Factory(Timers)
    log: Log = Factory(Log)
    share: Share = Factory(Share)
    totals: Totals = Factory(Totals)
    budgets: Budgets = Factory(lambda self: Budgets(self.config.limits), takes_self=True)
    links: dict[str, OpenLink] = field(factory=dict, init=False)
    link_of: dict[Hop, OpenLink] = field(factory=dict, init=False)
    publishers: dict[str, "LocalPublisher"] = field(factory=dict, init=False)
    subscribers: dict[str, "LocalSubscription"] = field(factory=dict, init=False)
    session_of: dict[Hop, HopSession] = field(factory=dict, init=False)
    watches: dict[OfferWatch, None] = field(factory=dict, init=False)
    is_closing: bool = field(default=False, init=False)
    is_leaving: bool = field(default=False, init=False)
    """Whether an operator has asked the broker to end: it will not return, even with a journal."""
    is_withholding: bool = field(default=False, init=False)
    last_publication: Publication | None = field(default=None, init=False)
    tally: Tally | None = field(default=None, init=False)
    records: int = field(default=0, init=False)
    synced: int = field(default=0, init=False)
    has_room: bool = field(default=True, init=False)
    is_full: bool = field(default=False, init=False)
    fresh_records: list[bytes] = field(factory=list, init=False)
    filled_connections: list[Connection] = field(factory=list, init=False)
    ended_connections: list[Connection] = field(factory=list, init=False)
    _lower: dict[Granting, None] = field(factory=dict, init=False)
    _is_starved: bool = field(default=False, init=False)
    _throttling: dict[ThrottlingSubscription, None] = field(factory=dict, init=False)
    _judging: Timer | None = field(default=None, init=False)
    _crossing: Timer | None = field(default=None, init=False)
    _questions: dict[str, Callable[[WayAnswer], None]] = field(factory=dict, init=False)
    _ending: list[Callable[[], None]] = field(factory=list, init=False)
    move: Callable[[Destination], None] = field(default=lambda _: None, init=False)
    """Goes to another uplink, by a step or by detaching; the node sets it."""
    switched: Callable[[], None] = field(default=lambda: None, init=False)
    """Takes notice that the uplink has another link; the node sets it."""
    core: BrokerCore = field(init=False)
    """The core, for reading only: only the station changes it."""
    _demand: Demand = field(init=False)
    reconnect_timeouts: ReconnectTimeouts = field(init=False)
    replaying: Replaying = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.core = self.station.core
        self._demand = self.core.tables.demand
        remembering = self.station if self.config.has_journal else None
        self.reconnect_timeouts = ReconnectTimeouts(self.settle, self.timers, self.wall_ns, remembering)
        self.replaying = Replaying(self.station, self.settle, self.timers, self.wall_ns)

    @property
    def now_s(self) -> float:
        """The time of the present step."""
        return self.timers.now_s

    @property
    def is_kept(self) -> bool:
        """Whether a session without connection may be resumed, in this run or the journal's next one."""
        return not self.is_closing or (self.config.has_journal and not self.is_leaving)

    # --- questions ---

    def question(self, answer: Callable[[WayAnswer], None]) -> str:
        """Return an id for a question to the overlay; `answer` is called with each page of the answer."""
        name = self.station.mint("?")
        self._questions[name] = answer
        self.budgets.broker.charge(Resource.QUESTIONS)
        return name

    def forget_question(self, name: str) -> None:
        """Forget a question that has been answered or whose client has gone."""
        if self._questions.pop(name, None) is not None:
            self.budgets.broker.release(Resource.QUESTIONS)

    # --- the journal ---

    def record(self, record: bytes) -> None:
        """Take a record for the journal; its effects leave when it is on disk."""
        self.fresh_records.append(record)
        self.records += 1

    @property
    def is_clear(self) -> bool:
        """Whether every record is on disk, so that everything may leave."""
        return self.synced >= self.records

    def may_grant(self) -> bool:
        """Whether the journal has room for more than was granted; if not, see `grant_withheld`."""
        if self.has_room:
            return True
        self._is_starved = True
        return False

    def grant_withheld(self) -> None:
        """Grant the credit that was withheld while the journal had no room, if it has some now."""
        if self._is_starved and self.may_grant():
            self._is_starved = False
            for session in [*self._lower, *self.links.values()]:
                session.grant()

    # --- connections ---

    def filled(self, connection: Connection) -> None:
        """Write what this connection has to send, before the step ends or soon after."""
        connection.is_filled = True
        self.filled_connections.append(connection)

    def ended(self, connection: Connection) -> None:
        """Notify the session of this connection before the step ends."""
        self.ended_connections.append(connection)

    def contain(self, connection: Connection, error: Exception) -> None:
        """End the connection on which a defect was met that has hurt nothing (`broker.node.node`, law 3)."""
        self.log.error("defect contained", peer=connection.peer, exc_info=error)
        self.totals.defects += 1
        connection.is_malformed = True
        text = "something that was sent here has met a defect of this broker; its log says more"
        connection.end(f"defect: {error!r:.200}", fault_of("defect", text))

    # --- what the core decided ---

    def settle(self, batch: CreditBatch | None = None) -> None:
        """Carry out what the core decided; `batch` is what was read, if its reader waits for credit."""
        held = batch
        while True:
            effects = self._take()
            if effects.outgoing:
                runs, now_s = RunCache(), self.timers.now_s
                if self.tally is not None:
                    self.tally(effects.outgoing)
                for hop, messages in effects.outgoing:
                    self.session_of[hop].put(messages, runs.run(messages), held, now_s)
            if effects.has_news or self._demand.watches_touched:
                self._notify_clients(effects)
                self._carry_out_links(effects)
            if not self._ending:
                break
            ending, self._ending, held = self._ending, [], None
            for end in ending:
                end()
        if batch is not None:
            batch.release()
        waiting_count = self.core.ordering.waiting_count
        is_over = waiting_count > WAITING_COUNT_MAX
        if waiting_count or self.totals.waiting_count or is_over is not self.is_withholding:
            self._note_waiting(waiting_count, is_over=is_over)

    def _take(self) -> CoreEffects:
        """Take the effects of the core; let links change their hops first, as the station has done."""
        effects = self.station.take()
        for hops in effects.switched:
            for hop in hops:
                link = next(each for each in self.links.values() if each.state.hop is hop)
                self.link_of[hop] = self.session_of[hop] = link
            self.switched()
        return effects

    def after(self, step: Callable[[], None]) -> None:
        """Call this once the effects at hand are carried out: it will call the core."""
        self._ending.append(step)

    def _notify_clients(self, effects: CoreEffects) -> None:
        # A client may have withdrawn in the same step what it asked for.
        for identity in effects.advertised:
            if (publisher := self.publishers.get(identity)) is not None:
                publisher.opened()
        for identity in effects.subscribed:
            if (subscriber := self.subscribers.get(identity)) is not None:
                subscriber.opened()
        for identity, _ in effects.wanted:
            if (publisher := self.publishers.get(identity)) is not None:
                publisher.wanted()
        self._offer(effects.offered)
        for identity in effects.replaying:
            if (subscriber := self.subscribers.get(identity)) is not None:
                self.replaying.add(subscriber)
        touched, self._demand.watches_touched = self._demand.watches_touched, {}
        for watch in touched:
            self.publishers[watch.publisher].interest_changed()
        self._answer(effects)

    def _offer(self, offered: Sequence[tuple[str, Filter | None]]) -> None:
        """Notify those who watch of advertisements that are not as they were."""
        if not offered or not self.watches:
            return
        tables = self.core.tables
        states = [(identity, before, tables.advertisement(identity)) for identity, before in offered]
        if changes := [each for each in states if each[1] != each[2]]:
            for watch in list(self.watches):
                watch.changed(changes)

    def _answer(self, effects: CoreEffects) -> None:
        for page in effects.explained:
            # The question may be of an earlier run of this broker.
            if (answer := self._questions.get(page.question)) is not None:
                answer(page)
                if not page.more:
                    self.forget_question(page.question)

    def _carry_out_links(self, effects: CoreEffects) -> None:
        for hop in effects.attached:
            self.link_of[hop].attached()
        for hop, verdict in effects.rejected:
            if (link := self.link_of.get(hop)) is not None:
                link.rejected(verdict)
        for destination in effects.moving:
            self.after(partial(self.move, destination))
        if effects.is_unfinished and self._crossing is None:
            self._crossing = self.timers.after(0, self._continue_crossing)
        if effects.is_ending:
            self.is_leaving = True

    def _continue_crossing(self) -> None:
        """Take the next part of what a new neighbour is to know; others have their turns between parts."""
        self._crossing = None
        self.station.continue_crossing()
        self.settle()

    # --- credit ---

    def join_lower(self, session: Granting) -> None:
        """Add the session of a lower hop: it gets no credit while too many publications are pending."""
        self._lower[session] = None

    def leave_lower(self, session: Granting) -> None:
        """Remove the session of a lower hop."""
        self._lower.pop(session, None)

    def _note_waiting(self, count: int, *, is_over: bool) -> None:
        """Count for how long publications wait, and grant lower hops credit unless too many do."""
        self.totals.waits(count, self.timers.now_s)
        if is_over is not self.is_withholding:
            self._withhold_or_grant(is_over=is_over)

    def _withhold_or_grant(self, *, is_over: bool) -> None:
        self.is_withholding = is_over
        if not is_over:
            for session in list(self._lower):
                session.grant()

    # --- backpressure ---

    def throttle_for(self, subscription: ThrottlingSubscription) -> None:
        """Let publishers wait for this subscription until it is judged slow or its queue has room."""
        self._throttling[subscription] = None
        if self._judging is None:
            self._judging = self.timers.after(JUDGING_INTERVAL_S, self._judge_throttling)

    def _judge_throttling(self) -> None:
        """Judge the subscriptions for which publishers wait."""
        now_s, self._judging = self.now_s, None
        for subscription in list(self._throttling):
            if not subscription.judge(now_s):
                self._throttling.pop(subscription, None)
        if self._throttling:
            self._judging = self.timers.after(JUDGING_INTERVAL_S, self._judge_throttling)
