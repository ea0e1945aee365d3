"""Lowerings: a child becomes a child of its sibling while events flow, and loses nothing.

    child (below parent)          sibling (below parent)       parent
    opens a link to sibling: StepAsked ->  passes it on: LowerAsked ->  keeps itself free
                                  <------------------------    LowerGranted
                                  keeps all that climbs for the child, with requests
                                  LowerPrepared   -------->    gives the child what comes from the sibling
                                                               in one step with the acknowledgement
                   <---------------------------------------    LiftReady, when nothing older is pending
    sends nothing up, waits for its acknowledgements
    Lift           --------------------------------------->    SWITCH: what is pending for the child goes to
                                                               the sibling, for the child alone
                                  <------------------------    Lowered at once, with the child's routes
                   <---------------------------------------    Switched, at once
    takes the new link            takes the child: what is kept is for it, and all for it is ordered above
                                  LowerTaken      -------->    the step is over here
                                  <------------------------    LowerSettled, behind all that was pending
                   <------------  Joined
    sends what it held

The child's side is in `broker.core.rising`.

Laws.

1. What is kept for the child is dropped when it is acknowledged before Lowered: the child has it from the
   parent, which gave it in the step of that acknowledgement.
2. Of what was pending at the parent at the switch, each side gets exactly what it was to get: what was for
   the child alone passes the sibling's side by, and what was for the sibling alone does not go to the child.
3. The child sends nothing before LowerSettled: what was before it at the parent is before it at the sibling.
4. Until Lowered has been sent each of the three can give the step up, and nothing has happened.
"""

from typing import Final

from attrs import define

from broker.core.adoption import hand_over, is_quiet
from broker.core.attachment import name_of
from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.core.stepping import BROKEN, LEASES, LinkEnded, Lowering, MoveSteps, Outgoing, Taking
from broker.messages import LinkMessage, Publication, PublishersLost
from broker.move_messages import (
    Joined,
    Lift,
    LiftReady,
    LowerAsked,
    LowerCancelled,
    Lowered,
    LowerGranted,
    LowerPrepared,
    LowerSettled,
    LowerTaken,
    StepAsked,
    StepCancelled,
    StepRefused,
    Switched,
)

_GONE: Final = "the child has given it up, or is lost"


@define(eq=False)
class Lowers:
    """The part of one broker in lowerings, as the sibling or as the parent."""

    _steps: MoveSteps

    # --- the sibling ---

    def step_asked(self, message: StepAsked, link: Hop) -> None:
        """Ask the parent, which is taken first (`broker.core.stepping`, law 2)."""
        steps = self._steps
        text = steps.inability()
        if name_of(message.child) != link.name:
            text = f"{message.child} is not {link.name}"
        if text:
            steps.send(link, StepRefused(message.number, text))
            return
        steps.relayed[link] = message
        steps.send(steps.uplink, LowerAsked(link.name, message.number))

    def granted(self, message: LowerGranted, link: Hop, text: str) -> None:
        """Prepare to take a sibling as a child, or refuse if there is a reason."""
        steps = self._steps
        if link is not steps.membership.attachments.uplink:
            return
        child = self.relayed_by(message.child, message.number)
        if child is not None:
            del steps.relayed[child]
        text = text or steps.objection()
        if child is None or text:
            # The question may have gone to a new uplink, which keeps itself free for nobody.
            steps.send(link, LowerCancelled(message.child, message.number, text or _GONE))
            return
        steps.present = Taking(message.number, child)
        steps.carry_out(steps.ordering.keep_for(child.bit))
        steps.send(link, LowerPrepared(message.child, message.number))

    def relayed_by(self, name: str, number: int) -> Hop | None:
        """Return the link of the sibling of that name whose step of that number is not granted yet."""
        relayed = self._steps.relayed.items()
        return next((link for link, each in relayed if (link.name, each.number) == (name, number)), None)

    def sibling_gone(self, link: Hop) -> None:
        """Notify the parent that a sibling has given up its step, which is not granted yet."""
        steps = self._steps
        if (message := steps.relayed.pop(link, None)) is not None:
            steps.send(steps.uplink, LowerCancelled(link.name, message.number, _GONE))

    def lowered(self, message: Lowered, link: Hop) -> None:
        """Serve the child from here on."""
        steps = self._steps
        if link is not steps.membership.attachments.uplink:
            raise ProtocolError(f"{link.name} lowered {message.child}, and is not the uplink")
        routes, taking = steps.collected(link), steps.present
        new = None
        if isinstance(taking, Taking) and (taking.link.name, taking.number) == (
            message.child,
            message.number,
        ):
            new, taking.is_parent = taking.link, True
        child = steps.link_of(message.child, new)
        steps.send(link, LowerTaken(message.child, message.number))
        steps.carry_out(steps.plugin.link_attached(child.bit))
        if new is not None:
            steps.ordering.keep_wanted(child.bit, routes.wants_item)
        steps.adopt(child, link, routes)

    def settled(self, message: LowerSettled, link: Hop) -> None:
        """Let the child send: all that was pending above has come (law 3)."""
        taking = self._steps.present
        if isinstance(taking, Taking) and taking.is_parent and link is self._steps.uplink:
            del message
            self._join(taking)

    def _join(self, taking: Taking) -> None:
        steps = self._steps
        steps.present = None
        steps.ordering.order_above(0)
        steps.send(taking.link, Joined(taking.number))

    def sibling_lost(self, taking: Taking, link: Hop) -> None:
        """Give the step up; a child that is one of this broker already may send."""
        steps = self._steps
        if link is taking.link:
            steps.present = None
            if taking.is_parent:
                steps.ordering.order_above(0)
            else:
                steps.carry_out(steps.ordering.keep_for(0))
                steps.send(steps.uplink, LowerCancelled(link.name, taking.number, _GONE))
        elif link is steps.uplink and taking.is_parent:
            # What the child's publishers published before may have been pending there.
            for content in steps.routing.tables.advertisements(taking.link).distinct():
                steps.routing.publishers_lost(PublishersLost(content), taking.link)
            self._join(taking)
        elif link is steps.uplink:
            steps.present = None
            steps.carry_out(steps.ordering.keep_for(0))
            steps.news.append(LinkEnded(taking.link, BROKEN))

    # --- the parent ---

    def asked(self, message: LowerAsked, link: Hop, text: str) -> None:
        """Keep this broker free to lower a child below its sibling, or refuse if there is a reason."""
        steps = self._steps
        child = steps.routing.links.get(message.child)
        text = text or steps.objection()
        if child is None or child in {link, steps.membership.attachments.uplink}:
            child, text = None, f"{message.child} is no other child of {link.name}'s uplink"
        if child is None or text:
            steps.send(link, LowerCancelled(message.child, message.number, text))
            return
        steps.present = Lowering(message.number, child, link)
        steps.send(link, LowerGranted(message.child, message.number))

    def prepared(self, message: LowerPrepared, link: Hop) -> None:
        """Prepare to lower the child: its sibling is prepared."""
        lowering = self._steps.present
        if isinstance(lowering, Lowering) and not lowering.is_prepared:
            asked = (lowering.sibling, lowering.child.name, lowering.number)
            if asked == (link, message.child, message.number):
                lowering.is_prepared = True
                self._steps.ordering.acknowledge_with(lowering.child.bit, link.bit)

    def poll(self, lowering: Lowering) -> Outgoing:
        """Notify the child when nothing older is pending."""
        if lowering.is_ready or not (lowering.is_prepared and self._steps.ordering.is_ordered_above):
            return []
        lowering.is_ready = True
        return [(lowering.child, [LiftReady(lowering.number)])]

    def lower(self, message: Lift, link: Hop, lowering: Lowering) -> None:
        """Switch: the child is one of its sibling from here on; or refuse, if its routes have changed."""
        if (lowering.number, lowering.child) != (message.number, link) or lowering.is_switched:
            return
        steps, sibling = self._steps, lowering.sibling
        if not self._is_quiet(link, sibling) or self._has_passed(link, sibling):
            self._refuse(lowering, "routes change")
            return
        lowering.is_switched = True
        routes = hand_over(steps.routing, link, sibling)
        routes.brokers = steps.membership.lower(link, sibling)
        steps.send_routes(sibling, routes)
        steps.send(sibling, Lowered(link.name, lowering.number))
        steps.send(link, Switched(link.name, lowering.number))
        steps.carry_out(steps.ordering.redirect(link.bit, sibling.bit))
        steps.carry_out(steps.plugin.hop_lost(link.bit))
        steps.send_behind(sibling, LowerSettled(link.name, lowering.number))

    def _is_quiet(self, child: Hop, sibling: Hop) -> bool:
        """Return whether both have answered all that they were announced, and no change waits for them."""
        steps = self._steps
        both = child.bit | sibling.bit
        return (
            steps.is_calm()
            and is_quiet(steps.routing, child)
            and is_quiet(steps.routing, sibling)
            and all(
                isinstance(each.item, Publication) or not each.targets & both
                for each in steps.plugin.blocked()
            )
        )

    def _has_passed(self, child: Hop, sibling: Hop) -> bool:
        """Return whether the child has come to want something since that came from its sibling."""
        route = self._steps.routing.tables.route

        def wants(item: object) -> bool:
            if not isinstance(item, Publication):
                return False
            return route(item.attributes, sibling.bit).targets & child.bit != 0

        return self._steps.ordering.has_passed(child.bit, sibling.bit, wants)

    def _refuse(self, lowering: Lowering, text: str) -> None:
        """Let the child and its sibling go on as before."""
        steps = self._steps
        self._stay()
        steps.send(lowering.child, StepRefused(lowering.number, text))
        steps.send(lowering.sibling, LowerCancelled(lowering.child.name, lowering.number, text))

    def _stay(self) -> None:
        self._steps.present = None
        self._steps.ordering.acknowledge_with(0, 0)

    def is_outdated(self, message: LinkMessage, link: Hop) -> bool:
        """Return whether the sibling sent a lease before it took the child: it leaves out its routes."""
        lowering = self._steps.present
        is_switched = isinstance(lowering, Lowering) and lowering.is_switched and link is lowering.sibling
        return is_switched and isinstance(message, LEASES)

    def cancelled(self, message: LowerCancelled, link: Hop) -> None:
        """Go on as before: the sibling does not take the child, or the parent gives the step up."""
        steps = self._steps
        asked = LowerAsked(message.child, message.number)
        steps.drop_waiting(link, lambda each: each == asked)
        child = self.relayed_by(message.child, message.number)
        if child is not None and link is steps.membership.attachments.uplink:
            del steps.relayed[child]
            steps.send(child, StepRefused(message.number, message.text))
        match steps.present:
            case Lowering(number=message.number, is_switched=False) as lowering:
                if link is lowering.sibling and lowering.child.name == message.child:
                    self._stay()
                    steps.send(lowering.child, StepRefused(lowering.number, message.text))
            case Taking(number=message.number, is_parent=False) as taking:
                if link is steps.uplink and taking.link.name == message.child:
                    steps.present = None
                    steps.carry_out(steps.ordering.keep_for(0))
            case _:
                pass

    def child_cancelled(self, message: StepCancelled, link: Hop, lowering: Lowering) -> None:
        """Go on as before: the child has given the step up."""
        if (lowering.number, lowering.child) == (message.number, link) and not lowering.is_switched:
            self._stay()
            self._steps.send(lowering.sibling, LowerCancelled(link.name, lowering.number, _GONE))

    def taken(self, message: LowerTaken, link: Hop) -> None:
        """End the step: the sibling serves the child."""
        lowering = self._steps.present
        if isinstance(lowering, Lowering) and lowering.is_switched and link is lowering.sibling:
            del message
            self._steps.present = None

    def parent_lost(self, lowering: Lowering, link: Hop) -> None:
        """Give the step up, or end it."""
        steps = self._steps
        if link not in {lowering.child, lowering.sibling}:
            return
        if lowering.is_switched:
            if link is lowering.sibling:
                steps.present = None
            return
        self._stay()
        if link is lowering.child:
            steps.send(lowering.sibling, LowerCancelled(link.name, lowering.number, _GONE))
        else:
            steps.send(lowering.child, StepRefused(lowering.number, f"{link.name} is lost"))
