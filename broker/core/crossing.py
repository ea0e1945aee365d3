"""R7 and R9, when a neighbour has its first advertisements: subscriptions cross its link, in parts.

Theory of operation. Every entry that overlaps what is advertised behind a link is to be offered there: when
the link has synchronised, and when a neighbour without advertisements gets the first one. If they are many,
that is too long for one step, for nothing else is served meanwhile. So the caller asks for further steps
(`CoreEffects.is_unfinished`), and each takes a *part*: so many entries or routes.

    look     entries that overlap are blocked: their gates towards the link are closed
    choose   the strategy chooses among these, and nothing is sent
    send     what it has chosen is announced
    offer    what has come since the choice, and was blocked as well, is offered as usual
    open     the gate of each entry waits for what covers it, from here on

Laws.

1. A step takes one part, of `part_count` at most.
2. Nothing is sent before all gates are closed that have to be (R7); none is opened before all is sent.
3. Until all is sent, an entry that comes is blocked, as while the link synchronises. One that goes is taken
   out of the choice; what was sent for it, or under its id for another hop, is withdrawn.
4. What was chosen was known before anything was sent, and nothing had been sent before. So the
   acknowledgement of what covers it comes behind all that was on its way then, and no question is asked for
   it; for what is offered later there is one.
5. An advertisement behind the link waits until the crossing is over (R6).

A neighbour to which something was offered, and that advertises more, gets what overlaps that too as usual,
but a part of all entries is *looked through* in each step.

6. An advertisement waits until all entries have been looked through that were there when it came. If it came
   while others were looked through for, that is another time through all of them.
7. The gates of neighbours' entries open with the last one, at a new link (law 6 of
   `broker.core.subscribing`).
"""

from itertools import islice
from typing import ClassVar

from attrs import Factory, define

from broker.core.announcements import Difference
from broker.core.barrier import Barrier
from broker.core.hops import Hop
from broker.core.subscribing import AGAIN, BLOCKED, LOOKING, UNCROSSED, UNSENT, Neighbour, Subscribing
from broker.core.tables import RouteEntry, RoutingTables, entry_key, route_filter_of


@define(eq=False)
class Crossings:
    """The links of one broker that are being crossed, in the order of their next parts."""

    DERIVED: ClassVar = frozenset({"_part_count"})

    _subscribing: Subscribing
    _tables: RoutingTables
    _barrier: Barrier
    _part_count: int
    unfinished: dict[Hop, None] = Factory(dict)

    def is_long(self, link: Hop) -> bool:
        """Return whether a neighbour to which nothing has been offered may have to learn more than a part."""
        neighbour = self._subscribing.neighbours[link]
        is_in_parts = neighbour.is_crossing or neighbour.is_looking
        is_apart = is_in_parts or link in self._tables.synchronising
        return not (neighbour.offered or is_apart) and self._tables.entry_count > self._part_count

    def is_wide(self, link: Hop) -> bool:
        """Return whether so many entries may have to be offered to a neighbour that it is done in parts."""
        neighbour = self._subscribing.neighbours[link]
        is_served = neighbour.offered and link not in self._tables.synchronising
        is_in_parts = neighbour.is_crossing or neighbour.is_looking
        return bool(is_served or is_in_parts) and self._tables.entry_count > self._part_count

    def look_through(self, link: Hop) -> None:
        """Let further steps offer a neighbour what overlaps one more of its advertisements."""
        neighbour = self._subscribing.neighbours[link]
        self._subscribing.flood(link)
        if neighbour.is_looking or neighbour.is_crossing:
            neighbour.is_to_look_again = True
            return
        neighbour.is_looking = True
        neighbour.unseen = list(self._tables.entries())[::-1]
        self.unfinished[link] = None

    def begin(self, link: Hop, *, is_new: bool) -> None:
        """Take the first part: the neighbour has advertised what nothing was offered for before.

        If the link is new, the whole tree knows the advertisements that came across it.
        """
        neighbour = self._subscribing.neighbours[link]
        neighbour.is_crossing = neighbour.is_blocking = neighbour.is_choosing = True
        neighbour.is_new = neighbour.has_moved = is_new
        neighbour.unseen = list(self._tables.entries())[::-1]
        neighbour.gates.asked(UNSENT)
        if is_new and not self._subscribing.strategy.is_exact:  # One route may cover another.
            neighbour.gates.asked(UNCROSSED)
        self._subscribing.flood(link)
        self._take_part(link)

    def go_on(self) -> None:
        """Take the next part, if there still is any."""
        if self.unfinished:
            link = next(iter(self.unfinished))
            del self.unfinished[link]
            self._take_part(link)

    def link_lost(self, link: Hop) -> None:
        """Forget a lost link."""
        self.unfinished.pop(link, None)

    def _take_part(self, link: Hop) -> None:
        neighbour, left = self._subscribing.neighbours[link], self._part_count
        if neighbour.is_looking:
            self._look_on(link, neighbour)
            return
        for stage in (self._look, self._choose, self._send, self._offer, self._open):
            left -= stage(link, neighbour, left)
            if not left:
                self.unfinished[link] = None
                return
        self._end(link, neighbour)

    # --- stages: each takes at most so many, and returns how many it has taken ---

    def _look(self, link: Hop, neighbour: Neighbour, count: int) -> int:
        """Close the gates of entries that are to cross."""
        part = _unseen(neighbour, count)
        self._subscribing.block(link, filter(self._tables.has, part))
        return len(part)

    def _choose(self, link: Hop, neighbour: Neighbour, count: int) -> int:
        """Let the strategy choose among blocked entries; what it chooses is held."""
        part = _unblocked(neighbour, count) if neighbour.is_choosing else []
        neighbour.offered.update((entry_key(each), each) for each in part)
        difference = neighbour.announced.edit(add=map(route_filter_of, part))
        self._subscribing.announce(link, neighbour, difference)
        neighbour.is_choosing = neighbour.is_choosing and len(part) == count
        return len(part)

    def _send(self, link: Hop, neighbour: Neighbour, count: int) -> int:
        """Announce what was chosen."""
        added = tuple(islice(neighbour.unsent.values(), count))
        for route in added:
            del neighbour.unsent[route.id]
        if added:
            self._subscribing.send_pages(link, neighbour, Difference(added), has_moved=neighbour.has_moved)
        return len(added)

    def _offer(self, link: Hop, neighbour: Neighbour, count: int) -> int:
        """Offer what has come since the choice."""
        part = _unblocked(neighbour, count)
        self._subscribing.offer_now(link, part, has_moved=neighbour.has_moved)
        return len(part)

    def _open(self, link: Hop, neighbour: Neighbour, count: int) -> int:
        """Let gates wait for the announcements that cover their entries, or open them."""
        self._tables.synchronising.discard(link)
        gates, neighbour.is_blocking = neighbour.gates, False
        part = gates.waiting_for(UNSENT, count)
        for entry in part:
            if gates.is_closed(entry):
                self._subscribing.wait(neighbour, entry)
            if gates.released(entry, UNSENT):
                self._subscribing.open_gate(entry, link)
        return len(part)

    def _end(self, link: Hop, neighbour: Neighbour) -> None:
        gates, subscribing = neighbour.gates, self._subscribing
        neighbour.is_crossing = False
        gates.answered(UNSENT)
        subscribing.passed += self._barrier.route_replaced(BLOCKED, link, gates.unanswered())
        if neighbour.is_new:
            neighbour.crossing = set(gates.requests()) - {UNCROSSED}
            subscribing.note_crossed(link, neighbour)
        self._look_again(link, neighbour)

    def _look_on(self, link: Hop, neighbour: Neighbour) -> None:
        """Offer the next part as usual; let what has waited for all parts wait for acknowledgements now."""
        part = _unseen(neighbour, self._part_count)
        self._subscribing.offer_now(link, filter(self._tables.has, part))
        if neighbour.unseen:
            self.unfinished[link] = None
            return
        neighbour.is_looking = False
        unanswered = neighbour.gates.unanswered()
        self._subscribing.passed += self._barrier.route_replaced(LOOKING, link, unanswered)
        self._look_again(link, neighbour)

    def _look_again(self, link: Hop, neighbour: Neighbour) -> None:
        """Look through all entries for what was advertised meanwhile, if there was any."""
        if neighbour.is_to_look_again:
            neighbour.is_to_look_again = False
            self._subscribing.passed += self._barrier.route_replaced(AGAIN, link, (LOOKING,))
            self.look_through(link)


def _unseen(neighbour: Neighbour, count: int) -> list[RouteEntry]:
    """Take the first entries that have not been looked at."""
    unseen = neighbour.unseen
    part, unseen[-count:] = unseen[-count:][::-1], []
    return part


def _unblocked(neighbour: Neighbour, count: int) -> list[RouteEntry]:
    """Take the first blocked entries."""
    part = list(islice(neighbour.blocked.items(), count))
    for key, _ in part:
        del neighbour.blocked[key]
    return [entry for _, entry in part]
