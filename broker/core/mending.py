"""What a broker has announced to its neighbours, made to agree with its own tables again.

A broker that keeps all rules never needs this: what it has announced always follows from what it knows. If
memory or a defect has changed the one or the other, this finds out and sends the difference, by the same
messages as any change of routes. What is known through links is repaired by leases (`broker.core.leases`).

Laws.

1. Where everything agrees, nothing is changed and nothing is sent; `count` says how often something was.
2. Whoever may have missed a publication because of what is repaired here is told a gap in the same step.
"""

from collections.abc import Iterable, Sequence

from attrs import define

from broker.core.hops import Hop
from broker.core.routing import Routing
from broker.core.subscribing import Neighbour
from broker.core.tables import Entry, Place, place_of, wish_of
from broker.filters import Filter
from broker.routing.flooding import EVERYTHING
from broker.routing.strategy import Wish


@define(eq=False)
class Mending:
    """Compares, for each neighbour, what has been announced to it with what should have been."""

    _routing: Routing
    count: int = 0

    def mend(self) -> None:
        """Make everything agree."""
        for link in list(self._routing.links.values()):
            neighbour = self._routing.subscribing.neighbours[link]
            self._mend_everything(link)
            self._mend_arrivals(link, neighbour)
            if link not in self._routing.tables.synchronising:
                self._mend_offers(link, neighbour)
                self._mend_subscriptions(link, neighbour)
            self._mend_advertisements(link)
            self._mend_gates(link, neighbour)

    def _mend_everything(self, link: Hop) -> None:
        tables = self._routing.tables
        if not self._routing.strategies.advertisements.floods:
            return
        if tables.advertisements(link).filters != {EVERYTHING.id: EVERYTHING.filter}:
            self._found_missing_from(link, [EVERYTHING.filter])
            for each in list(tables.advertisements(link).filters):
                tables.remove_advertisement(link, each)
            tables.add_advertisement(link, EVERYTHING.id, EVERYTHING.filter)

    def _mend_arrivals(self, link: Hop, neighbour: Neighbour) -> None:
        """Answer requests for what is not there; when it comes back, those who missed something are told."""
        known, subscribing = self._routing.tables.entries_of(link), self._routing.subscribing
        for each in [each for each in neighbour.arrivals.all() if each not in known]:
            self.count += 1
            subscribing.answer_absent(each, link)
            subscribing.retire_absent(each, link)

    def _mend_offers(self, link: Hop, neighbour: Neighbour) -> None:
        expected = self._expected(link)
        wrong = [e for place, e in neighbour.offered.items() if expected.get(place) is not e]
        absent = [e for place, e in expected.items() if neighbour.offered.get(place) is not e]
        if wrong or absent:
            self._found_missing_from(link, (entry.filter for entry in (*wrong, *absent)))
            self._routing.subscribing.offer_anew(link, wrong)

    def _expected(self, link: Hop) -> dict[Place, Entry]:
        tables = self._routing.tables
        advertised = tables.advertisements(link)
        return {
            place_of(entry): entry
            for entry in tables.entries()
            if entry.hop is not link and advertised.overlap(entry.filter)
        }

    def _mend_subscriptions(self, link: Hop, neighbour: Neighbour) -> None:
        subscribing = self._routing.subscribing
        candidates = {entry.id: wish_of(entry) for entry in neighbour.offered.values()}
        if subscribing.strategy.floods:
            is_of_use = bool(self._routing.tables.advertisements(link).filters)
            candidates = {EVERYTHING.id: EVERYTHING} if is_of_use else {}
        if not neighbour.announced.is_right(candidates):
            before = list(neighbour.announced.wishes.values())
            subscribing.announce_anew(link, candidates)
            self._found_missing_from(link, _changed(before, list(neighbour.announced.wishes.values())))

    def _mend_advertisements(self, link: Hop) -> None:
        known = self._routing.tables.advertisements_but(link)
        candidates = {each: Wish(each, content) for each, content in known.items()}
        if self._routing.strategies.advertisements.floods:
            candidates = {}
        told = self._routing.advertising.announced[link]
        if not told.is_right(candidates):
            self.count += 1
            before = list(told.wishes.values())
            self._routing.announce_anew(link, candidates)
            self._routing.missed_by(link, _changed(before, list(told.wishes.values())))

    def _mend_gates(self, link: Hop, neighbour: Neighbour) -> None:
        for entry in list(self._routing.tables.entries()):
            if neighbour.gates.is_closed(entry) is not bool(entry.closed & link.bit):
                self.count += 1
                self._routing.missed_by(entry.hop, [entry.filter])
                self._routing.subscribing.set_gate(entry, link)
        self._routing.report()

    def _found_missing_from(self, link: Hop, contents: Iterable[Filter]) -> None:
        """Something was wrong, and so publications of these kinds may not have come from a neighbour."""
        self.count += 1
        self._routing.missed_from(link, contents)


def _changed(before: Sequence[Wish], after: Sequence[Wish]) -> list[Filter]:
    """Return the filters of what was announced or is now, and not both; of everything if that is the same."""
    both = frozenset(before) & frozenset(after)
    return [wish.filter for wish in (*before, *after) if wish not in both] or [wish.filter for wish in after]
