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

The child's side is in `broker.core.rising`.

Laws.

1. Until Lifted has been sent each of the three can give the step up, and nothing has happened. If a link of
   the three is lost later, the child leaves both of its uplinks and is a root (R8).
2. No event goes back to the child's side. The broker above knows by its publisher what is from there, so
   there is no lift while an event of a publisher that has withdrawn is not ordered.
"""

from attrs import define

from broker.core.adoption import hand_over, is_quiet
from broker.core.attachment import name_of
from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.core.stepping import (
    BROKEN,
    LEASES,
    LEFT_OVER,
    LinkEnded,
    MoveSteps,
    Outgoing,
    Parting,
    Receiving,
)
from broker.messages import LinkMessage, Publication
from broker.move_messages import (
    Lift,
    LiftAsked,
    Lifted,
    LiftReady,
    StepAsked,
    StepCancelled,
    StepGranted,
    StepRefused,
    Switched,
)
from ordering.interface import Hops


@define(eq=False)
class Lifts:
    """The part of one broker in lifts, as the parent or as the broker above."""

    _steps: MoveSteps

    # --- the parent ---

    def asked(self, message: LiftAsked, link: Hop, text: str) -> None:
        """Let everything for a child be ordered above from now on, or refuse if there is a reason."""
        steps = self._steps
        uplink = steps.membership.attachments.uplink
        text = text or steps.objection()
        if uplink is None or uplink.name != message.above:
            text = f"{message.above} is not above it"
        if text:
            steps.send(link, StepRefused(message.number, text))
            return
        steps.present = Parting(message.number, link)
        steps.ordering.order_above(link.bit)

    def cancelled(self, message: StepCancelled, link: Hop, parting: Parting) -> None:
        """Go on as before: the child has given the step up."""
        if (parting.number, parting.child) == (message.number, link):
            self._stay()

    def _stay(self) -> None:
        self._steps.present = None
        self._steps.ordering.order_above(0)

    def poll(self, parting: Parting) -> Outgoing:
        """Notify the child when nothing older is pending."""
        if parting.is_ready or not self._steps.ordering.is_ordered_above:
            return []
        parting.is_ready = True
        return [(parting.child, [LiftReady(parting.number)])]

    def lift(self, message: Lift, link: Hop, parting: Parting) -> None:
        """Count a child as above, and hand its routes over; or refuse, if they have changed."""
        if (parting.number, parting.child) != (message.number, link):
            return
        steps = self._steps
        routing, uplink = steps.routing, steps.uplink
        are_known = self._are_publishers_known()
        if not (steps.is_calm() and is_quiet(routing, link) and is_quiet(routing, uplink) and are_known):
            self._stay()
            steps.send(link, StepRefused(message.number, "routes change"))
            return
        routes = hand_over(routing, link, uplink)
        routes.brokers = steps.membership.hand_over(link)
        parting.routes = routes
        steps.send_routes(uplink, routes)
        steps.send(uplink, Lifted(link.name, parting.number))

    def _are_publishers_known(self) -> bool:
        """Return whether the broker above can know which side of what it has to order is the child's own."""
        advertisement = self._steps.routing.tables.advertisement
        items = self._steps.ordering.awaited
        publishers = {item.publisher for item in items if isinstance(item, Publication)}
        return all(advertisement(publisher) is not None for publisher in publishers)

    def targets_below(self, publication: Publication, origin: Hops) -> Hops:
        """Return the child that is lifted, if it wants what comes down."""
        parting = self._steps.present
        if isinstance(parting, Parting) and parting.routes is not None and origin == self._steps.uplink.bit:
            wants = not parting.is_lost and parting.routes.wants_item(publication)
            return parting.child.bit if wants else 0
        return 0

    def is_outdated(self, message: LinkMessage, link: Hop) -> bool:
        """Return whether the uplink sent a lease before its switch: it leaves out the child's routes."""
        parting = self._steps.present
        has_parted = isinstance(parting, Parting) and parting.routes is not None
        return has_parted and isinstance(message, LEASES) and link is self._steps.uplink

    def switched(self, message: Switched, parting: Parting) -> None:
        """Pass Switched on, behind all that is for the child."""
        steps = self._steps
        if parting.routes is None or parting.number != message.number:
            return
        steps.present = None
        if not parting.is_lost:
            steps.carry_out(steps.ordering.let_go(parting.child.bit))
            steps.send(parting.child, message)

    def parent_lost(self, parting: Parting, link: Hop) -> None:
        """Give the step up, or let the child be lost."""
        steps = self._steps
        if link not in {parting.child, steps.uplink}:
            return
        is_child = link is parting.child
        if parting.routes is None:
            self._stay()
            if not is_child:
                steps.send(parting.child, StepRefused(parting.number, "the uplink is lost"))
            return
        if not parting.is_lost:
            steps.ordering.order_above(0)
            steps.carry_out(steps.plugin.hop_lost(parting.child.bit))
            steps.news.append(LinkEnded(parting.child, BROKEN))
        parting.is_lost = True
        if not is_child:
            steps.present = None  # Otherwise Switched is still to come: the child's routes are above.

    # --- the broker above ---

    def step_asked(self, message: StepAsked, link: Hop, text: str) -> None:
        """Keep this broker free for a step, if it can be one of a child of a child."""
        steps = self._steps
        parent = steps.routing.links.get(message.parent)
        text = text or steps.objection()
        is_child = name_of(message.child) == link.name
        if parent is None or not (is_child and steps.membership.is_behind(message.child, parent)):
            text = f"{message.parent} is not its child, with {link.name} below it"
        if text:
            steps.send(link, StepRefused(message.number, text))
            return
        assert parent is not None
        steps.present = Receiving(message.number, link, parent)
        steps.send(link, StepGranted(message.number))

    def above_lost(self, receiving: Receiving, link: Hop) -> None:
        """End the step; the child must not go on with it when its parent has returned."""
        steps = self._steps
        steps.present = None
        if link is receiving.parent:
            steps.news.append(LinkEnded(receiving.link, LEFT_OVER))

    def lifted(self, message: Lifted, link: Hop) -> None:
        """Switch: the child is one of this broker from here on."""
        steps = self._steps
        if message.child == link.name:
            raise ProtocolError(f"{link.name} lifted itself")
        routes, receiving = steps.collected(link), steps.present
        new = None
        if isinstance(receiving, Receiving) and (receiving.link.name, receiving.number, receiving.parent) == (
            message.child,
            message.number,
            link,
        ):
            new, steps.present = receiving.link, None
        child = steps.link_of(message.child, new)
        steps.send(link, Switched(message.child, message.number))
        steps.carry_out(steps.plugin.link_attached(child.bit))
        steps.ordering.adopt(child.bit, link.bit, routes.wants_item)
        # They leave out the child's routes, and come when the parent has had Switched.
        steps.carry_out(steps.ordering.drop(link.bit, lambda item: isinstance(item, LEASES)))
        steps.adopt(child, link, routes)
