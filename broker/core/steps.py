"""The steps of one broker: each message of a step goes to the part that the broker has in it.

Brokers that ask this one while it takes part in a step wait here (`broker.core.stepping`, laws 1 to 4).
"""

from attrs import Factory, define

from broker.core.attachment import name_of
from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.core.lifting import Lifts
from broker.core.lowering import Lowers
from broker.core.moves import MoveRequests
from broker.core.rising import Rises
from broker.core.stepping import (
    WAITING_MAX,
    Asking,
    ChildTaken,
    LinkEnded,
    LinksSwitched,
    Lowering,
    MoveSteps,
    Outgoing,
    Parting,
    Receiving,
    StepGivenUp,
    StepWaits,
    Taking,
)
from broker.messages import LinkMessage
from broker.move_messages import (
    Lift,
    LiftAsked,
    LiftReady,
    LowerAsked,
    LowerGranted,
    StepAsked,
    StepCancelled,
    StepQueued,
    Switched,
)


@define(eq=False)
class StepParts:
    """The three sides of all steps that one broker may take part in."""

    _steps: MoveSteps
    rises: Rises = Factory(lambda self: Rises(self._steps), takes_self=True)
    lifts: Lifts = Factory(lambda self: Lifts(self._steps), takes_self=True)
    lowers: Lowers = Factory(lambda self: Lowers(self._steps), takes_self=True)

    def asked(self, message: Asking, link: Hop) -> None:
        """Take part in a step; during another one, later. A sibling asks the parent first."""
        steps = self._steps
        uplink = steps.membership.attachments.uplink
        if isinstance(message, StepAsked) and uplink is not None and uplink.name == message.parent:
            self.lowers.step_asked(message, link)
        elif not steps.is_busy:
            self._begin(message, link)
        elif len(steps.waiting) < WAITING_MAX:
            steps.waiting.append((message, link))
            self._notify(message, link)
        else:
            self._begin(message, link, f"{WAITING_MAX} steps wait already")

    def _begin(self, message: Asking, link: Hop, text: str = "") -> None:
        """Take part in a step, or refuse if there is a reason."""
        match message:
            case StepAsked():
                self.lifts.step_asked(message, link, text)
            case LiftAsked():
                self.lifts.asked(message, link, text)
            case LowerAsked():
                self.lowers.asked(message, link, text)
            case LowerGranted():
                self.lowers.granted(message, link, text)
            case LiftReady():
                self.rises.ready(message, link, text)

    def _notify(self, message: Asking, link: Hop) -> None:
        """Let the child know that its step waits here."""
        steps = self._steps
        child: Hop | None = link
        match message:
            case LowerAsked():
                child = steps.routing.links.get(message.child)
            case LowerGranted():
                child = self.lowers.relayed_by(message.child, message.number)
            case LiftReady():
                steps.news.append(StepWaits(name_of(steps.membership.attachments.identity)))
                return
            case _:
                pass
        if child is not None:
            steps.send(child, StepQueued(message.number))

    def _take_waiting(self) -> None:
        """Take part in the next step that has waited."""
        steps = self._steps
        while steps.waiting and not steps.is_busy:
            message, link = steps.waiting.pop(0)
            if link in steps.membership.joining or steps.routing.is_linked(link):
                self._begin(message, link)

    def lift(self, message: Lift, link: Hop) -> None:
        """Hand a child over."""
        present = self._steps.present
        if isinstance(present, Parting):
            self.lifts.lift(message, link, present)
        elif isinstance(present, Lowering):
            self.lowers.lower(message, link, present)

    def cancelled(self, message: StepCancelled, link: Hop) -> None:
        """Go on as before: a child has given the step up."""
        number, present = message.number, self._steps.present
        self._steps.drop_waiting(link, lambda each: isinstance(each, LiftAsked) and each.number == number)
        if isinstance(present, Parting):
            self.lifts.cancelled(message, link, present)
        elif isinstance(present, Lowering):
            self.lowers.child_cancelled(message, link, present)

    def switched(self, message: Switched, link: Hop) -> None:
        """Take Switched from the uplink: as the parent pass it on, as the child take the new link."""
        present = self._steps.present
        if link is not self._steps.membership.attachments.uplink:
            raise ProtocolError(f"{link.name} sent Switched, and is not the uplink")
        if isinstance(present, Parting):
            self.lifts.switched(message, present)
        elif (rising := self._steps.rising) is not None:
            self.rises.switched(message, link, rising)

    def poll(self) -> Outgoing:
        """Take the next part of a step if all that it waits for has come; return what is sent for it."""
        self._take_waiting()
        match self._steps.present:
            case Parting() as parting:
                return self.lifts.poll(parting)
            case Lowering() as lowering:
                return self.lowers.poll(lowering)
        rising = self._steps.rising
        return [] if rising is None else self.rises.poll(rising)

    def report(
        self,
        moves: MoveRequests,
        attached: list[Hop],
        rejected: list[tuple[Hop, str]],
        switched: list[tuple[Hop, Hop]],
    ) -> None:
        """Add what has followed from steps to these lists, and let a move know how its step goes."""
        news, self._steps.news = self._steps.news, []
        for each in news:
            match each:
                case LinkEnded(link, why):
                    rejected.append((link, why))
                case LinksSwitched(kept, other):
                    switched.append((kept, other))
                case ChildTaken(link):
                    attached.append(link)
                case StepGivenUp(text):
                    moves.refused(text)
                case StepWaits(at):
                    moves.waits(at)

    def is_outdated(self, message: LinkMessage, link: Hop) -> bool:
        """Return whether a lease was sent before the switch."""
        return self.lifts.is_outdated(message, link) or self.lowers.is_outdated(message, link)

    def link_lost(self, link: Hop) -> None:
        """Give up the step that needs a lost link, or end it."""
        self._steps.collected(link)
        self._steps.drop_waiting(link)
        if link is self._steps.membership.attachments.uplink:
            self._steps.refuse_relayed("the uplink is lost")
        self.lowers.sibling_gone(link)
        if (rising := self._steps.rising) is not None:
            self.rises.link_lost(rising, link)
        match self._steps.present:
            case Parting() as parting:
                self.lifts.parent_lost(parting, link)
            case Receiving() as receiving if link in {receiving.link, receiving.parent}:
                self.lifts.above_lost(receiving, link)
            case Lowering() as lowering:
                self.lowers.parent_lost(lowering, link)
            case Taking() as taking:
                self.lowers.sibling_lost(taking, link)
