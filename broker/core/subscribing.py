"""Which subscriptions are announced to neighbours, and when they start to let publications through (R7).

Laws.

1. The subscriptions announced to a neighbour are what the strategy makes of every entry that is known some
   other way than through it and overlaps an advertisement that came from it.
2. An entry serves publications from a link only once an announcement that covers it there is acknowledged.
   One that an acknowledged announcement covers is open at once, unless it has moved: then the routes settle
   first (R9).
3. The hop an entry came from gets an acknowledgement once no gate of the entry is closed.
4. No gate that is open is closed by a replacement (law 3 of `broker.core.gates`).
5. A difference that does not fit into one page is several requests, each with a number and acknowledged by
   itself. Withdrawn subscriptions come behind all added ones, so that they serve on until those do.
6. What a neighbour announces covers entries there that count as served, and may have begun since. Through a
   new link it is served when all has crossed that, in the step of its gap.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import ClassVar, Final

from attrs import Factory, define, field

from broker.core.announcements import Announcements, Difference
from broker.core.barrier import Barrier, Passed
from broker.core.gates import Answer, Arrivals, Gates, Settling
from broker.core.hops import Hop
from broker.core.pages import cut_both
from broker.core.tables import EntryKey, RouteEntry, RoutingTables, entry_key, route_filter_of
from broker.filters import Filter
from broker.messages import (
    Control,
    SettleAsked,
    SubscriptionAcknowledged,
    SubscriptionAdded,
    SubscriptionsReplaced,
    SubscriptionWithdrawn,
)
from broker.routing.flooding import EVERYTHING
from broker.routing.strategy import RouteFilter, Strategy

UNSENT: Final = 0
UNCROSSED: Final = -1
"""What entries wait for at a new link: a request that is sent later; that all has crossed it (law 6)."""

BLOCKED: Final = ""
"""The id that such a request adds: the real ones are not known yet."""

LOOKING: Final = "\0looking"
AGAIN: Final = "\0again"
"""What an advertisement waits for while entries are looked through for it, or will be (`Crossings`)."""


@define(eq=False)
class Neighbour:
    """The subscriptions announced to one neighbour, its pending requests, and its own.

    `offered` are the entries that the strategy chooses from; `blocked` are those that are offered when the
    link has synchronised; `crossing` are the requests with which they were offered. While they cross
    (`broker.core.crossing`), `unseen` are still to be looked at, and `unsent` were chosen and not announced;
    what comes is blocked while it `is_blocking`, and held while it `is_choosing`. A link that `is_new` has
    just been attached, and all that crosses it `has_moved`; behind `unaware` links not all have had its gap.
    While it `is_looking`, what overlaps one more advertisement is looked for among the `unseen`.
    """

    announced: Announcements
    gates: Gates = Factory(Gates)
    arrivals: Arrivals = Factory(Arrivals)
    offered: dict[EntryKey, RouteEntry] = Factory(dict)
    blocked: dict[EntryKey, RouteEntry] = Factory(dict)
    crossing: set[int] = Factory(set)
    is_crossing: bool = False
    is_blocking: bool = False
    is_choosing: bool = False
    is_new: bool = False
    has_moved: bool = False
    unseen: list[RouteEntry] = Factory(list)
    unsent: dict[str, RouteFilter] = Factory(dict)
    is_looking: bool = False
    is_to_look_again: bool = False
    unaware: set[Hop] = Factory(set)

    @property
    def is_complete(self) -> bool:
        """Return whether all entries have been offered that overlap what the neighbour advertises."""
        return not (self.is_blocking or self.is_looking or self.is_to_look_again)

    def hold(self, difference: Difference) -> Difference:
        """Return what to send of a difference now: while entries cross, additions are sent part by part."""
        if not (self.is_choosing or self.unsent):
            return difference
        gone = tuple(each for each in difference.removed if self.unsent.pop(each, None) is None)
        self.unsent.update((route.id, route) for route in difference.added)
        return Difference((), gone)

    def forget(self, entry: RouteEntry) -> bool:
        """Forget an entry; return whether it was offered or blocked. Its id may be announced either way."""
        blocked = self.blocked.pop(entry_key(entry), None)
        return self.offered.pop(entry_key(entry), blocked) is not None

    def sent_covers_of(self, entry: RouteEntry) -> list[str]:
        """Return the ids of the routes that cover an entry and have been sent."""
        return [e for e in self.announced.covers_of(route_filter_of(entry)) if e not in self.unsent]


@define(eq=False)
class Subscribing:
    """The subscriptions of one broker, as it announces them to its neighbours and they to it."""

    DERIVED: ClassVar = frozenset({"strategy", "_page_bytes"})

    _broker: str
    strategy: Strategy
    _page_bytes: int
    _tables: RoutingTables
    _barrier: Barrier
    _send: Callable[[Hop, Control], None]
    settling: Settling = Factory(Settling)
    neighbours: dict[Hop, Neighbour] = Factory(dict)
    passed: list[Passed] = Factory(list)
    crossed: list[Hop] = Factory(list)
    subscribed: list[str] = field(factory=list, init=False)
    _last_number: int = 0

    # --- links ---

    def add_link(self, link: Hop) -> None:
        """Add a neighbour; nothing has been announced to it."""
        self.neighbours[link] = Neighbour(Announcements.nothing(self.strategy, self._broker))

    def remove_link(self, link: Hop) -> None:
        """Count a lost link as having acknowledged everything (R7), and remove all entries behind it."""
        gone = self.neighbours.pop(link)
        for announced in gone.gates.unanswered():
            self.passed += self._barrier.route_open(announced, link)
        self._answer_questions(self.settling.link_lost(link))
        entries = list(self._tables.entries_of(link).values())
        for entry in entries:
            self._tables.remove_entry(link, entry.id)
        self._take_back_everywhere(entries)
        for entry in gone.gates.all_waiting():
            self.open_gate(entry, link)

    # --- entries ---

    def subscribe(self, entry: RouteEntry, *, has_moved: bool = False) -> None:
        """Add an entry, and announce it to all neighbours that should know it."""
        self._tables.add_entry(entry)
        for link in self.neighbours:
            self.offer(link, (entry,), has_moved=has_moved)
        self._complete_if_open(entry)

    def unsubscribe(self, subscription: str, hop: Hop) -> None:
        """Remove an entry, and withdraw it."""
        entry = self._tables.remove_entry(hop, subscription)
        if entry is None:
            return
        self._take_back_everywhere([entry])
        if (neighbour := self.neighbours.get(hop)) is not None:
            self._acknowledge(hop, neighbour.arrivals.removed(subscription))
            self._retire(hop, neighbour, subscription)

    def _take_back_everywhere(self, entries: list[RouteEntry]) -> None:
        for link, neighbour in list(self.neighbours.items()):
            for entry in entries:
                neighbour.gates.forget(entry)
            mine = [entry for entry in entries if neighbour.forget(entry)]
            gone = [entry.id for entry in mine if not self._tables.is_wanted(entry.id, link)]
            if gone:
                self.announce(link, neighbour, neighbour.announced.edit(remove=gone))

    # --- announcing ---

    def offer(self, link: Hop, entries: Iterable[RouteEntry], *, has_moved: bool = False) -> None:
        """Let the strategy decide which of these entries are announced to a neighbour, if they may be."""
        if link in self._tables.synchronising or self.neighbours[link].is_blocking:
            self.neighbours[link].has_moved |= has_moved
            self.block(link, entries)
        else:
            self.offer_now(link, entries, has_moved=has_moved)

    def offer_now(self, link: Hop, entries: Iterable[RouteEntry], *, has_moved: bool = False) -> None:
        """Let the strategy decide which of these entries are announced to a neighbour."""
        neighbour, advertised = self.neighbours[link], self._tables.advertisements(link)
        offered: dict[EntryKey, RouteEntry] = {}
        for each in entries:
            key = entry_key(each)
            is_new = each.hop is not link and key not in neighbour.offered
            if is_new and advertised.overlap(each.filter):
                offered[key] = each
        if offered:
            neighbour.offered.update(offered)
            difference = neighbour.announced.edit(add=map(route_filter_of, offered.values()))
            self.announce(link, neighbour, difference, offered.values(), has_moved=has_moved)

    def block(self, link: Hop, entries: Iterable[RouteEntry]) -> None:
        """Close the gates of entries that may not cross a new link yet (R9)."""
        neighbour, advertised = self.neighbours[link], self._tables.advertisements(link)
        for entry in entries:
            key = entry_key(entry)
            is_new = entry.hop is not link and key not in neighbour.blocked and key not in neighbour.offered
            if is_new and advertised.overlap(entry.filter):
                neighbour.blocked[key] = entry
                neighbour.gates.asked(UNSENT)
                neighbour.gates.wait(entry, UNSENT)
                self._tables.close_gate(entry, link)

    def offer_overlapping(self, link: Hop, contents: Collection[Filter]) -> None:
        """Offer the entries that overlap new advertisements of the neighbour; others have been offered."""
        self.flood(link)
        offered = self.neighbours[link].offered
        self.offer(
            link,
            (
                entry
                for entry in self._tables.entries()
                if entry_key(entry) not in offered and any(map(entry.filter.overlaps, contents))
            ),
        )

    def flood(self, link: Hop) -> None:
        """If the strategy floods, announce everything to a neighbour behind which there is a publisher."""
        is_early = link in self._tables.synchronising and not self.neighbours[link].is_crossing
        if not self.strategy.floods or is_early:
            return
        announced = self.neighbours[link].announced
        if self._tables.advertisements(link).filters:
            self.announce(link, self.neighbours[link], announced.edit(add=[EVERYTHING]), has_moved=True)
        else:
            self.announce(link, self.neighbours[link], announced.edit(remove=[EVERYTHING.id]))

    def retract(self, link: Hop, content: Filter) -> None:
        """Withdraw the entries that overlapped only an advertisement that the neighbour has withdrawn."""
        neighbour, still = self.neighbours[link], self._tables.advertisements(link)
        offered_or_blocked = chain(neighbour.offered.values(), neighbour.blocked.values())
        mine = [e for e in offered_or_blocked if e.filter.overlaps(content) and not still.overlap(e.filter)]
        for entry in mine:
            neighbour.forget(entry)
        closed = [entry for entry in mine if neighbour.gates.forget(entry)]
        if mine:
            gone = dict.fromkeys(entry.id for entry in mine)
            self.announce(link, neighbour, neighbour.announced.edit(remove=gone))
        for entry in closed:
            self.open_gate(entry, link)
        self.flood(link)

    def announce(
        self,
        link: Hop,
        neighbour: Neighbour,
        difference: Difference,
        offered: Iterable[RouteEntry] = (),
        *,
        has_moved: bool = False,
    ) -> None:
        """Send the difference, then update the gates of offered entries and of uncovered ones."""
        gates, difference = neighbour.gates, neighbour.hold(difference)
        numbers, left = list[int](), list[RouteEntry]()
        if difference:
            numbers, left = self.send_pages(link, neighbour, difference, has_moved=has_moved)
        for entry in offered:
            self.wait(neighbour, entry)
            if has_moved:
                self._settle(link, neighbour, entry, numbers)
            if gates.is_closed(entry):
                self._tables.close_gate(entry, link)
        for entry in left:
            if not gates.is_closed(entry):
                self.open_gate(entry, link)

    def send_pages(
        self, link: Hop, neighbour: Neighbour, difference: Difference, *, has_moved: bool
    ) -> tuple[list[int], list[RouteEntry]]:
        """Send the difference; return the numbers of the requests, and the entries whose requests ended.

        A replacement of a route that has moved, and is not acknowledged, has moved as well.
        """
        gates = neighbour.gates
        carries_moved = has_moved or any(map(gates.has_moved, difference.removed))
        pages = [
            Difference(*page) for page in cut_both(difference.added, difference.removed, self._page_bytes)
        ]
        numbers = [self._next_number() if page.added else 0 for page in pages]
        for number, page in zip(numbers, pages, strict=True):
            if page.added:
                gates.asked(number, [route.id for route in page.added], has_moved=carries_moved)
        waited_for = [each for each in difference.removed if gates.request_of(each) is not None]
        left = gates.withdrawn(difference.removed)
        for number, page in zip(numbers, pages, strict=True):
            self._send_difference(link, neighbour, page, number, has_moved=carries_moved)
        instead = [each for entry in left for each in self.wait(neighbour, entry)]
        for announced in waited_for:
            self.passed += self._barrier.route_replaced(announced, link, instead)
        return numbers, left

    def _send_difference(
        self, link: Hop, neighbour: Neighbour, difference: Difference, number: int, *, has_moved: bool
    ) -> None:
        added, removed = difference.added, difference.removed
        if not removed and len(added) == 1:
            route = added[0]
            self._send(link, SubscriptionAdded(route.id, route.filter, route.ordered, number, has_moved))
        elif not added and (neighbour.announced.is_exact or not neighbour.gates.unanswered()):
            for each in removed:
                self._send(link, SubscriptionWithdrawn(each))
        else:
            self._send(link, SubscriptionsReplaced(number, added, frozenset(removed), has_moved))

    def wait(self, neighbour: Neighbour, entry: RouteEntry) -> list[str]:
        """Let the gate wait for an announcement that covers the entry; return it, if none is acknowledged."""
        if entry.hop.is_link and neighbour.gates.is_pending(UNCROSSED):
            neighbour.gates.wait(entry, UNCROSSED)
        if neighbour.gates.are_answered:
            return []
        standing = neighbour.announced.covers_of(route_filter_of(entry))
        requests = [neighbour.gates.request_of(each) for each in standing]
        if not requests or (first := requests[0]) is None or None in requests:
            return []
        neighbour.gates.wait(entry, first)
        return standing[:1]

    def _settle(self, link: Hop, neighbour: Neighbour, entry: RouteEntry, numbers: Collection[int]) -> None:
        """Ask whether the routes that the entry depends on have settled, unless it asks anew (law 2)."""
        standing = neighbour.announced.covers_of(route_filter_of(entry))
        is_announced_now = any(neighbour.gates.request_of(each) in numbers for each in standing)
        if standing and not is_announced_now and not neighbour.announced.is_exact:
            asked = self._next_number()
            neighbour.gates.asked(asked)
            neighbour.gates.wait(entry, asked)
            self._send(link, SettleAsked(asked, standing[0]))

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    # --- a child that moves to the broker above (`broker.core.adoption`) ---

    def offer_handed_over(self, uplink: Hop, entries: Iterable[RouteEntry]) -> Difference:
        """Offer the uplink, as acknowledged, what it now advertises; return the difference, unsent.

        `entries` were a child's and are not known here any more but through the uplink.
        """
        neighbour, advertised = self.neighbours[uplink], self._tables.advertisements(uplink)
        ended = [e.id for e in entries if neighbour.offered.pop(entry_key(e), None) is not None]
        gone = [each for each in ended if not self._tables.is_wanted(each, uplink)]
        new = {
            entry_key(each): each
            for each in self._tables.entries()
            if each.hop is not uplink
            and entry_key(each) not in neighbour.offered
            and advertised.overlap(each.filter)
        }
        neighbour.offered.update(new)
        return neighbour.announced.edit(map(route_filter_of, new.values()), gone)

    def adopt_wants(self, link: Hop, entries: Iterable[RouteEntry]) -> None:
        """Count entries as offered to a neighbour that has had them from their hop, under the same ids."""
        neighbour, advertised = self.neighbours[link], self._tables.advertisements(link)
        offered = {entry_key(each): each for each in entries if advertised.overlap(each.filter)}
        neighbour.offered.update(offered)
        routes = [route_filter_of(each) for each in offered.values()]
        self.announce(link, neighbour, neighbour.announced.adopt(routes, routes))

    def offer_served(self, link: Hop, entries: Sequence[RouteEntry], serving: Iterable[RouteEntry]) -> None:
        """Offer entries that others have covered; those that were served through this link still are."""
        self.offer(link, entries)
        served = [route_filter_of(each) for each in serving if not each.closed & link.bit]
        for entry in entries:
            if entry.closed & link.bit and self._is_covered(route_filter_of(entry), served):
                self.neighbours[link].gates.forget(entry)
                self.open_gate(entry, link)

    def close_uncovered(self, link: Hop, known: Collection[RouteFilter]) -> list[RouteEntry]:
        """Close the gates towards a new neighbour of all entries that nothing covers that it knows."""
        entries = [each for each in self._tables.entries() if each.hop is not link]
        new = [each for each in entries if not self._is_covered(route_filter_of(each), known)]
        for entry in new:
            self._tables.close_gate(entry, link)
        return new

    def adopt_announced(self, link: Hop, known: Collection[RouteFilter], new: Iterable[RouteEntry]) -> None:
        """Offer all entries to a neighbour that was announced these routes, which serve, by another broker.

        The gates of what one of these covers are open, and stay so: the neighbour makes before it breaks.
        """
        neighbour, advertised = self.neighbours[link], self._tables.advertisements(link)
        entries = [each for each in self._tables.entries() if each.hop is not link]
        offered = {entry_key(each): each for each in entries if advertised.overlap(each.filter)}
        neighbour.offered.update(offered)
        difference = neighbour.announced.adopt(map(route_filter_of, offered.values()), known)
        waiting = [each for each in new if offered.get(entry_key(each)) is each]
        self.announce(link, neighbour, difference, waiting)
        for entry in new:
            if not neighbour.gates.is_closed(entry):
                self.open_gate(entry, link)

    def _is_covered(self, route: RouteFilter, known: Iterable[RouteFilter]) -> bool:
        if self.strategy.is_exact:
            return route in known
        return any(self.strategy.covers_item(each.item, route.item) for each in known)

    # --- repairs (`broker.core.leases`) ---

    def request_number(self) -> int:
        """Return the number of a request that another part sends, and that no gate waits for."""
        return self._next_number()

    def answer_absent(self, subscription: str, link: Hop) -> None:
        """Acknowledge the requests of a neighbour for an entry that is lost."""
        arrivals = self.neighbours[link].arrivals
        self._acknowledge(link, arrivals.removed(subscription))

    def retire_absent(self, subscription: str, link: Hop) -> None:
        """Withdraw the entries that served on until this one was open: it is lost."""
        self._retire(link, self.neighbours[link], subscription)

    def restore(self, entry: RouteEntry) -> None:
        """Put an entry in the place of a wrong one, or of one that is lost and whose traces are left."""
        self._tables.remove_entry(entry.hop, entry.id)
        self._take_back_everywhere([entry])
        self.subscribe(entry)

    def offer_anew(self, link: Hop, wrong: Sequence[RouteEntry]) -> None:
        """Retract the entries wrongly offered to a neighbour, and offer those that are missing."""
        neighbour = self.neighbours[link]
        closed = [entry for entry in wrong if neighbour.gates.forget(entry)]
        for entry in wrong:
            del neighbour.offered[entry_key(entry)]
        still = {entry.id for entry in neighbour.offered.values()}
        gone = dict.fromkeys(entry.id for entry in wrong if entry.id not in still)
        self.announce(link, neighbour, neighbour.announced.edit(remove=gone))
        for entry in closed:
            self.open_gate(entry, link)
        self.offer(link, self._tables.entries())

    def announce_anew(self, link: Hop, candidates: Mapping[str, RouteFilter]) -> None:
        """Choose among these anew, and send the difference."""
        neighbour = self.neighbours[link]
        difference, changed = neighbour.announced.remake(candidates)
        waited = neighbour.gates.withdrawn(changed)
        self.announce(link, neighbour, difference)
        for entry in waited:
            self.wait(neighbour, entry)
            if not neighbour.gates.is_closed(entry):
                self.open_gate(entry, link)

    def set_gate(self, entry: RouteEntry, link: Hop) -> None:
        """Close or open a gate, according to what is pending for the entry."""
        if self.neighbours[link].gates.is_closed(entry):
            self._tables.close_gate(entry, link)
        else:
            self.open_gate(entry, link)

    # --- answers ---

    def answered(self, message: SubscriptionAcknowledged, link: Hop) -> None:
        """Record that the neighbour has acknowledged a request, and open the gates that waited for it."""
        neighbour = self.neighbours[link]
        announced, entries = neighbour.gates.answered(message.number)
        for each in announced:
            self.passed += self._barrier.route_open(each, link)
        for entry in entries:
            self.open_gate(entry, link)
        self._answer_questions(self.settling.answered(link, message.number))
        if message.number in neighbour.crossing:
            neighbour.crossing.discard(message.number)
            self.note_crossed(link, neighbour)

    def note_crossed(self, link: Hop, neighbour: Neighbour) -> None:
        """Record that a new link serves all that counts as served, from this step on (law 6)."""
        if not neighbour.crossing and not self.strategy.is_exact:
            self.crossed.append(link)
            for entry in neighbour.gates.answered(UNCROSSED)[1]:
                self.open_gate(entry, link)

    def open_gate(self, entry: RouteEntry, link: Hop) -> None:
        """Open a gate, and acknowledge the entry if it was the last one."""
        if self._tables.has(entry):
            self._tables.open_gate(entry, link)
            self._complete_if_open(entry)

    def _complete_if_open(self, entry: RouteEntry) -> None:
        """Acknowledge the entry, once no gate of it is closed (law 3)."""
        if entry.closed or entry.is_answered:
            return
        entry.is_answered = True
        if not entry.hop.is_link:
            self.subscribed.append(entry.id)
        elif entry.hop in self.neighbours:
            neighbour = self.neighbours[entry.hop]
            self._acknowledge(entry.hop, neighbour.arrivals.opened(entry.id))
            self._retire(entry.hop, neighbour, entry.id)

    def _acknowledge(self, link: Hop, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._send(link, SubscriptionAcknowledged(number))

    def _retire(self, link: Hop, neighbour: Neighbour, settled: str) -> None:
        """Withdraw the entries that served on until this one was open or gone."""
        for gone in neighbour.arrivals.settled(settled):
            self.unsubscribe(gone, link)

    # --- requests of neighbours ---

    def asked(self, message: SubscriptionAdded | SubscriptionsReplaced, link: Hop) -> None:
        """Take in a neighbour's request."""
        if isinstance(message, SubscriptionAdded):
            added: tuple[RouteFilter, ...] = (RouteFilter(message.id, message.filter, message.ordered),)
            withdrawn: frozenset[str] = frozenset()
        else:
            added, withdrawn = message.added, message.withdrawn
        arrivals = self.neighbours[link].arrivals
        stays = {route.id for route in added if arrivals.revive(route.id) or self._is_known(route, link)}
        for route in added:
            if route.id not in stays:
                self.unsubscribe(route.id, link)
        arrivals.asked(message.number, [route.id for route in added])
        for route in added:
            if route.id in stays:
                self.ask_again(self._tables.entries_of(link)[route.id])
            else:
                entry = RouteEntry(route.id, route.filter, route.ordered, link)
                self.subscribe(entry, has_moved=message.has_moved)
        for each in sorted(withdrawn):
            self._leave(each, link, arrivals)

    def _is_known(self, route: RouteFilter, link: Hop) -> bool:
        """Return whether a neighbour announces a route again; one with repaired tables may."""
        known = self._tables.entries_of(link).get(route.id)
        return known is not None and route_filter_of(known) == route

    def ask_again(self, entry: RouteEntry) -> None:
        """Acknowledge an entry once more, or once it is open."""
        entry.is_answered = False
        self._complete_if_open(entry)

    def _leave(self, withdrawn: str, link: Hop, arrivals: Arrivals) -> None:
        """Withdraw an entry, or let it serve on while an overlapping one is not open."""
        known = self._tables.entries_of(link)
        entry = known.get(withdrawn)
        if entry is None:
            return
        awaited = [
            each
            for each in arrivals.closed
            if each != withdrawn and each in known and known[each].filter.overlaps(entry.filter)
        ]
        if awaited:
            arrivals.retire(withdrawn, awaited)
        else:
            self.unsubscribe(withdrawn, link)

    def settle(self, message: SettleAsked, link: Hop) -> None:
        """Ask on, along the routes of this entry: another that has moved depends on it."""
        entry = self._tables.entries_of(link).get(message.id)
        asked = []
        for other, neighbour in self.neighbours.items() if entry is not None else ():
            assert entry is not None
            standing = neighbour.sent_covers_of(entry) if entry_key(entry) in neighbour.offered else []
            if standing:
                number = self._next_number()
                self._send(other, SettleAsked(number, standing[0]))
                asked.append((other, number))
        self._answer_questions(self.settling.pass_on(link, message.number, asked))

    def _answer_questions(self, answers: Iterable[Answer]) -> None:
        for link, number in answers:
            if link in self.neighbours:
                self._send(link, SubscriptionAcknowledged(number))

    # --- counts and snapshots ---

    def rebuild(self) -> None:
        """Restore what no snapshot contains."""
        for neighbour in self.neighbours.values():
            candidates = {entry.id: route_filter_of(entry) for entry in neighbour.offered.values()}
            if self.strategy.floods and neighbour.announced.routes:
                candidates[EVERYTHING.id] = EVERYTHING
            neighbour.announced.rebuild(self.strategy, candidates)

    def on_their_way(self, link: Hop, content: Filter) -> list[str]:
        """Return the pending subscriptions to this neighbour that overlap a filter (R6)."""
        neighbour = self.neighbours[link]
        known = neighbour.announced.routes
        owed = [each for each in neighbour.gates.unanswered() if each in known]
        announced = [each for each in owed if known[each].filter.overlaps(content)]
        is_blocked = neighbour.is_crossing or any(
            e.filter.overlaps(content) for e in neighbour.blocked.values()
        )
        marks = (BLOCKED, is_blocked), (LOOKING, neighbour.is_looking), (AGAIN, neighbour.is_to_look_again)
        return [*announced, *(mark for mark, is_set in marks if is_set)]

    def counts(self) -> dict[str, int]:
        """Return how much is on its way."""
        neighbours = list(self.neighbours.values())
        return {
            "closed_gates": sum(len(each.gates) for each in neighbours),
            "settling": len(self.settling) + sum(len(each.arrivals) for each in neighbours),
        }
