"""One rule of lowerings broken per function: each replaces a method of the product in a mutant."""

from collections.abc import Callable, Sequence

from broker.core.hops import Hop
from broker.core.lowering import Lowers
from broker.core.rising import Rises
from broker.core.stepping import Lowering, Outgoing, Rise, Taking
from broker.messages import LinkMessage
from broker.move_messages import Lift, LiftReady, LowerGranted
from ordering.interface import Emission, Hops
from ordering.pairwise import FOR_OTHERS, FOR_TAKEN, Pairwise

_ready = Rises.ready
_granted = Lowers.granted
_lower = Lowers.lower
_sibling_lost = Lowers.sibling_lost
_keep_wanted = Pairwise.keep_wanted
_acknowledge_with = Pairwise.acknowledge_with
_redirect = Pairwise.redirect
_in_step = Pairwise._in_step


# --- the child ---


def sends_at_the_switch(self: Rises, message: LiftReady, link: Hop, text: str) -> None:
    """Send what was held when the new link is taken, and not when the sibling has all."""
    _ready(self, message, link, text)
    rising = self._steps.rising
    if rising is not None and rising.state is Rise.DRAINING:
        rising.is_lowering = False


# --- the sibling ---


def keeps_nothing(self: Pairwise, link: Hops) -> Sequence[Emission]:
    """Keep nothing for the child."""
    del self, link
    return ()


def notifies_nobody_of_the_loss(self: Lowers, taking: Taking, link: Hop) -> None:
    """Send no gap for what the child's side had published when the parent is lost behind the switch."""
    if link is self._steps.uplink and taking.is_parent:
        self._join(taking)
    else:
        _sibling_lost(self, taking, link)


def looks_at_nothing_kept(
    self: Pairwise, child: Hops, sibling: Hops, wants: Callable[[object], bool]
) -> bool:
    """Lower a child although it has come to want what the sibling keeps for it."""
    del self, child, sibling, wants
    return False


class _Lasting(int):
    """A set of hops that is taken out of nothing."""

    def __invert__(self) -> int:
        return -1


def keeps_what_is_acknowledged(self: Pairwise, link: Hops) -> Sequence[Emission]:
    """Give the child what was acknowledged before the switch as well."""
    self._beside, self._taken = _Lasting(link), 0
    return ()


def orders_nothing_above(self: Pairwise, child: Hops, wants: Callable[[object], bool]) -> None:
    """Let nothing more be ordered above once the child is taken."""
    _keep_wanted(self, child, wants)
    self._above = 0


def goes_on_when_torn(self: Lowers, taking: Taking, link: Hop) -> None:
    """Keep the link to the child, although the parent is lost before the switch."""
    if link is taking.link or taking.is_parent:
        _sibling_lost(self, taking, link)
        return
    self._steps.present = None
    self._steps.carry_out(self._steps.ordering.keep_for(0))


# --- the parent ---


def waits_for_nothing_older(self: Lowers, lowering: Lowering) -> Outgoing:
    """Wait for nothing that was pending before the preparation."""
    del self
    if lowering.is_ready or not lowering.is_prepared:
        return []
    lowering.is_ready = True
    return [(lowering.child, [LiftReady(lowering.number)])]


def acknowledges_apart(self: Pairwise, child: Hops, sibling: Hops) -> None:
    """Give the child what comes from its sibling before or after the acknowledgement."""
    _acknowledge_with(self, child, sibling)
    self._child = self._sibling = 0


def drops_what_is_pending(self: Pairwise, child: Hops, sibling: Hops) -> Sequence[Emission]:
    """Give the sibling nothing that is pending for the child."""
    del sibling
    self.acknowledge_with(0, 0)
    return self.hop_lost(child)


def _unmarked(self: Pairwise, child: Hops, sibling: Hops, mark: int) -> Sequence[Emission]:
    """Redirect, and emit what would carry this mark without one."""
    emissions = _redirect(self, child, sibling)
    for pending in self._pending:
        if pending.mark == mark:
            pending.marked = 0
    return [emission if emission.mark != mark else emission._replace(mark=0) for emission in emissions]


def gives_its_own_to_the_child(self: Pairwise, child: Hops, sibling: Hops) -> Sequence[Emission]:
    """Let the child get what was pending for its sibling alone."""
    return _unmarked(self, child, sibling, FOR_OTHERS)


def gives_the_childs_to_all(self: Pairwise, child: Hops, sibling: Hops) -> Sequence[Emission]:
    """Let the sibling's side get what was pending for the child alone."""
    return _unmarked(self, child, sibling, FOR_TAKEN)


def settles_at_once(self: Lowers, message: Lift, link: Hop, lowering: Lowering) -> None:
    """Send LowerSettled past what is pending for the sibling."""
    steps = self._steps
    behind, steps.send_behind = steps.send_behind, steps.send
    try:
        _lower(self, message, link, lowering)
    finally:
        steps.send_behind = behind


def switches_behind(self: Lowers, message: Lift, link: Hop, lowering: Lowering) -> None:
    """Send Switched and Lowered behind what is pending."""
    steps = self._steps
    send, steps.send = steps.send, steps.send_behind
    try:
        _lower(self, message, link, lowering)
    finally:
        steps.send = send


def takes_all_for_quiet(self: Lowers, child: Hop, sibling: Hop) -> bool:
    """Hand routes over although some are not acknowledged."""
    del self, child, sibling
    return True


def takes_old_leases(self: Lowers, message: LinkMessage, link: Hop) -> bool:
    """Compare routes with a digest that was sent before the sibling took the child."""
    del self, message, link
    return False


def leaves_grants_unanswered(self: Lowers, message: LowerGranted, link: Hop, text: str) -> None:
    """Say nothing of a grant for which nobody waits any more."""
    if self.relayed_by(message.child, message.number) is not None:
        _granted(self, message, link, text)


def own_side_passes(self: Pairwise, targets: Hops, exposed: Hops, origin: Hops) -> tuple[Hops, Hops]:
    """Let nobody but a child that has come from above wait for the uplink's answer."""
    taken, self._taken = self._taken, 0
    late = _in_step(self, targets, exposed, origin)
    self._taken = taken
    return late
