"""One law of crossings broken per function: what happens between two parts is forgotten."""

from broker.core.announcements import Difference
from broker.core.crossing import Crossings
from broker.core.hops import Hop
from broker.core.routing import RoutingState
from broker.core.subscribing import UNSENT, Neighbour

_choose = Crossings._choose
_hold = Neighbour.hold


def opens_when_chosen(self: Crossings, link: Hop, neighbour: Neighbour, count: int) -> int:
    """Open gates before anything is sent."""
    taken = _choose(self, link, neighbour, count)
    for entry in neighbour.gates.waiting_for(UNSENT, len(neighbour.offered)):
        if neighbour.gates.released(entry, UNSENT):
            self._subscribing.open_gate(entry, link)
    return taken


def forgets_newcomers(self: Crossings, link: Hop, neighbour: Neighbour, count: int) -> int:
    """Offer nothing that has come since the choice."""
    del self, link, count
    neighbour.blocked.clear()
    return 0


def sends_what_has_gone(self: Neighbour, difference: Difference) -> Difference:
    """Send all that was chosen, also what has gone since."""
    held = _hold(self, Difference(difference.added))
    return difference if held.added else Difference((), difference.removed)


def withdraws_nothing(self: Neighbour, difference: Difference) -> Difference:
    """Withdraw nothing before all is sent."""
    is_held = self.is_choosing or bool(self.unsent)
    now = _hold(self, difference)
    return Difference() if is_held else now


def holds_no_flood(self: RoutingState, link: Hop) -> bool:
    """Answer a flood while subscriptions still cross the link that it came by."""
    del self, link
    return False
