"""Lifts: a child becomes a child of the broker above its parent while events flow, and loses nothing.

    child (below parent)          parent (below above)         above
    opens a link to above: StepAsked  --------------------->   keeps itself free
                   <---------------------------------------    StepGranted
    LiftAsked      ------>        orders all for the child above, by requests (R2)
                   <------        LiftReady, when nothing older is pending
    sends nothing up, waits for its acknowledgements
    Lift           ------>        counts the child as above     Lifted, with the child's routes
                                                  -------->    SWITCH: the child gets all that is pending
                                  <------------------------    Switched, at once
                   <------        Switched, behind all for the child
    takes the new link for its uplink, and sends what it held

Laws.

1. What is in the sequence of the broker above before its switch comes to the child by the old way, and all
   else by the new one. The child takes nothing from the new link before Switched has come by the old one.
2. The child's uplink stays the same hop: no route, gate or announcement of it changes.
3. Until Lifted has been sent each of the three can give the step up, and nothing has happened. If a link of
   the three is lost later, the child leaves both of its uplinks and is a root (R8).
4. A broker takes part in one step at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, cast

from attrs import Factory, define

from broker.core.adoption import ChildRoutes, hand_over, is_quiet, take_over
from broker.core.attachment import name_of
from broker.core.effects import ProtocolError
from broker.core.hops import Hop, HopTable
from broker.core.membership import Membership
from broker.core.pages import cut
from broker.core.replays import Replays
from broker.core.routing import RoutingState
from broker.core.synchronisation import Synchronisation
from broker.messages import (
    Control,
    LeaseListed,
    LeaseRenewed,
    LinkMessage,
    Publication,
)
from broker.move_messages import (
    Lift,
    LiftAsked,
    Lifted,
    LiftedIds,
    LiftedRoutes,
    LiftReady,
    StepAsked,
    StepCancelled,
    StepGranted,
    StepRefused,
    Switched,
)
from broker.page_limits import COLLECTED_COUNT_MAX, HELD_BYTES_MAX, HELD_COUNT_MAX
from broker.routing.strategy import RouteFilter
from broker.transitions import Transitions, follow
from ordering.interface import Emission, Hops, Ordering
from ordering.interface import Lifting as LiftingPlugin

LEFT_OVER: Final = "moved"
"""Why a link is closed that a step has left over, and nothing depends on."""

BROKEN: Final = "broken"
"""Why a link is closed that may have lost something in a step that was torn apart."""

Outgoing = Sequence[tuple[Hop, list[LinkMessage]]]


class Rise(Enum):
    """The state of a child on its way up."""

    ASKED = "the broker above is asked to keep itself free"
    PREPARING = "the parent lets everything be ordered above"
    DRAINING = "nothing is sent up, and acknowledgements are awaited"
    LIFTED = "the parent is told; Switched is awaited"


TRANSITIONS: Final[Transitions[Rise]] = {
    Rise.ASKED: frozenset({Rise.PREPARING}),
    Rise.PREPARING: frozenset({Rise.DRAINING}),
    Rise.DRAINING: frozenset({Rise.LIFTED}),
    Rise.LIFTED: frozenset(),
}


@define(eq=False)
class Rising:
    """This broker is the child. `held` goes up later, `arrived` is taken later."""

    number: int
    link: Hop
    state: Rise = Rise.ASKED
    held: list[LinkMessage] = Factory(list)
    arrived: list[LinkMessage] = Factory(list)
    arrived_bytes: int = 0

    @property
    def holds(self) -> bool:
        """Return whether nothing may be sent up."""
        return self.state in {Rise.DRAINING, Rise.LIFTED}

    def enter(self, state: Rise) -> None:
        """Enter another state."""
        self.state = follow(TRANSITIONS, self.state, state)

    def take(self, message: LinkMessage) -> bool:
        """Keep a message of the new link; return whether the limits allow it."""
        self.arrived.append(message)
        if isinstance(message, Publication):
            self.arrived_bytes += len(message.frame)
        return self.arrived_bytes <= HELD_BYTES_MAX and len(self.arrived) <= HELD_COUNT_MAX


@define(eq=False)
class Parting:
    """This broker is the parent. Once the child is lifted, what comes down for it goes by `routes`."""

    number: int
    child: Hop
    is_ready: bool = False
    is_lost: bool = False
    routes: ChildRoutes | None = None


@define(eq=False)
class Receiving:
    """This broker is the one above, and `link` the new link to the child."""

    number: int
    link: Hop
    parent: Hop


@define(eq=False)
class Lifts:
    """The part of one broker in a step.

    `switched` are the hops of a child that have changed their links, `closing` the links to close, `taken`
    the links of children taken over, and `arrived` what has come by the new link: until they are taken.
    """

    _routing: RoutingState
    _membership: Membership
    _synchronisation: Synchronisation
    _replays: Replays
    _hops: HopTable
    _plugin: Ordering
    _carry_out: Callable[[Iterable[Emission]], None]
    _send: Callable[[Hop, Control], None]
    present: Rising | Parting | Receiving | None = None
    refused: str = ""
    switched: list[tuple[Hop, Hop]] = Factory(list)
    closing: list[tuple[Hop, str]] = Factory(list)
    taken: list[Hop] = Factory(list)
    arrived: list[LinkMessage] = Factory(list)
    turned: Hop | None = None
    """The uplink, when its link has just changed."""
    homeless: Hop | None = None
    """A child that has been taken over, and has no link to this broker."""
    _numbers: int = 0
    _parts: dict[Hop, ChildRoutes] = Factory(dict)
    """What has come of the routes of children that are lifted, by the link to their parent."""

    @property
    def is_active(self) -> bool:
        """Return whether a step goes on, or something has come of one."""
        return self.present is not None or bool(self.closing or self.taken or self.switched or self.refused)

    def report(self, attached: list[Hop], rejected: list[tuple[Hop, str]]) -> None:
        """Add the links of children taken over, and those to close, to these lists."""
        attached += self.taken
        rejected += self.closing
        self.taken, self.closing = [], []

    @property
    def _ordering(self) -> LiftingPlugin:
        return cast("LiftingPlugin", self._plugin)

    def inability(self) -> str:
        """Return why this broker can never take part in a step, or ""."""
        strategies = self._routing.strategies
        if not hasattr(self._plugin, "order_above"):
            return "its ordering plugin moves no broker without a gap"
        subscriptions = strategies.subscriptions
        if not strategies.advertisements.is_exact or subscriptions.floods or subscriptions.unites:
            return "its routing strategies move no broker without a gap"
        return ""

    def objection(self) -> str:
        """Return why this broker can take part in no step now, or ""."""
        if text := self.inability():
            return text
        if self.present is not None:
            return "another step goes on"
        return "" if self._is_calm() else "the overlay changes"

    def _is_calm(self) -> bool:
        """Return whether nothing goes on that a step would tear apart."""
        return not (
            len(self._synchronisation)
            or self._routing.tables.synchronising
            or len(self._membership.attachments)
            or len(self._replays)
        )

    @property
    def beside(self) -> Hop | None:
        """Return the new link of this broker, as the child, until the switch."""
        return self.present.link if isinstance(self.present, Rising) else None

    # --- the child ---

    def rise(self, link: Hop, uplink: Hop) -> None:
        """Ask the broker at the other end of a new link to become the uplink."""
        if text := self.objection():
            self.refused = text
            self.closing.append((link, LEFT_OVER))
            return
        self._numbers += 1
        self.present = Rising(self._numbers, link)
        self._send(link, StepAsked(self._membership.attachments.identity, self._numbers, uplink.name))

    def arrive(self, message: LinkMessage, rising: Rising) -> None:
        """Take a message of the new link, or keep it until the switch (law 1)."""
        if isinstance(message, StepGranted):
            if rising.state is Rise.ASKED:
                rising.enter(Rise.PREPARING)
                self._send(self._uplink, LiftAsked(rising.number, rising.link.name))
        elif isinstance(message, StepRefused):
            self._give_up(message.text)
        elif not rising.take(message):
            raise ProtocolError(f"{rising.link.name} sent too much before the switch")

    @property
    def _uplink(self) -> Hop:
        uplink = self._membership.attachments.uplink
        assert uplink is not None, "a root has no part in a step that needs an uplink"
        return uplink

    def ready(self, message: LiftReady, link: Hop) -> None:
        """Send nothing up from now on."""
        rising = self.present
        if isinstance(rising, Rising) and rising.number == message.number and link is self._uplink:
            rising.enter(Rise.DRAINING)

    def hold(self, outgoing: Outgoing) -> Outgoing:
        """Keep what goes up while nothing may."""
        rising = self.present
        if not isinstance(rising, Rising) or not rising.holds:
            return outgoing
        uplink = self._uplink
        rising.held += [each for hop, messages in outgoing if hop is uplink for each in messages]
        return [(hop, messages) for hop, messages in outgoing if hop is not uplink]

    def poll(self) -> Outgoing:
        """Take the next step if all that it waits for has come; return what is sent past what is held."""
        present = self.present
        if isinstance(present, Parting) and not present.is_ready and self._ordering.is_ordered_above:
            present.is_ready = True
            return [(present.child, [LiftReady(present.number)])]
        if isinstance(present, Rising) and present.state is Rise.DRAINING:
            requests_held = sum(getattr(each, "mark", 0) != 0 for each in present.held)
            if self._ordering.open_count <= requests_held:
                present.enter(Rise.LIFTED)
                return [(self._uplink, [Lift(present.number)])]
        return []

    def refuse(self, message: StepRefused, link: Hop) -> None:
        """Give the step up, since the parent refuses."""
        rising = self.present
        if isinstance(rising, Rising) and rising.number == message.number and link is self._uplink:
            self._give_up(message.text)

    def _give_up(self, text: str) -> None:
        """Go on below the parent: nothing has happened."""
        rising, self.present = self.present, None
        assert isinstance(rising, Rising)
        self.refused = text
        self.closing.append((rising.link, LEFT_OVER))
        self._send_held(rising, self._uplink)

    def _send_held(self, rising: Rising, uplink: Hop) -> None:
        if rising.held:
            later, uplink.outbox = uplink.outbox, []
            self._hops.extend(uplink, [*rising.held, *later])

    # --- the parent ---

    def lift_asked(self, message: LiftAsked, link: Hop) -> None:
        """Let everything for a child be ordered above from now on."""
        uplink = self._membership.attachments.uplink
        text = self.objection()
        if uplink is None or uplink.name != message.above:
            text = f"{message.above} is not above it"
        if text:
            self._send(link, StepRefused(message.number, text))
            return
        self.present = Parting(message.number, link)
        self._ordering.order_above(link.bit)

    def cancelled(self, message: StepCancelled, link: Hop) -> None:
        """Go on as before: the child has given the step up."""
        if isinstance(self.present, Parting) and (self.present.number, self.present.child) == (
            message.number,
            link,
        ):
            self._stay()

    def _stay(self) -> None:
        self.present = None
        self._ordering.order_above(0)

    def lift(self, message: Lift, link: Hop) -> None:
        """Count a child as above, and hand its routes over; or refuse, if they have changed."""
        parting = self.present
        if not isinstance(parting, Parting) or (parting.number, parting.child) != (message.number, link):
            return
        uplink = self._uplink
        if not (self._is_calm() and is_quiet(self._routing, link) and is_quiet(self._routing, uplink)):
            self._stay()
            self._send(link, StepRefused(message.number, "routes change"))
            return
        routes = hand_over(self._routing, link, uplink)
        routes.brokers = self._membership.hand_over(link)
        parting.routes = routes
        for page in self._pages(routes):
            self._send(uplink, page)
        self._send(uplink, Lifted(link.name, parting.number))

    def _pages(self, routes: ChildRoutes) -> Iterator[LiftedRoutes | LiftedIds]:
        size_bytes = self._routing.strategies.page_bytes
        advertised = [RouteFilter(each, content) for each, content in routes.advertised.items()]
        parts = {"wants": routes.wants, "announced": routes.announced, "added": routes.added}
        for part, listed in {"advertised": advertised, **parts}.items():
            for page in cut(listed, size_bytes):
                yield LiftedRoutes(page, part)
        for part, ids in {"knows": routes.knows, "ended": routes.ended, "brokers": routes.brokers}.items():
            for names in cut(sorted(ids), size_bytes):
                yield LiftedIds(frozenset(names), part)

    def targets_below(self, publication: Publication, origin: Hops) -> Hops:
        """Return the child that is lifted, if it wants what comes down."""
        parting = self.present
        if isinstance(parting, Parting) and parting.routes is not None and origin == self._uplink.bit:
            wants = not parting.is_lost and parting.routes.wants_item(publication)
            return parting.child.bit if wants else 0
        return 0

    @property
    def passes(self) -> bool:
        """Return whether what comes down may be for a child that is lifted."""
        return isinstance(self.present, Parting) and self.present.routes is not None

    def is_outdated(self, message: LinkMessage, link: Hop) -> bool:
        """Return whether the uplink sent a lease before its switch: it leaves out the child's routes."""
        return self.passes and isinstance(message, LeaseRenewed | LeaseListed) and link is self._uplink

    def switched_above(self, message: Switched, link: Hop) -> None:
        """Take Switched from the uplink: as the parent pass it on, as the child take the new link."""
        if link is not self._membership.attachments.uplink:
            raise ProtocolError(f"{link.name} sent Switched, and is not the uplink")
        present = self.present
        if isinstance(present, Parting) and present.routes is not None and present.number == message.number:
            self.present = None
            if not present.is_lost:
                self._carry_out(self._ordering.let_go(present.child.bit))
                self._send(present.child, message)
        elif isinstance(present, Rising) and present.state is Rise.LIFTED:
            self._switch(present, link)

    def _switch(self, rising: Rising, uplink: Hop) -> None:
        """Take the new link for the uplink, and send what was held (law 2)."""
        self.present = None
        del self._routing.links[uplink.name]
        uplink.name, rising.link.name = rising.link.name, uplink.name
        self._routing.links[uplink.name] = uplink
        self._send_held(rising, uplink)
        self.switched.append((uplink, rising.link))
        self.closing.append((rising.link, LEFT_OVER))
        self.arrived, self.turned = rising.arrived, uplink

    # --- the broker above ---

    def asked(self, message: StepAsked, link: Hop) -> None:
        """Keep this broker free for a step, if it can be one of a child of a child."""
        parent = self._routing.links.get(message.parent)
        text = self.objection()
        is_child = name_of(message.child) == link.name
        if parent is None or not (is_child and self._membership.is_behind(message.child, parent)):
            text = f"{message.parent} is not its child, with {link.name} below it"
        if text:
            self._send(link, StepRefused(message.number, text))
            return
        assert parent is not None
        self.present = Receiving(message.number, link, parent)
        self._send(link, StepGranted(message.number))

    def lifted_routes(self, message: LiftedRoutes, link: Hop) -> None:
        """Collect the routes of a child that is lifted."""
        routes = self._collected(link, len(message.routes))
        match message.part:
            case "advertised":
                routes.advertised.update((route.id, route.filter) for route in message.routes)
            case "wants":
                routes.wants += message.routes
            case "announced":
                routes.announced += message.routes
            case _:
                routes.added += message.routes

    def lifted_ids(self, message: LiftedIds, link: Hop) -> None:
        """Collect what belongs to these routes."""
        routes = self._collected(link, len(message.ids))
        match message.part:
            case "knows":
                routes.knows |= message.ids
            case "ended":
                routes.ended |= message.ids
            case _:
                routes.brokers |= message.ids

    def _collected(self, link: Hop, count: int) -> ChildRoutes:
        """Return the routes collected so far, and count these."""
        routes = self._parts.setdefault(link, ChildRoutes())
        routes.count += count
        if routes.count > COLLECTED_COUNT_MAX:
            raise ProtocolError(
                f"{link.name} sent {routes.count} routes of a child: {COLLECTED_COUNT_MAX} are taken"
            )
        return routes

    def lifted(self, message: Lifted, link: Hop) -> None:
        """Switch: the child is one of this broker from here on.

        If its new link is lost, or something changes that a step would tear apart, it is lost at once (R8).
        """
        if message.child in self._routing.links:
            raise ProtocolError(f"{link.name} lifted {message.child}, which is a neighbour")
        routes, receiving = self._parts.pop(link, ChildRoutes()), self.present
        child: Hop | None = None
        if isinstance(receiving, Receiving) and (receiving.link.name, receiving.number, receiving.parent) == (
            message.child,
            message.number,
            link,
        ):
            child, self.present = receiving.link, None
        has_link = child is not None
        if child is None:
            child = self.homeless = self._hops.open(message.child, is_link=True)
        self._send(link, Switched(message.child, message.number))
        self._carry_out(self._plugin.link_attached(child.bit))
        self._ordering.adopt(child.bit, link.bit, routes.wants_item)
        self._membership.take_over(child, link, routes.brokers)
        is_calm = self._is_calm()
        take_over(self._routing, child, link, routes)
        if has_link:
            self.taken.append(child)
            if not is_calm:
                self.closing.append((child, BROKEN))

    # --- losses ---

    def link_lost(self, link: Hop) -> None:
        """Give up the step that needs a lost link, or end it (law 3)."""
        self._parts.pop(link, None)
        present = self.present
        if isinstance(present, Rising):
            self._lost_rising(present, link)
        elif isinstance(present, Parting):
            self._lost_parting(present, link)
        elif isinstance(present, Receiving) and link in {present.link, present.parent}:
            self.present = None

    def _lost_rising(self, rising: Rising, link: Hop) -> None:
        if link is rising.link and rising.state is Rise.LIFTED:
            self.present = None
            self.closing.append((self._uplink, BROKEN))
        elif link is rising.link:
            if rising.state is not Rise.ASKED:
                rising.held.append(StepCancelled(rising.number))
            self._give_up("the new link is lost")
        elif link is self._uplink:
            self.present = None
            self.closing.append((rising.link, LEFT_OVER))

    def _lost_parting(self, parting: Parting, link: Hop) -> None:
        if link not in {parting.child, self._uplink}:
            return
        is_child = link is parting.child
        if parting.routes is None:
            self._stay()
            if not is_child:
                self._send(parting.child, StepRefused(parting.number, "the uplink is lost"))
            return
        if not parting.is_lost:
            self._ordering.order_above(0)
            self._carry_out(self._plugin.hop_lost(parting.child.bit))
            self.closing.append((parting.child, BROKEN))
        parting.is_lost = True
        if not is_child:
            self.present = None  # Otherwise Switched is still to come: the child's routes are above.
