"""What the steps of a move share: the part that a broker has in one, and what has come of it.

A step gives a child another parent while events flow: a *lift* the broker above its parent, a *lowering*
another child of its parent. The child's side of both is in `broker.core.rising`, the others' sides are in
`broker.core.lifting` and `broker.core.lowering`.

Laws.

1. A broker takes part in one step at a time. Those that ask it meanwhile wait in their order.
2. A step takes its three brokers from above: the parent of a lowering or the broker above in a lift, which is
   its *top*; then the sibling or the parent; the child last. A child that asks is not taken yet, and takes
   part in the steps of others.
3. So nobody waits in a ring. A step that has a broker waits for one below its top. Another step that has that
   one has it for its top: otherwise it would have taken this step's top, or the parent between, before. And
   the uplink of a broker that is taken changes by no other step. So tops are lower and lower along a chain of
   steps that wait, and the last one does not wait.
4. A broker that is lost, or gives its step up, leaves every queue: its link ends, or it says so.
5. What follows from a step is in `news` until the core takes it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, cast

from attrs import Factory, define, frozen

from broker.core.adoption import ChildRoutes, take_over
from broker.core.effects import ProtocolError
from broker.core.hops import Hop, HopTable
from broker.core.membership import Membership
from broker.core.pages import cut
from broker.core.replays import Replays
from broker.core.routing import RoutingState
from broker.core.synchronisation import Synchronisation
from broker.messages import Control, LeaseListed, LeaseRenewed, LinkMessage, Publication
from broker.move_messages import (
    LiftAsked,
    LiftedIds,
    LiftedRoutes,
    LiftReady,
    LowerAsked,
    LowerGranted,
    StepAsked,
    StepRefused,
)
from broker.page_limits import COLLECTED_COUNT_MAX, HELD_BYTES_MAX, HELD_COUNT_MAX
from broker.routing.strategy import RouteFilter
from broker.transitions import Transitions, follow
from ordering.interface import Emission, Ordering
from ordering.interface import Lifting as LiftingPlugin

LEFT_OVER: Final = "moved"
"""Why a link is closed that a step has left over, and nothing depends on."""

BROKEN: Final = "broken"
"""Why a link is closed that may have lost something in a step that was torn apart."""

LEASES: Final = (LeaseRenewed, LeaseListed)
"""Messages about all routes of a link: wrong behind a switch, if they were made before it."""

WAITING_MAX: Final = 100
"""More than wait at one broker when everybody near it moves; a further one is refused, and tries again."""

Outgoing = Sequence[tuple[Hop, list[LinkMessage]]]


class Rise(Enum):
    """The state of a child on its way to another parent."""

    ASKED = "the new parent is asked"
    PREPARING = "the parent lets everything be ordered above"
    DRAINING = "nothing is sent up, and acknowledgements are awaited"
    LIFTED = "the parent is notified; Switched is awaited"
    LOWERED = "the new link is the uplink; Joined is awaited"


TRANSITIONS: Final[Transitions[Rise]] = {
    Rise.ASKED: frozenset({Rise.PREPARING, Rise.DRAINING}),
    Rise.PREPARING: frozenset({Rise.DRAINING}),
    Rise.DRAINING: frozenset({Rise.LIFTED}),
    Rise.LIFTED: frozenset({Rise.LOWERED}),
    Rise.LOWERED: frozenset(),
}


@define(eq=False)
class Rising:
    """This broker is the child. `held` goes up later, `arrived` by the new link is taken later."""

    number: int
    link: Hop
    state: Rise = Rise.ASKED
    is_lowering: bool = False
    held: list[LinkMessage] = Factory(list)
    arrived: list[LinkMessage] = Factory(list)
    arrived_bytes: int = 0

    @property
    def is_taken(self) -> bool:
        """Return whether this broker takes part in no other step."""
        return self.state in {Rise.DRAINING, Rise.LIFTED, Rise.LOWERED}

    @property
    def holds(self) -> bool:
        """Return whether nothing may be sent up."""
        return self.is_taken

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
    """This broker is the parent of a lift. Once the child is lifted, what comes for it goes by `routes`."""

    number: int
    child: Hop
    is_ready: bool = False
    is_lost: bool = False
    routes: ChildRoutes | None = None


@define(eq=False)
class Receiving:
    """This broker is the one above in a lift, and `link` the new link to the child."""

    number: int
    link: Hop
    parent: Hop


@define(eq=False)
class Lowering:
    """This broker is the parent of a child that is lowered below its sibling."""

    number: int
    child: Hop
    sibling: Hop
    is_prepared: bool = False
    """Whether the sibling is."""
    is_ready: bool = False
    is_switched: bool = False


@define(eq=False)
class Taking:
    """This broker is the sibling, and `link` the new link to the child."""

    number: int
    link: Hop
    is_parent: bool = False
    """Whether the child is one of this broker already."""


@frozen
class LinkEnded:
    """A link is to be closed, and why."""

    link: Hop
    why: str


@frozen
class LinksSwitched:
    """Hops of a child have changed their links."""

    kept: Hop
    other: Hop


@frozen
class ChildTaken:
    """The link of a child has become one of this broker."""

    link: Hop


@frozen
class StepGivenUp:
    """The step of this broker, the child, was refused."""

    text: str


@frozen
class StepWaits:
    """The step of this broker, the child, waits for another one at that broker."""

    at: str


StepNews = LinkEnded | LinksSwitched | ChildTaken | StepGivenUp | StepWaits
"""What follows from a step."""

Part = Parting | Receiving | Lowering | Taking
"""The part in a step of another broker."""

Asking = StepAsked | LiftAsked | LowerAsked | LowerGranted | LiftReady
"""What asks a broker to be taken for a step; the last one asks the child."""


@define(eq=False)
class MoveSteps:
    """The part of one broker in a step, and what has come of it."""

    routing: RoutingState
    membership: Membership
    synchronisation: Synchronisation
    replays: Replays
    hops: HopTable
    _plugin: Ordering
    carry_out: Callable[[Iterable[Emission]], None]
    send: Callable[[Hop, Control], None]
    """Sends at once."""
    send_behind: Callable[[Hop, Control], None]
    """Sends behind all that is pending for that hop (R5)."""
    present: Part | None = None
    rising: Rising | None = None
    """The step of this broker, the child."""
    waiting: list[tuple[Asking, Hop]] = Factory(list)
    """What has asked this broker during a step, and by which links."""
    relayed: dict[Hop, StepAsked] = Factory(dict)
    """The steps of siblings below this broker that their parent has not granted yet."""
    news: list[StepNews] = Factory(list)
    turned: tuple[Hop, list[LinkMessage]] | None = None
    """The uplink, when its link has just changed, and what has come by that before."""
    joined: Hop | None = None
    """The uplink, when the step of this broker, the child, is over."""
    homeless: Hop | None = None
    """A child that has become one of this broker, and has no link to it."""
    _parts: dict[Hop, ChildRoutes] = Factory(dict)
    """What has come of the routes of children that move, by the link to their parent."""

    @property
    def plugin(self) -> Ordering:
        """Return the ordering plugin."""
        return self._plugin

    @property
    def ordering(self) -> LiftingPlugin:
        """Return the ordering plugin of a broker that takes part in steps."""
        return cast("LiftingPlugin", self._plugin)

    @property
    def uplink(self) -> Hop:
        """Return the uplink, which there is."""
        uplink = self.membership.attachments.uplink
        assert uplink is not None, "a root has no part in a step that needs an uplink"
        return uplink

    @property
    def beside(self) -> Hop | None:
        """Return the new link of this broker, as the child, until the switch."""
        rising = self.rising
        return rising.link if rising is not None and rising.state is not Rise.LOWERED else None

    @property
    def is_busy(self) -> bool:
        """Return whether this broker takes part in a step."""
        return self.present is not None or (self.rising is not None and self.rising.is_taken)

    def inability(self) -> str:
        """Return why this broker can never take part in a step, or ""."""
        strategies = self.routing.strategies
        if not hasattr(self._plugin, "order_above"):
            return "its ordering plugin moves no broker without a gap"
        subscriptions = strategies.subscriptions
        if not strategies.advertisements.is_exact or subscriptions.floods or subscriptions.unites:
            return "its routing strategies move no broker without a gap"
        return ""

    def objection(self) -> str:
        """Return why this broker can take part in no step now, or ""."""
        return self.inability() or ("" if self.is_calm() else "the overlay changes")

    def is_calm(self) -> bool:
        """Return whether nothing goes on that a step would tear apart."""
        return not (
            len(self.synchronisation)
            or any(map(self.routing.is_joining, self.routing.links.values()))
            or self.routing.crossings.unfinished
            or len(self.membership.attachments)
            or len(self.replays)
        )

    def drop_waiting(self, link: Hop, is_given_up: Callable[[Asking], bool] = lambda _: True) -> None:
        """Forget what has asked by this link and has been given up."""
        self.waiting = [each for each in self.waiting if each[1] is not link or not is_given_up(each[0])]

    def refuse_relayed(self, text: str) -> None:
        """Refuse the steps that the parent has not granted: it is the parent no more."""
        for link, message in self.relayed.items():
            self.send(link, StepRefused(message.number, text))
        self.relayed.clear()

    def __len__(self) -> int:
        """Return how many steps go on here or wait."""
        return self.is_busy + (self.rising is not None) + len(self.waiting) + len(self.relayed)

    # --- the routes of the child, on their way from its parent ---

    def send_routes(self, link: Hop, routes: ChildRoutes) -> None:
        """Send the routes of a child that moves."""
        for page in self._pages(routes):
            self.send(link, page)

    def _pages(self, routes: ChildRoutes) -> Iterator[LiftedRoutes | LiftedIds]:
        size_bytes = self.routing.strategies.page_bytes
        advertised = [RouteFilter(each, content) for each, content in routes.advertised.items()]
        parts = {"wants": routes.wants, "announced": routes.announced, "added": routes.added}
        for part, listed in {"advertised": advertised, **parts}.items():
            for page in cut(listed, size_bytes):
                yield LiftedRoutes(page, part)
        for part, ids in {"knows": routes.knows, "ended": routes.ended, "brokers": routes.brokers}.items():
            for names in cut(sorted(ids), size_bytes):
                yield LiftedIds(frozenset(names), part)

    def take_routes(self, message: LiftedRoutes, link: Hop) -> None:
        """Collect the routes of a child that moves."""
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

    def take_ids(self, message: LiftedIds, link: Hop) -> None:
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

    def collected(self, link: Hop) -> ChildRoutes:
        """Return what has come of the routes of a child by this link, for good."""
        return self._parts.pop(link, None) or ChildRoutes()

    def link_of(self, name: str, link: Hop | None) -> Hop:
        """Return the link to a child that is taken over; one without a link is lost at once (R8).

        That child may have come again already, by a link of its own name.
        """
        if link is None:
            link = self.homeless = self.hops.open(f"{name} (lost)", is_link=True)
        return link

    def adopt(self, child: Hop, parent: Hop, routes: ChildRoutes) -> None:
        """Take a child of a neighbour as one of this broker.

        If something goes on that a step would tear apart, it is lost at once (R8).
        """
        self.membership.take_over(child, parent, routes.brokers)
        is_calm = self.is_calm()
        take_over(self.routing, child, parent, routes)
        if child is not self.homeless:
            self.news.append(ChildTaken(child))
            if not is_calm:
                self.news.append(LinkEnded(child, BROKEN))
