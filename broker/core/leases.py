"""Leases: a route that a neighbour leaves out when it renews expires, and a missing one is repaired.

So a broker recovers from any damage to its tables. Each broker renews, on each link for itself, all that it
has announced there. It does not matter which subscriptions are behind that, or how many: none can be missing
because another one is like it.

Theory of operation. There is no clock here: the shell calls `refresh` as often as the settings demand
(`broker.leases`). A renewal is a digest of a few bytes, sent behind everything that was announced before
(R5). If the neighbour's own digest differs, it asks, and is sent a list of all routes, in order as well. A
route that is on the list and that the neighbour does not know is taken in as if it had just been announced. A
route that the neighbour knows and the list leaves out is wrong; it expires when as many lists in a row have
left it out as `sweep` has set.

Laws.

1. In a broker and between brokers that keep all rules nothing is changed: digests agree, nothing expires, and
   what was announced is right. Everything that was not is counted.
2. Neither time nor silence makes a route expire: a renewal may wait behind publications for as long as the
   link takes, and a neighbour without leases never renews. If a link is silent it is lost (R8), which is not
   decided here.
3. An entry expires at the position of a list that leaves it out, if that is the `expire_after`-th in a row on
   this link: in between, no digest has agreed, and no list had the entry. Before any sweep nothing expires.
4. A route that the neighbour has withdrawn and that serves on here for a while (make before break) does not
   expire.
5. Every subscription that may have missed a publication because of what is repaired gets a gap in the same
   step.

The routes that a broker has announced to its neighbours always follow from those it knows, unless memory or a
defect has changed the one or the other. `Repairs` finds that out, and sends the difference by the same
messages as any change of routes; routes known through links are what leases repair.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

from attrs import Factory, define

from broker.core.hops import Hop
from broker.core.pages import cut_both
from broker.core.routing import RoutingState, SendControl
from broker.core.subscribing import Neighbour
from broker.core.tables import EntryKey, RouteEntry, entry_key, route_filter_of
from broker.filters import Filter
from broker.messages import (
    AdvertisementAdded,
    LeaseAsked,
    LeaseListed,
    LeaseRenewed,
    SubscriptionsReplaced,
)
from broker.routing.flooding import EVERYTHING
from broker.routing.strategy import RouteFilter

DIGEST_BYTES: Final = 8
"""Of one item. Two tables that differ by chance are taken for equal once in 2**62 times."""

DIGEST_MAX: Final = 2**62

Key = tuple[bool, str]
"""Whether it is a subscription, and its id on the link."""


@define(eq=False)
class Repairs:
    """Compares, for each neighbour, what has been announced to it with what should have been."""

    _routing: RoutingState
    count: int = 0

    def make(self) -> None:
        """Make tables, announcements and gates agree."""
        for link in list(self._routing.links.values()):
            neighbour = self._routing.subscribing.neighbours[link]
            self._repair_everything(link)
            self._repair_arrivals(link, neighbour)
            if link not in self._routing.tables.synchronising and neighbour.is_complete:
                self._repair_offers(link, neighbour)
                self._repair_subscriptions(link, neighbour)
            self._repair_advertisements(link)
            self._repair_gates(link, neighbour)

    def _repair_everything(self, link: Hop) -> None:
        tables = self._routing.tables
        if not self._routing.strategies.advertisements.floods:
            return
        if tables.advertisements(link).filters != {EVERYTHING.id: EVERYTHING.filter}:
            self._found_missing_from(link, [EVERYTHING.filter])
            for each in list(tables.advertisements(link).filters):
                tables.remove_advertisement(link, each)
            tables.add_advertisement(link, EVERYTHING.id, EVERYTHING.filter)

    def _repair_arrivals(self, link: Hop, neighbour: Neighbour) -> None:
        """Acknowledge requests for entries that are lost; when these return, a gap goes to the link."""
        known, subscribing = self._routing.tables.entries_of(link), self._routing.subscribing
        for each in [each for each in neighbour.arrivals.all() if each not in known]:
            self.count += 1
            subscribing.answer_absent(each, link)
            subscribing.retire_absent(each, link)
        for entry in self._owed(link, neighbour):
            self.count += 1
            subscribing.ask_again(entry)

    def _owed(self, link: Hop, neighbour: Neighbour) -> list[RouteEntry]:
        """Return the entries that are open, and for which a neighbour still waits."""
        known = self._routing.tables.entries_of(link)
        return [known[each] for each in neighbour.arrivals.closed if each in known and not known[each].closed]

    def _repair_offers(self, link: Hop, neighbour: Neighbour) -> None:
        expected = self._expected(link)
        wrong = [e for key, e in neighbour.offered.items() if expected.get(key) is not e]
        absent = [e for key, e in expected.items() if neighbour.offered.get(key) is not e]
        if wrong or absent:
            self._found_missing_from(link, (entry.filter for entry in (*wrong, *absent)))
            self._routing.subscribing.offer_anew(link, wrong)

    def _expected(self, link: Hop) -> dict[EntryKey, RouteEntry]:
        tables = self._routing.tables
        advertised = tables.advertisements(link)
        return {
            entry_key(entry): entry
            for entry in tables.entries()
            if entry.hop is not link and advertised.overlap(entry.filter)
        }

    def _repair_subscriptions(self, link: Hop, neighbour: Neighbour) -> None:
        subscribing = self._routing.subscribing
        candidates = {entry.id: route_filter_of(entry) for entry in neighbour.offered.values()}
        if subscribing.strategy.floods:
            is_of_use = bool(self._routing.tables.advertisements(link).filters)
            candidates = {EVERYTHING.id: EVERYTHING} if is_of_use else {}
        if not neighbour.announced.is_right(candidates):
            before = list(neighbour.announced.routes.values())
            subscribing.announce_anew(link, candidates)
            self._found_missing_from(link, _changed(before, list(neighbour.announced.routes.values())))

    def _repair_advertisements(self, link: Hop) -> None:
        known = self._routing.tables.advertisements_but(link)
        candidates = {each: RouteFilter(each, content) for each, content in known.items()}
        if self._routing.strategies.advertisements.floods:
            candidates = {}
        announced = self._routing.advertising.announced[link]
        if not announced.is_right(candidates):
            self.count += 1
            before = list(announced.routes.values())
            self._routing.announce_anew(link, candidates)
            self._routing.missed_by(link, _changed(before, list(announced.routes.values())))

    def _repair_gates(self, link: Hop, neighbour: Neighbour) -> None:
        for entry in list(self._routing.tables.entries()):
            if neighbour.gates.is_closed(entry) is not bool(entry.closed & link.bit):
                self.count += 1
                self._routing.missed_by(entry.hop, [entry.filter])
                self._routing.subscribing.set_gate(entry, link)
        self._routing.report()

    def _found_missing_from(self, link: Hop, contents: Iterable[Filter]) -> None:
        """Count a repair, and report that publications of a neighbour may be missing."""
        self.count += 1
        self._routing.missed_from(link, contents)


def _changed(before: Sequence[RouteFilter], after: Sequence[RouteFilter]) -> list[Filter]:
    """Return the filters of the routes in one of both, or those of all if both are the same."""
    both = frozenset(before) & frozenset(after)
    return [route.filter for route in (*before, *after) if route not in both] or [
        route.filter for route in after
    ]


@define(eq=False)
class Leases:
    """How many lists in a row have left out each route known through a link."""

    _routing: RoutingState
    repairs: Repairs
    _send: SendControl
    _left_out: dict[Hop, dict[Key, int]] = Factory(dict)
    _listed: dict[Hop, set[Key]] = Factory(dict)
    expire_after: int = 0
    renewals: int = 0
    repaired: int = 0
    expired: int = 0

    # --- renewing ---

    def refresh(self) -> None:
        """Make announcements agree with the tables; then renew them on each link."""
        self.repairs.make()
        for link in list(self._routing.links.values()):
            self._send(link, LeaseRenewed(digest(*self._announced(link))))

    def _announced(self, link: Hop) -> tuple[list[tuple[str, Filter]], list[RouteFilter]]:
        routing = self._routing
        advertised = [
            (route.id, route.filter) for route in routing.advertising.announced[link].routes.values()
        ]
        neighbour = routing.subscribing.neighbours[link]
        routes = neighbour.announced.routes.values()
        return advertised, [each for each in routes if each.id not in neighbour.unsent]

    def asked(self, _: LeaseAsked, link: Hop) -> None:
        """Send a neighbour with another digest the list of all routes, once that is right."""
        self.repairs.make()
        *pages, last = cut_both(*self._announced(link), self._routing.strategies.page_bytes)
        for advertised, wanted in pages:
            number = self._routing.subscribing.request_number()
            self._send(link, LeaseListed(number, advertised, wanted, more=True))
        number = self._routing.subscribing.request_number()
        self._send(link, LeaseListed(number, *last))

    # --- being renewed ---

    def renewed(self, message: LeaseRenewed, link: Hop) -> None:
        """Compare a neighbour's digest; ask for the list if it differs from what is known."""
        self.renewals += 1
        advertised, wanted = self._known(link)
        known = digest(advertised.items(), wanted.values())
        if known == message.digest:
            self._left_out.pop(link, None)
        else:
            self.repaired += 1
            self._send(link, LeaseAsked(known))

    def _known(self, link: Hop) -> tuple[dict[str, Filter], dict[str, RouteFilter]]:
        """Return what the neighbour should have announced, without what it has withdrawn (law 4)."""
        tables = self._routing.tables
        advertised = dict(tables.advertisements(link).filters)
        if self._routing.strategies.advertisements.floods:
            advertised.pop(EVERYTHING.id, None)
        retiring = self._routing.subscribing.neighbours[link].arrivals.retiring
        known = tables.entries_of(link)
        return advertised, {id_: route_filter_of(each) for id_, each in known.items() if id_ not in retiring}

    def listed(self, message: LeaseListed, link: Hop) -> None:
        """Take in a page of the list of all that a neighbour has announced.

        With the last page, count the routes that are known and were on no page.
        """
        self._take_in_advertisements(message, link)
        self._take_in_subscriptions(message, link)
        listed = self._listed.setdefault(link, set())
        listed.update((False, each) for each, _ in message.advertisements)
        listed.update((True, route.id) for route in message.subscriptions)
        if not message.more:
            self._count_left_out(link, self._listed.pop(link))

    def _count_left_out(self, link: Hop, listed: set[Key]) -> None:
        """Expire the routes that this list and enough before it have left out (law 3)."""
        advertised, wanted = self._known(link)
        held = [*((False, each) for each in advertised), *((True, each) for each in wanted)]
        before = self._left_out.get(link, {})
        left_out = {key: before.get(key, 0) + 1 for key in held if key not in listed}
        due = [key for key, count in left_out.items() if 0 < self.expire_after <= count]
        self._left_out[link] = {key: count for key, count in left_out.items() if key not in due}
        for is_subscription, each in due:
            self._expire(link, each, is_subscription=is_subscription)

    def _take_in_advertisements(self, message: LeaseListed, link: Hop) -> None:
        known = self._routing.tables.advertisements(link).filters
        new = [(each, content) for each, content in message.advertisements if known.get(each) != content]
        self._routing.missed_from(link, [content for _, content in new])
        for each, content in new:
            if each in known:
                self._routing.withdraw_advertisement(each, link)
            self._routing.add_advertisement(AdvertisementAdded(each, content), link)

    def _take_in_subscriptions(self, message: LeaseListed, link: Hop) -> None:
        known, (_, wanted) = self._routing.tables.entries_of(link), self._known(link)
        new = tuple(route for route in message.subscriptions if wanted.get(route.id) != route)
        self._routing.missed_by(link, [route.filter for route in new])
        for route in new:
            if route.id not in known:
                self._routing.subscribing.answer_absent(route.id, link)
        if new:
            asked = SubscriptionsReplaced(message.number, new, frozenset())
            self._routing.add_subscriptions(asked, link)

    # --- expiring ---

    def sweep(self, expire_after: int) -> None:
        """Set how many lists in a row have to leave a route out before it expires (law 3)."""
        self.expire_after = expire_after
        for known in (self._left_out, self._listed):
            for link in [link for link in known if not self._routing.is_linked(link)]:
                del known[link]

    def _expire(self, link: Hop, each: str, *, is_subscription: bool) -> None:
        """Remove a route; what it was before the damage is unknown, so the gap is for everything."""
        self.expired += 1
        if is_subscription:
            self._routing.missed_by(link, [EVERYTHING.filter])
            self._routing.unsubscribe(each, link)
        else:
            self._routing.missed_from(link, [EVERYTHING.filter])
            self._routing.withdraw_advertisement(each, link)


def digest(advertised: Iterable[tuple[str, Filter]], wanted: Iterable[RouteFilter]) -> int:
    """Return a number that is the same for the same routes in any order."""
    total = 0
    for each, content in advertised:
        total += _number_of(f"a\0{each}\0{content}")
    for route in wanted:
        total += _number_of(f"{'o' if route.ordered else 'u'}\0{route.id}\0{route.filter}")
    return total % DIGEST_MAX


def _number_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=DIGEST_BYTES).digest())
