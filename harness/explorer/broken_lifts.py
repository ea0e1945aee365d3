"""One rule of lifts broken per function: each replaces a method of the product in a mutant."""

from collections.abc import Callable, Iterable, Sequence

from broker.core import adoption
from broker.core.adoption import ChildRoutes
from broker.core.advertising import Advertising
from broker.core.announcements import Difference
from broker.core.barrier import Barrier
from broker.core.broker import BrokerCore
from broker.core.hops import Hop
from broker.core.lifting import Lifts
from broker.core.moves import MoveRequests
from broker.core.rising import Rises
from broker.core.routing import RoutingState
from broker.core.stepping import Asking, MoveSteps, Outgoing, Parting, Receiving, Rise, Rising
from broker.core.steps import StepParts
from broker.core.subscribing import Subscribing
from broker.core.tables import RouteEntry
from broker.messages import LinkMessage, Publication
from broker.move_messages import Lifted, LiftReady, MoveAnswer, StepGranted, StepRefused, Switched
from broker.routing.strategy import RouteFilter
from ordering.interface import Emission, Hops
from ordering.pairwise import Pairwise, _Pending

_asked = StepParts.asked
_arrive = Rises.arrive
_hold = Rises.hold
_lifted = Lifts.lifted
_lost_rising = Rises.link_lost
_send_held = Rises._send_held
_take_over = adoption.take_over
_offer_handed_over = Subscribing.offer_handed_over
_over = MoveRequests._over
_next_step = MoveRequests.next_step
_answered = MoveRequests.answered


# --- the child ---


@property  # type: ignore[misc]  # it replaces one
def holds_nothing(self: Rising) -> bool:
    """Send up all the time."""
    del self
    return False


@property  # type: ignore[misc]  # as above
def counts_no_requests(self: Pairwise) -> int:
    """Wait for no acknowledgement before the lift."""
    del self
    return 0


def reads_the_new_link_at_once(self: BrokerCore, link: Hop, messages: Sequence[LinkMessage]) -> None:
    """Take what comes by the new link before Switched has come by the old one."""
    rising = self.steps.rising
    assert rising is not None
    assert rising.link is link
    for message in messages:
        if isinstance(message, StepGranted | StepRefused):
            self._step_parts.rises.arrive(message, rising)
        elif self.uplink is not None:
            self.receive(self.uplink, [message])


def holds_events_alone(self: Rises, outgoing: Outgoing) -> Outgoing:
    """Send messages about routes up all the time."""
    rising = self._steps.rising
    kept = _hold(self, outgoing)
    if rising is not None and rising.holds:
        passing: list[LinkMessage] = [each for each in rising.held if not isinstance(each, Publication)]
        rising.held = [each for each in rising.held if isinstance(each, Publication)]
        return [*kept, (self._steps.uplink, passing)] if passing else kept
    return kept


def goes_on_when_torn(self: Rises, rising: Rising, link: Hop) -> None:
    """Go on below the parent, although the new link was lost after the lift."""
    if link is rising.link and rising.state is Rise.LIFTED:
        self._give_up("the new link is lost")
    else:
        _lost_rising(self, rising, link)


def forgets_what_was_held(self: Rises, rising: Rising, uplink: Hop) -> None:
    """Do not send what was held."""
    rising.held.clear()
    _send_held(self, rising, uplink)


# --- the broker above ---


def forgets_the_parent_alone(self: Lifts, receiving: Receiving, link: Hop) -> None:
    """Let the child go on, although the link to its parent is lost."""
    del receiving, link
    self._steps.present = None


# --- the parent ---


def orders_nothing_above(self: Pairwise, child: Hops) -> None:
    """Let nothing more than before be ordered above."""
    del self, child


@property  # type: ignore[misc]  # as above
def waits_for_nothing_older(self: Pairwise) -> bool:
    """Wait for nothing that was pending before the preparation."""
    del self
    return True


def passes_the_switch_on_late(self: Lifts, message: Switched, parting: Parting) -> None:
    """Give the child by the old way what is acknowledged after the switch."""
    steps = self._steps
    steps.present = None
    steps.ordering.order_above(0)
    steps.send_behind(parting.child, message)


def takes_all_for_known(self: Lifts) -> bool:
    """Lift a child although a publisher of it has withdrawn whose events are not ordered yet."""
    del self
    return True


def interrupts_what_comes_down(self: Lifts, publication: Publication, origin: Hops) -> Hops:
    """Send nothing down to a child that is lifted."""
    del self, publication, origin
    return 0


def forgets_its_own_wants(self: Subscribing, uplink: Hop, entries: Iterable[RouteEntry]) -> Difference:
    """Do not let the broker above know what the parent's own side wants of the child."""
    return Difference((), _offer_handed_over(self, uplink, entries).removed)


def takes_old_leases(self: Lifts, message: LinkMessage, link: Hop) -> bool:
    """Compare routes with a digest that was sent before the switch."""
    del self, message, link
    return False


def takes_all_for_quiet(routing: RoutingState, link: Hop) -> bool:
    """Hand routes over although some are not acknowledged."""
    del routing, link
    return True


# --- the broker above ---


def switches_behind(self: Lifts, message: Lifted, link: Hop) -> None:
    """Send Switched behind what is pending for the parent."""
    steps = self._steps
    send, steps.send = steps.send, steps.send_behind
    try:
        _lifted(self, message, link)
    finally:
        steps.send = send


def keeps_what_has_ended(routing: RoutingState, child: Hop, parent: Hop, routes: ChildRoutes) -> None:
    """Go on serving the parent with what it wanted for the child alone."""
    routes.ended = frozenset()
    _take_over(routing, child, parent, routes)


def adopts_nothing(self: Pairwise, child: Hops, parent: Hops, wants: Callable[[object], bool]) -> None:
    """Give the child nothing that is pending for its parent."""
    del self, child, parent, wants


def covers_nothing(self: Subscribing, route: RouteFilter, known: Iterable[RouteFilter]) -> bool:
    """Close every gate towards the child until it has acknowledged all again."""
    del self, route, known
    return False


def closes_gates_towards_others(
    self: Subscribing, link: Hop, entries: Sequence[RouteEntry], serving: Iterable[RouteEntry]
) -> None:
    """Let what the child wants wait for answers that what served it did not need."""
    del serving
    self.offer(link, entries)


def announces_no_rest(
    self: Advertising, link: Hop, known: frozenset[str], is_lost: Callable[[str], bool]
) -> None:
    """Announce nothing to the child that it does not know yet."""
    del known, is_lost
    candidates = self._tables.advertisements_but(link).items()
    self.announced[link].edit(add=[RouteFilter(*each) for each in candidates])


def waits_for_the_others_alone(self: Barrier, neighbour: Hop, announced: str) -> None:
    """Let publishers publish before the child knows of them."""
    del self, neighbour, announced


# --- several steps ---


@property  # type: ignore[misc]  # as above
def is_never_busy(self: MoveSteps) -> bool:
    """Take part in several steps at a time."""
    del self
    return False


@property  # type: ignore[misc]  # as above
def is_busy_when_it_asks(self: MoveSteps) -> bool:
    """Let others wait as soon as this broker asks for a step of its own."""
    return self.present is not None or self.rising is not None


def takes_its_own_step_at_once(self: StepParts, message: Asking, link: Hop) -> None:
    """Let this broker's own step wait for no other one."""
    if isinstance(message, LiftReady):
        self._begin(message, link)
    else:
        _asked(self, message, link)


def lets_all_wait(self: MoveSteps, link: Hop, is_given_up: object = None) -> None:
    """Take steps up that have been given up."""
    del self, link, is_given_up


def takes_old_answers(self: Rises, message: LinkMessage, rising: Rising) -> None:
    """Take a refusal of an earlier step for one of this step."""
    if isinstance(message, StepRefused):
        message = StepRefused(rising.number, message.text)
    _arrive(self, message, rising)


def forgets_open_requests(self: Pairwise) -> list[_Pending]:
    """Let a child go up while requests are open that were made for others."""
    return self._pending


# --- whole moves ---


def remembers_what_it_left(self: MoveRequests, state: str, text: str) -> None:
    """Go to no broker again that an earlier move has left."""
    left = self._left
    _over(self, state, text)
    self._left = self._left or left


def goes_to_itself(self: MoveRequests, uplink: str) -> str:
    """Go on towards a broker that seems to be below this one: the next one on the way there is this one."""
    return self._name if self._name in self._roster.ancestors(uplink) else _next_step(self, uplink)


def sends_nothing_back(self: MoveRequests, message: MoveAnswer, link: Hop | None = None) -> None:
    """Drop an answer that meets the news of a switch."""
    if self._membership.towards(message.asker) is not link or message.asker == self._name:
        _answered(self, message)


def drops_nothing(self: Pairwise, hop: Hops, is_old: Callable[[object], bool]) -> Sequence[Emission]:
    """Send the parent pending leases that were made before its child moved."""
    del self, hop, is_old
    return ()
