"""The steps of one broker: each message of a step goes to the part that the broker has in it."""

from attrs import Factory, define

from broker.core.effects import ProtocolError
from broker.core.hops import Hop
from broker.core.lifting import Lifts
from broker.core.lowering import Lowers
from broker.core.moves import MoveRequests
from broker.core.rising import Rises
from broker.core.stepping import (
    ChildTaken,
    LinkEnded,
    LinksSwitched,
    Lowering,
    MoveSteps,
    Outgoing,
    Parting,
    Receiving,
    Rise,
    Rising,
    StepGivenUp,
    StepWaits,
    Taking,
)
from broker.messages import LinkMessage
from broker.move_messages import Lift, StepAsked, StepCancelled, StepQueued, Switched


@define(eq=False)
class StepParts:
    """The three sides of all steps that one broker may take part in."""

    _steps: MoveSteps
    rises: Rises = Factory(lambda self: Rises(self._steps), takes_self=True)
    lifts: Lifts = Factory(lambda self: Lifts(self._steps), takes_self=True)
    lowers: Lowers = Factory(lambda self: Lowers(self._steps), takes_self=True)

    def asked(self, message: StepAsked, link: Hop) -> None:
        """Take part in the step of a child of a child, or of a sibling; during another one, later."""
        present = self._steps.present
        is_asking = isinstance(present, Rising) and present.state is Rise.ASKED
        if present is not None and not is_asking:
            self._steps.waiting.append((message, link))
            self._steps.send(link, StepQueued(message.number))
            return
        uplink = self._steps.membership.attachments.uplink
        is_sibling = uplink is not None and uplink.name == message.parent
        (self.lowers if is_sibling else self.lifts).step_asked(message, link)

    def lift(self, message: Lift, link: Hop) -> None:
        """Hand a child over."""
        present = self._steps.present
        if isinstance(present, Parting):
            self.lifts.lift(message, link, present)
        elif isinstance(present, Lowering):
            self.lowers.lower(message, link, present)

    def cancelled(self, message: StepCancelled, link: Hop) -> None:
        """Go on as before: a child has given the step up."""
        present = self._steps.present
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
        elif isinstance(present, Rising):
            self.rises.switched(message, link, present)

    def poll(self) -> Outgoing:
        """Take the next part of a step if all that it waits for has come; return what is sent for it."""
        if self._steps.present is None and self._steps.waiting:
            self.asked(*self._steps.waiting.pop(0))
        match self._steps.present:
            case Rising() as rising:
                return self.rises.poll(rising)
            case Parting() as parting:
                return self.lifts.poll(parting)
            case Lowering() as lowering:
                return self.lowers.poll(lowering)
        return []

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
        self._steps.waiting = [each for each in self._steps.waiting if each[1] is not link]
        match self._steps.present:
            case Rising() as rising:
                self.rises.link_lost(rising, link)
            case Parting() as parting:
                self.lifts.parent_lost(parting, link)
            case Receiving() as receiving if link in {receiving.link, receiving.parent}:
                self.lifts.above_lost(receiving, link)
            case Lowering() as lowering:
                self.lowers.parent_lost(lowering, link)
            case Taking() as taking:
                self.lowers.sibling_lost(taking, link)
