"""One law of crossings broken per function: what happens between two parts is forgotten."""

from broker.core.announcements import Difference
from broker.core.crossing import Crossings
from broker.core.hops import Hop
from broker.core.subscribing import AGAIN, LOOKING, UNCROSSED, UNSENT, Neighbour, Subscribing
from broker.core.synchronisation import Synchronisation
from broker.core.tables import RouteEntry, entry_key
from broker.filters import Filter

_choose = Crossings._choose
_open = Crossings._open
_look_through = Crossings.look_through
_on_their_way = Subscribing.on_their_way
_wait = Subscribing.wait
_hold = Neighbour.hold


def opens_when_chosen(self: Crossings, link: Hop, neighbour: Neighbour, count: int) -> int:
    """Open gates before anything is sent."""
    taken = _choose(self, link, neighbour, count)
    for entry in neighbour.gates.waiting_for(UNSENT, len(neighbour.offered)):
        if neighbour.gates.released(entry, UNSENT):
            self._subscribing.open_gate(entry, link)
    return taken


def serves_neighbours_early(self: Crossings, link: Hop, neighbour: Neighbour, count: int) -> int:
    """Serve neighbours before they get their gaps."""
    taken = _open(self, link, neighbour, count)
    for entry in neighbour.gates.answered(UNCROSSED)[1]:
        self._subscribing.open_gate(entry, link)
    return taken


def serves_what_is_asked_early(self: Subscribing, neighbour: Neighbour, entry: RouteEntry) -> list[str]:
    """Let only what neighbours have had acknowledged wait for its gap."""
    waited_for = _wait(self, neighbour, entry)
    if not entry.is_answered and neighbour.gates.is_pending(UNCROSSED):
        neighbour.gates.released(entry, UNCROSSED)
    return waited_for


def announces_nothing(self: Synchronisation) -> None:
    """Send no flood behind the gap of a new link."""
    self._routing.crossed.clear()


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


def keeps_what_is_blocked(self: Neighbour, entry: RouteEntry) -> bool:
    """Withdraw nothing for an entry that was blocked."""
    self.blocked.pop(entry_key(entry), None)
    return self.offered.pop(entry_key(entry), None) is not None


def awaits_no_look(self: Subscribing, link: Hop, content: Filter) -> list[str]:
    """Let an advertisement wait for what is announced already, not for what is still looked for."""
    return [each for each in _on_their_way(self, link, content) if each not in {LOOKING, AGAIN}]


def looks_once(self: Crossings, link: Hop) -> None:
    """Look through all entries for the first of several advertisements alone."""
    if not self._subscribing.neighbours[link].is_looking:
        _look_through(self, link)
