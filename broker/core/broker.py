"""The broker core: it takes messages, routes, asks the ordering plugin, and returns effects.

Laws.

1. Synchronous and deterministic: no clock, no I/O, no randomness. The same calls give the same effects.
2. A call does everything that follows from it; `take` returns the effects since the last `take`.
3. Publications and messages about routes leave only as the ordering plugin emits them (R3, R5).
4. A message that a neighbour may not send in its state is a `ProtocolError`; nothing has been changed by it.

A link is *open* once the peers have greeted each other, and *attached* once it is part of the tree (R9).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from broker.core.attachment import Attachments, identity_of, name_of
from broker.core.audit import LocalClients, StateAudit
from broker.core.effects import CoreEffects, ProtocolError
from broker.core.handlers import handlers_of
from broker.core.hops import Hop, HopTable
from broker.core.leases import Leases, Repairs
from broker.core.membership import Attach, Directory, Membership
from broker.core.moves import MoveRequests
from broker.core.pages import Collector, pages_of
from broker.core.replays import Replays
from broker.core.routing import RoutingState
from broker.core.stepping import MoveSteps, Parting
from broker.core.steps import StepParts
from broker.core.synchronisation import Synchronisation
from broker.core.tables import NOWHERE, RouteEntry, RoutingTables, TableView
from broker.core.ways import Answer, WayQuestions, Ways, describe_waiting, describe_way
from broker.filters import Filter
from broker.healing import Roster
from broker.messages import (
    Control,
    LinkMessage,
    Notice,
    OrderingMessage,
    Publication,
    WayAnswer,
    WayAsked,
    Whereabouts,
)
from broker.move_messages import StepAsked
from broker.replay import Bounds, Positions, ReplayWindow
from broker.routing import DEFAULT
from broker.routing import Routing as Strategies
from ordering.interface import (
    Blocked,
    Context,
    Emission,
    ForeignNoteError,
    Hops,
    Measures,
    OrderingFactory,
    Route,
)

_CLASS_OF: Final = attrgetter("__class__")


class BrokerCore:
    """One broker. `incarnation` distinguishes this run of a broker from earlier ones of the same name."""

    def __init__(
        self,
        name: str,
        ordering: OrderingFactory,
        incarnation: str = "",
        routing: Strategies = DEFAULT,
    ) -> None:
        self.name = name
        self.uplink: Hop | None = None
        self._hops = HopTable()
        self._routing = RoutingState(name, routing, self._hops, self._send, self._send_now, self._send_gap)
        self.ordering = ordering(Context(name, TableView(self._routing.tables)))
        identity = identity_of(name, incarnation)
        self._synchronisation = Synchronisation(self._routing, self._send)
        self.leases = Leases(self._routing, Repairs(self._routing), self._send)
        self._directory = Directory(Roster(name), self._send_now)
        self._membership = Membership(
            Attachments(
                identity, names_brokers=not routing.advertisements.is_exact, brokers=frozenset((identity,))
            ),
            self._routing,
            self._directory,
            self._send_now,
            self._send,
        )
        self._attached: list[Hop] = []
        self._rejected: list[tuple[Hop, str]] = []
        self._switched: list[tuple[Hop, Hop]] = []
        self._collector = Collector()
        self._subscriptions: dict[str, Hop] = {}
        self.ways = Ways()
        self._questions = WayQuestions()
        self._explained: list[WayAnswer] = []
        self.replays = Replays(self._routing, self._send, self._send_now, Positions(identity))
        self.cache = self.replays.cache
        self.steps = MoveSteps(
            self._routing,
            self._membership,
            self._synchronisation,
            self.replays,
            self._hops,
            getattr(self.ordering, "watched", self.ordering),
            self._carry_out,
            self._send_now,
            self._send,
        )
        self._step_parts = StepParts(self.steps)
        self.moves = MoveRequests(self._membership, self._directory.roster, self._send_now, self.steps)
        self.audit = StateAudit(self.steps, self.leases.repairs, self.replays)
        self._handlers = handlers_of(
            self._routing,
            self.leases,
            self._synchronisation,
            self._membership,
            self.replays,
            (self.moves, self.steps, self._step_parts),
        ) | {WayAsked: self._way_asked, WayAnswer: self._way_answered}

    # --- links ---

    @property
    def neighbours(self) -> Mapping[str, Hop]:
        """Return the attached links by the neighbour's name."""
        return self._routing.links

    def attached(self, link: Hop) -> bool:
        """Return whether a link is part of the tree."""
        return self._routing.is_linked(link)

    def open_link(self, name: str, *, uplink: bool) -> Hop:
        """Open a link to a neighbour; if it is to be the uplink, ask to be attached there (R9).

        The second uplink of a child is for a step (`broker.core.rising`).
        """
        link = self._hops.open(name, is_link=True)
        self.ways.hop_opened(link)
        if uplink and self.uplink is not None:
            self._step_parts.rises.rise(link, self.uplink)
            return link
        self._membership.open(link, is_uplink=uplink)
        if not uplink:
            self._directory.dialled(link)
        return link

    def close_link(self, link: Hop) -> None:
        """Close a link for good. A broker that loses its uplink becomes the root of its own tree (R8)."""
        if not self._hops.is_open(link):
            return
        self._step_parts.link_lost(link)
        self._directory.link_lost(link)
        self._membership.link_lost(link)
        if self._routing.is_linked(link):
            self._detach(link)
        self._membership.forget(link)
        self._collector.forget(link)
        self._routing.losses.forget(link.bit)
        self._hops.close(link)
        self._go_on()

    def _detach(self, link: Hop) -> None:
        self._carry_out(self.ordering.hop_lost(link.bit))
        if was_uplink := link is self.uplink:
            self.uplink = None
            self._routing.tables.set_uplink(None)
            self._carry_out(self.ordering.uplink_changed(0))
        self._synchronisation.link_lost(link)
        self._send_answers(self._questions.link_lost(link))
        self._routing.remove_link(link, was_uplink=was_uplink)
        self.replays.link_lost(link)

    def _go_on(self) -> None:
        """Take every attachment step that is not deferred any more (R9)."""
        membership, before = self._membership, self.uplink
        while True:
            for step in membership.go_on():
                if isinstance(step, Attach):
                    self._attach(step.link, is_uplink=step.is_uplink)
                else:
                    self._receive_whole(step.link, step.messages)
            if not membership.is_due:
                break
        if self.uplink is not None and self.uplink is not before:
            self.moves.attached(self.uplink)

    def _attach(self, link: Hop, *, is_uplink: bool) -> None:
        """Make a link part of the tree."""
        self._attached.append(link)
        self._routing.add_link(link)
        self._synchronisation.begin(link)
        self.replays.link_attached(link)
        self._carry_out(self.ordering.link_attached(link.bit))
        if is_uplink:
            self.uplink = link
            self._routing.tables.set_uplink(link)
            self._carry_out(self.ordering.uplink_changed(link.bit))
            self._directory.attached(link)

    def continue_crossing(self) -> None:
        """Go on with what a new neighbour is to know, and with gaps; see `CoreEffects.is_unfinished`."""
        self._synchronisation.continue_crossing()

    # --- moves ---

    def move(self, question: str, broker: str, uplink: str, method: str) -> None:
        """Ask a broker of the overlay to get another uplink; see `CoreEffects.explained`."""
        self.moves.ask(question, broker, uplink, method)

    def step_failed(self, text: str) -> None:
        """Try a step again for which the other broker was not reached, or give it up."""
        self.moves.refused(text)

    # --- healing ---

    @property
    def asked(self) -> Hop | None:
        """Return the uplink, or the link through which this broker asks to be attached."""
        return self._membership.attachments.link

    def reached_at(self, address: str) -> None:
        """Announce the address at which others can dial this broker ("" if they cannot)."""
        self._directory.reached_at(address)

    @property
    def roster(self) -> Roster:
        """Return the known locations of all brokers."""
        return self._directory.roster

    @property
    def below(self) -> frozenset[str]:
        """Return the names of all brokers below this one."""
        return frozenset(map(name_of, self._membership.attachments.brokers)) - {self.name}

    # --- local clients ---

    def advertise(self, publisher: str, content: Filter) -> None:
        """Add a local publisher; `CoreEffects.advertised` names it when it may publish."""
        self._routing.advertise(publisher, content)

    def unadvertise(self, publisher: str) -> None:
        """Remove a local publisher."""
        self._routing.unadvertise(publisher)
        if self._membership.joining:
            self._go_on()

    def subscribe(
        self, subscription: str, content: Filter, *, ordered: bool, window: ReplayWindow | None = None
    ) -> Hop:
        """Add a local subscription; `CoreEffects.subscribed` names it when all gates are open.

        With a window it gets that part of the past first; `CoreEffects.replaying` names it when more of the
        past can be delivered to it.
        """
        hop = self._subscriptions[subscription] = self._hops.open(subscription, is_link=False)
        self.ways.hop_opened(hop)
        if window is not None:
            self.replays.subscribe(subscription, hop, window)
        self._routing.subscribe(RouteEntry(subscription, content, ordered, hop))
        return hop

    def unsubscribe(self, subscription: str) -> None:
        """End a local subscription; nothing more is delivered to it."""
        hop = self._subscriptions.pop(subscription)
        self.replays.unsubscribe(subscription, hop)
        self._routing.unsubscribe(subscription, hop)
        self._carry_out(self.ordering.hop_lost(hop.bit))
        self._routing.losses.forget(hop.bit)
        self._hops.close(hop)
        if self._membership.joining:
            self._go_on()

    def publish(self, publisher: str, publications: Sequence[Publication]) -> None:
        """Route publications of a local publisher whose barrier is passed."""
        if self.cache.size_bytes_max:
            self.cache.keep(publisher, publications)
        self._route(publications, 0)

    # --- leases ---

    def refresh(self, clients: LocalClients | None = None) -> None:
        """Renew what was announced to each neighbour, as often as was agreed on (`broker.leases`).

        Local entries are compared with what clients have asked for, if that is given.
        """
        if clients is not None:
            self.audit.make_local(clients, self._subscriptions)
        self.audit.make(self.uplink)
        self.leases.refresh()

    def sweep(self, expire_after: int) -> None:
        """Set how many lists in a row have to leave a route out before it expires."""
        self.leases.sweep(expire_after)

    # --- replays ---

    def bound_replays(self, bounds: Bounds) -> None:
        """Set how much of what local publishers publish is cached, and how much is replayed at a time."""
        self.replays.bound(bounds)

    def replay_more(self, subscription: str, size_bytes: int) -> None:
        """Deliver more of its past to a local subscription that has room for so much."""
        hop = self._subscriptions.get(subscription)
        if hop is not None:
            self.replays.go_on(subscription, hop, size_bytes)

    # --- neighbours ---

    def receive(self, link: Hop, messages: Sequence[LinkMessage]) -> None:
        """Take the messages that came over a link, in their order; those of a lifted child have no effect."""
        joining = self._membership.joining
        if link not in joining and not self._routing.is_linked(link):
            if link is self.steps.beside:
                self._arrive(link, messages)
            return
        for kind, run in groupby(messages, _CLASS_OF):
            if kind is Publication and link not in joining:
                self._route(run, link.bit)  # type: ignore[arg-type]  # by their class
                continue
            for message in run:
                if (whole := self._collector.take(message, link)) is not None:
                    self._control(link, whole)
        if self.steps.turned is not None:
            (uplink, arrived), self.steps.turned = self.steps.turned, None
            self._directory.attached(uplink)
            self.receive(uplink, arrived)
        if self.steps.joined is not None:
            self.moves.attached(self.steps.joined)
            self.steps.joined = None

    def _arrive(self, link: Hop, messages: Sequence[LinkMessage]) -> None:
        for message in messages:
            if isinstance(message, Whereabouts):
                self._directory.learn(message, link)
            elif (rising := self.steps.rising) is not None and rising.link is link:
                self._step_parts.rises.arrive(message, rising)

    def _receive_whole(self, link: Hop, messages: Sequence[LinkMessage]) -> None:
        """Take messages that were deferred: they are collected, and came before those collected now."""
        for message in messages:
            if message.__class__ is Publication:
                self._route((message,), link.bit)
            else:
                self._control(link, message)

    def _route(self, publications: Iterable[Publication], origin: Hops) -> None:
        """Ask the tables for the targets of each publication, and the plugin when to emit it.

        What comes in a row with one mark and one route is one call of the plugin, if it takes runs.
        """
        remember, route_of = self.ways.remember, self._routing.tables.route
        lifts = self._step_parts.lifts if self.steps.present.__class__ is Parting else None
        run: list[Publication] = []
        of_run, mark, is_ordered = NOWHERE, 0, False
        for publication in publications:
            route = route_of(publication.attributes, origin)
            if lifts is not None and (below := lifts.targets_below(publication, origin)):
                route = Route(route.targets | below, route.exposed)
            remember((publication.publisher, publication.sequence, origin, route.targets))
            if (
                run
                and publication.mark == mark
                and publication.ordered is is_ordered
                and (route is of_run or route == of_run)
            ):
                run.append(publication)
                continue
            if run:
                self._order(run, origin, mark, of_run)
            run, of_run, mark, is_ordered = [publication], route, publication.mark, publication.ordered
        if run:
            self._order(run, origin, mark, of_run)

    def _order(self, run: Sequence[Publication], origin: Hops, mark: int, route: Route) -> None:
        """Send gaps that are owed; then let the plugin take a run of publications, and carry it out."""
        if (owed := self._routing.losses.owed) and owed & route.targets:
            self._routing.losses.settle(owed & route.targets)
        ordering, carry_out = self.ordering, self._hops.carry_out
        if mark:
            run = [publication.with_mark(0) for publication in run]
        take = getattr(ordering, "run", None) if len(run) > 1 else None
        if take is not None:
            carry_out(take(run, origin, mark, route), ordering.combine)
            return
        for publication in run:
            carry_out(ordering.publication(publication, origin, mark, route), ordering.combine)

    def _control(self, link: Hop, message: LinkMessage) -> None:
        membership = self._membership
        if link in membership.joining:
            if message.__class__ is StepAsked:
                self._step_parts.asked(message, link)
            elif verdict := membership.receive(link, message):
                self._rejected.append((link, verdict))
        elif message.__class__ is OrderingMessage:
            self._note(message, link)
            return  # It moves no routes, so no attachment waits for it.
        elif self.steps.present is None or not self._step_parts.is_outdated(message, link):
            handler = self._handlers.get(message.__class__)
            if handler is None:
                raise ProtocolError(f"{link.name} sent {type(message).__name__} over an attached link")
            handler(message, link)
            if self.steps.homeless is not None:
                lost, self.steps.homeless = self.steps.homeless, None
                self.close_link(lost)
        if membership.is_due:
            self._go_on()

    def _note(self, message: OrderingMessage, link: Hop) -> None:
        try:
            emissions = self.ordering.note(link.bit, message.content)
        except ForeignNoteError as error:
            raise ProtocolError(f"{link.name}: {error}") from error
        self._carry_out(emissions)

    # --- sending ---

    def _carry_out(self, emissions: Iterable[Emission]) -> None:
        self._hops.carry_out(emissions, self.ordering.combine)

    def _send(self, link: Hop, message: Control | Notice) -> None:
        """Send a message behind everything that is pending for that link (R5)."""
        for page in pages_of(message, self._routing.strategies.page_bytes):
            self._carry_out(self.ordering.control(page, link.bit))

    def _send_now(self, link: Hop, message: Control | Notice) -> None:
        self._hops.extend(link, pages_of(message, self._routing.strategies.page_bytes))

    def _send_gap(self, gap: Notice, hops: Hops) -> None:
        self._carry_out(self.ordering.control(gap, hops))

    # --- explaining ---

    def explain_way(self, question: str, publisher: str, sequence: int) -> None:
        """Ask every broker that a publication came to for its part; see `CoreEffects.explained`."""
        self._way_asked(WayAsked(question, publisher, sequence), None)

    def _way_asked(self, message: WayAsked, link: Hop | None) -> None:
        seen = self.ways.find(message.publisher, message.sequence)
        touched = (seen.origin | seen.targets) & ~seen.reused if seen is not None else 0
        beyond = [hop for hop in self.neighbours.values() if hop.bit & touched and hop is not link]
        step = describe_way(self.name, seen, self._hops, self.blocked(), message)
        for hop in beyond:
            self._send_now(hop, message)
        self._send_answers(self._questions.ask(message.question, link, set(beyond), step))

    def _way_answered(self, message: WayAnswer, link: Hop) -> None:
        self._send_answers(self._questions.answered(message, link, self._routing.strategies.page_bytes))

    def _send_answers(self, answers: Iterable[Answer]) -> None:
        for link, message in answers:
            if link is None:
                self._explained.append(message)
            elif self.attached(link):
                self._send_now(link, message)

    def explain_waiting(self) -> list[str]:
        """Return the head of every blocked hop, what it needs, and from which neighbour."""
        return describe_waiting(self.name, self.uplink, self._hops, self.blocked())

    # --- snapshots ---

    @property
    def tables(self) -> RoutingTables:
        """Return the routing tables."""
        return self._routing.tables

    def parts(self) -> tuple[object, ...]:
        """Return the parts that the constructor made, the hops first: a snapshot consists of their fields."""
        membership, steps, replays = self._membership, self._step_parts, self.replays
        leases = self.leases, self.leases.repairs, self.audit
        brokers = membership, membership.attachments, self._directory, self._directory.roster
        moves = self.moves, self.steps, steps, steps.rises, steps.lifts, steps.lowers
        past = replays, replays.positions, self.cache
        around = *brokers, self._questions, *moves, self._collector, *past
        # A watched plugin has the state of the plugin itself: what was seen is no state of the broker.
        plugin = self.steps.plugin
        return (self._hops, self, *self._routing.parts(), self._synchronisation, *leases, *around, plugin)

    def rebuild(self) -> None:
        """Restore what no snapshot contains, once the parts are filled and the tables are rebuilt."""
        self._routing.rebuild()

    # --- what is due, and what is going on ---

    def take(self) -> CoreEffects:
        """Return the effects that became due since the last call."""
        routing, replays, moves = self._routing, self.replays, self.moves
        if routing.crossed:
            self._synchronisation.announce_crossed()
        subscribed = routing.subscribing.subscribed
        if subscribed:
            subscribed = replays.opened(subscribed)
        outgoing = self._hops.drain()
        steps = self.steps
        if steps.present is not None or steps.rising is not None or steps.waiting or steps.news:
            outgoing = self._step(outgoing)
        if replays.playbacks or replays.late:
            # A playback that overflows ends its question at the neighbours, so there may be more to send.
            outgoing = replays.hold(outgoing, subscribed) + self._hops.drain()
        demand = routing.tables.demand
        wanted = demand.news() if demand.touched else []
        offered = routing.tables.take_offered()
        if moves.answers:
            self._explained, moves.answers = [*self._explained, *moves.answers], []
        is_unfinished = bool(
            routing.crossings.unfinished or routing.losses.owed or routing.tables.changes or routing.remains
        )
        has_news = bool(
            subscribed
            or moves.begun
            or moves.is_ending
            or is_unfinished
            or routing.advertised
            or wanted
            or offered
            or self._attached
            or self._rejected
            or self._explained
            or replays.waiting
        )
        if not has_news:
            routing.subscribing.subscribed = []
            return CoreEffects([], outgoing, has_news, [], [], [], [], [], [], [], [], [])
        effects = CoreEffects(
            self._switched,
            outgoing,
            has_news,
            routing.advertised,
            subscribed,
            wanted,
            offered,
            replays.waiting,
            self._explained,
            self._attached,
            self._rejected,
            moves.begun,
            is_unfinished,
            moves.is_ending,
        )
        replays.waiting, moves.begun, self._switched, moves.is_ending = [], [], [], False
        routing.advertised, routing.subscribing.subscribed = [], []
        self._explained, self._attached, self._rejected = [], [], []
        return effects

    def _step(self, outgoing: Sequence[tuple[Hop, list[LinkMessage]]]) -> list[tuple[Hop, list[LinkMessage]]]:
        """Hold what may not go up, take the next part of a step, and note what has come of it."""
        parts = self._step_parts
        held = [*parts.rises.hold(outgoing), *parts.poll()]
        parts.report(self.moves, self._attached, self._rejected, self._switched)
        return [*held, *parts.rises.hold(self._hops.drain())]

    @property
    def waiting_count(self) -> int:
        """Return how many publications and messages are pending in the ordering plugin."""
        return self.ordering.waiting_count

    @property
    def measures(self) -> Measures:
        """Return what ordering has cost so far."""
        return self.ordering.measures

    def blocked(self) -> Sequence[Blocked]:
        """Return what is pending in the ordering plugin, oldest first."""
        return self.ordering.blocked()

    def counts(self) -> dict[str, int]:
        """Return the sizes of all parts."""
        return {
            **self._routing.tables.counts(),
            "links": len(self.neighbours),
            "local_subscriptions": len(self._subscriptions),
            "local_publishers": len(self._routing.tables.local.filters),
            **self._routing.counts(),
            "open_floods": len(self._synchronisation),
            "joining": len(self._membership.joining),
            "incomplete": len(self._collector),
            "attachments": len(self._membership.attachments),
            "moves": len(self.moves),
            "steps": len(self.steps),
            "replays": len(self.replays),
            "waiting": self.waiting_count,
        }

    def __repr__(self) -> str:
        counts = " ".join(f"{name}={count}" for name, count in self.counts().items())
        uplink = self.uplink.name if self.uplink is not None else "none"
        head = next(iter(self.blocked()), None)
        blocked = f" blocked: {head.reason}" if head is not None else ""
        return f"<BrokerCore {self.name} uplink={uplink} {counts}{blocked}>"
