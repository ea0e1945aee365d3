"""The child's side of a step: it opens a link to its new parent, holds what goes up, and changes its uplink.

The new parent is the broker above the parent (`broker.core.lifting` has that step as a figure), or another
child of the parent (`broker.core.lowering`). In a lift the child asks its parent once the broker above has
granted the step; in a lowering the new parent does. When both are prepared the child is asked (LiftReady),
and may have to end its part in another step first.

Laws.

1. What is in the sequence of the broker that makes the switch before it comes to the child by the old way,
   and all else by the new one. The child takes nothing from the new link before Switched has come by the old.
2. The child's uplink stays the same hop: no route, gate or announcement of it changes.
3. It sends nothing up from LiftReady on: until Switched in a lift, until Joined in a lowering.
4. Until it has sent Lift, the child can give the step up, and nothing has happened. If its uplink or the new
   link is lost later, the child leaves both and is a root (R8).
"""

from attrs import define

from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.core.stepping import (
    BROKEN,
    LEFT_OVER,
    LinkEnded,
    LinksSwitched,
    MoveSteps,
    Outgoing,
    Rise,
    Rising,
    StepGivenUp,
    StepWaits,
)
from broker.messages import LinkMessage
from broker.move_messages import (
    Joined,
    Lift,
    LiftAsked,
    LiftReady,
    StepAsked,
    StepCancelled,
    StepGranted,
    StepQueued,
    StepRefused,
    Switched,
)


@define(eq=False)
class Rises:
    """The part of one broker in the steps that give it another parent."""

    _steps: MoveSteps
    _numbers: int = 0

    def rise(self, link: Hop, uplink: Hop) -> None:
        """Ask the broker at the other end of a new link to become the uplink."""
        steps = self._steps
        text = "another step of it goes on" if steps.rising is not None else steps.objection()
        if text:
            steps.news.append(StepGivenUp(text))
            steps.news.append(LinkEnded(link, LEFT_OVER))
            return
        self._numbers += 1
        steps.rising = Rising(self._numbers, link)
        steps.send(link, StepAsked(steps.membership.attachments.identity, self._numbers, uplink.name))

    def arrive(self, message: LinkMessage, rising: Rising) -> None:
        """Take a message of the new link, or keep it until the switch (law 1)."""
        if isinstance(message, StepGranted | StepRefused | StepQueued):
            # What is about an earlier step comes too late, by this link too, if this is its child already.
            if message.number == rising.number:
                self._answered(message, rising)
        elif not rising.take(message):
            raise ProtocolError(f"{rising.link.name} sent too much before the switch")

    def _answered(self, message: StepGranted | StepRefused | StepQueued, rising: Rising) -> None:
        match message:
            case StepGranted():
                if rising.state is Rise.ASKED:
                    rising.enter(Rise.PREPARING)
                    self._steps.send(self._steps.uplink, LiftAsked(rising.number, rising.link.name))
            case StepRefused():
                self._give_up(message.text)
            case StepQueued():
                self._steps.news.append(StepWaits(rising.link.name))

    def queued(self, message: StepQueued, link: Hop) -> None:
        """Note that the step waits; it may not any more, if this came by the new link."""
        rising = self._steps.rising
        if rising is not None and rising.number == message.number and not rising.is_taken:
            self._steps.news.append(StepWaits(link.name))

    def ready(self, message: LiftReady, link: Hop, text: str) -> None:
        """Send nothing up from now on, or give the step up if there is a reason."""
        steps = self._steps
        rising = steps.rising
        if rising is None or rising.number != message.number or link is not steps.uplink:
            return
        if text:
            self._cancel(rising, text)
        elif not rising.is_taken:
            is_granted_by_parent = rising.state is Rise.ASKED
            rising.is_lowering = is_granted_by_parent
            rising.enter(Rise.DRAINING)

    def hold(self, outgoing: Outgoing) -> Outgoing:
        """Keep what goes up while nothing may."""
        rising = self._steps.rising
        if rising is None or not rising.holds:
            return outgoing
        uplink = self._steps.uplink
        rising.held += [each for hop, messages in outgoing if hop is uplink for each in messages]
        return [(hop, messages) for hop, messages in outgoing if hop is not uplink]

    def poll(self, rising: Rising) -> Outgoing:
        """Take the next step if all that it waits for has come; return what is sent past what is held."""
        if rising.state is Rise.DRAINING:
            requests_held = sum(getattr(each, "mark", 0) != 0 for each in rising.held)
            if self._steps.ordering.open_count <= requests_held:
                rising.enter(Rise.LIFTED)
                return [(self._steps.uplink, [Lift(rising.number)])]
        return []

    def refuse(self, message: StepRefused, link: Hop) -> None:
        """Give the step up, since the parent refuses."""
        rising = self._steps.rising
        if rising is not None and rising.number == message.number and link is self._steps.uplink:
            self._give_up(message.text)

    def _cancel(self, rising: Rising, text: str) -> None:
        """Give the step up, and notify the parent."""
        rising.held.append(StepCancelled(rising.number))
        self._give_up(text)

    def _give_up(self, text: str) -> None:
        """Go on below the parent: nothing has happened."""
        steps = self._steps
        rising, steps.rising = steps.rising, None
        assert rising is not None
        steps.news.append(StepGivenUp(text))
        steps.news.append(LinkEnded(rising.link, LEFT_OVER))
        self._send_held(rising, steps.uplink)

    def _send_held(self, rising: Rising, uplink: Hop) -> None:
        if rising.held:
            later, uplink.outbox = uplink.outbox, []
            self._steps.hops.extend(uplink, [*rising.held, *later])

    def switched(self, message: Switched, link: Hop, rising: Rising) -> None:
        """Take the new link for the uplink (law 2); after a lift, send what was held."""
        steps = self._steps
        if rising.state is not Rise.LIFTED or rising.number != message.number:
            return
        steps.refuse_relayed("its uplink has changed")
        old = rising.link
        del steps.routing.links[link.name]
        link.name, old.name = old.name, link.name
        steps.routing.links[link.name] = link
        steps.news.append(LinksSwitched(link, old))
        steps.news.append(LinkEnded(old, LEFT_OVER))
        steps.turned = link, rising.arrived
        if rising.is_lowering:
            rising.enter(Rise.LOWERED)
            rising.arrived = []
        else:
            self._join(rising, link)

    def joined(self, message: Joined, link: Hop) -> None:
        """Send what was held: the new parent has all that was pending for it and for this broker."""
        rising = self._steps.rising
        if rising is not None and rising.state is Rise.LOWERED and rising.number == message.number:
            self._join(rising, link)

    def _join(self, rising: Rising, uplink: Hop) -> None:
        self._steps.rising = None
        self._steps.joined = uplink
        self._send_held(rising, uplink)

    def link_lost(self, rising: Rising, link: Hop) -> None:
        """Give up the step that needs a lost link, or leave both links (law 4)."""
        steps = self._steps
        if link is steps.uplink:
            steps.rising = None
            if rising.state is not Rise.LOWERED:
                steps.news.append(LinkEnded(rising.link, LEFT_OVER))
        elif link is rising.link and rising.state is Rise.LIFTED:
            steps.rising = None
            steps.news.append(LinkEnded(steps.uplink, BROKEN))
        elif link is rising.link and rising.state is not Rise.LOWERED:
            self._cancel(rising, "the new link is lost")
