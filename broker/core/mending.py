"""What a broker tells its neighbours, made to agree with its own tables again.

A broker that keeps all rules never needs this: what it has told always follows from what it knows. If memory
or a defect has changed the one or the other, this finds out and tells the difference, by the same messages as
any change of routes. What is known through links is mended by leases (`broker.core.leases`).

Law: where everything agrees, nothing is changed and nothing is sent; `count` says how often something was.
"""

# ruff: noqa: SLF001 - it mends the parts of routing, and nobody else is to do so

from collections.abc import Mapping

from attrs import define

from broker.core.hops import Hop
from broker.core.routing import Routing
from broker.core.subscribing import Neighbour
from broker.core.tables import Entry, Place, place_of, wish_of
from broker.core.told import Difference
from broker.routing.flooding import EVERYTHING
from broker.routing.strategy import Wish


@define(eq=False)
class Mending:
    """Compares, for each neighbour, what it has been told with what it should have been told."""

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
            self.count += 1
            for each in list(tables.advertisements(link).filters):
                tables.remove_advertisement(link, each)
            tables.add_advertisement(link, EVERYTHING.id, EVERYTHING.filter)

    def _mend_arrivals(self, link: Hop, neighbour: Neighbour) -> None:
        """Answer requests for what is not there: nobody else would."""
        known = self._routing.tables.entries_of(link)
        for each in [each for each in neighbour.arrivals.all() if each not in known]:
            self.count += 1
            self._routing.subscribing._acknowledge(link, neighbour.arrivals.removed(each))
            self._routing.subscribing._retire(link, neighbour, each)

    def _mend_offers(self, link: Hop, neighbour: Neighbour) -> None:
        subscribing, expected = self._routing.subscribing, self._expected(link)
        if _are_the_same(neighbour.offered, expected):
            return
        self.count += 1
        wrong = [e for place, e in neighbour.offered.items() if expected.get(place) is not e]
        closed = [entry for entry in wrong if neighbour.gates.forget(entry)]
        for entry in wrong:
            del neighbour.offered[place_of(entry)]
        still = {entry.id for entry in neighbour.offered.values()}
        gone = dict.fromkeys(entry.id for entry in wrong if entry.id not in still)
        subscribing._tell(link, neighbour, neighbour.told.edit(remove=gone))
        for entry in closed:
            subscribing._open(entry, link)
        subscribing.offer(link, self._routing.tables.entries())

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
        if neighbour.told.is_right(candidates):
            return
        self.count += 1
        difference, changed = neighbour.told.remake(candidates)
        waited = neighbour.gates.withdrawn(changed)
        subscribing._tell(link, neighbour, difference)
        for entry in waited:
            subscribing._wait(neighbour, entry)
            if not neighbour.gates.is_closed(entry):
                subscribing._open(entry, link)

    def _mend_advertisements(self, link: Hop) -> None:
        advertising, tables = self._routing.advertising, self._routing.tables
        known = tables.advertisements_but(link)
        candidates = {each: Wish(each, content) for each, content in known.items()}
        if self._routing.strategies.advertisements.floods:
            candidates = {}
        told = advertising.told[link]
        if told.is_right(candidates):
            return
        self.count += 1
        difference, changed = told.remake(candidates)
        self._routing._report(advertising.withdraw(link, changed))
        removed = tuple(each for each in difference.removed if each not in changed)
        self._routing._report(advertising._tell(link, Difference(difference.added, removed)))

    def _mend_gates(self, link: Hop, neighbour: Neighbour) -> None:
        for entry in list(self._routing.tables.entries()):
            is_closed = neighbour.gates.is_closed(entry)
            if is_closed is bool(entry.closed & link.bit):
                continue
            self.count += 1
            if is_closed:
                self._routing.tables.close_gate(entry, link)
            else:
                self._routing.subscribing._open(entry, link)
        self._routing._report()


def _are_the_same(offered: Mapping[Place, Entry], expected: Mapping[Place, Entry]) -> bool:
    return len(offered) == len(expected) and all(expected.get(p) is entry for p, entry in offered.items())
