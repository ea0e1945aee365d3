"""Control messages about routes: to which neighbours they go, and when they are acknowledged (R5 to R7).

The routes that go to a neighbour are chosen by two strategies, one for subscriptions and one for
advertisements (`broker.routing`); with every strategy, publications reach every subscription that matches
them.

Laws.

1. The routes announced to a neighbour are always what a computation from scratch would give: every
   advertisement that is known some other way than through it, and every subscription that is, if an
   advertisement that came from it overlaps, or the routes that cover these under the strategies.
2. A message is sent behind everything that is pending for the same link (R5). The ordering plugin keeps that
   order.
3. Towards a link that is still synchronising no subscription is sent (R9); advertisements are. A
   subscription that is to be sent there waits, and its gate is closed: so neither it nor a new advertisement
   behind that link is acknowledged meanwhile.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ClassVar, Final

from attrs import Factory, define, field

from broker.core.advertising import Advertising
from broker.core.barrier import Barrier, Passed
from broker.core.crossing import Crossings
from broker.core.hops import Hop, HopTable
from broker.core.losses import Losses, SendGap
from broker.core.pages import cut
from broker.core.subscribing import Subscribing
from broker.core.tables import RouteEntry, RoutingTables
from broker.filters import Filter
from broker.messages import (
    AdvertisementAcknowledged,
    AdvertisementAdded,
    Control,
    Flood,
    Notice,
    PublishersLost,
    SettleAsked,
    SubscriptionAcknowledged,
    SubscriptionAdded,
    SubscriptionsReplaced,
    SubscriptionWithdrawn,
)
from broker.routing import Routing as Strategies
from broker.routing.flooding import EVERYTHING
from broker.routing.strategy import RouteFilter

Announced = tuple[tuple[str, Filter], ...]
"""Advertisements by id, as floods carry them."""

SendControl = Callable[[Hop, Control | Notice], None]
"""Send a message to a link."""


REPAIRED_MAX: Final = 16
"""If more filters than this were repaired at once, one gap is sent for everything instead of one for each."""


@define(eq=False)
class RoutingState:
    """Keeps the tables of one broker, and its neighbours' tables, consistent."""

    DERIVED: ClassVar = frozenset({"strategies", "remains"})

    _broker: str
    strategies: Strategies
    _hops: HopTable
    _send: SendControl
    _send_now: SendControl
    _send_gap: SendGap
    tables: RoutingTables = field(init=False)
    losses: Losses = field(init=False)
    links: dict[str, Hop] = Factory(dict)
    advertising: Advertising = field(init=False)
    subscribing: Subscribing = field(init=False)
    crossings: Crossings = field(init=False)
    advertised: list[str] = field(factory=list, init=False)
    has_ended: bool = field(default=False, init=False)
    """Whether an advertisement of this broker or from below has ended (R9)."""
    crossed: list[Hop] = field(factory=list, init=False)
    """New links that all has crossed, which nobody else has been notified of."""
    remains: list[object] = field(factory=list, init=False)
    """What was known of lost neighbours: to free the memory of very many objects takes long as well."""

    def __attrs_post_init__(self) -> None:
        advertising, subscribing = self.strategies.advertisements, self.strategies.subscriptions
        part_count = self.strategies.part_count
        self.tables = RoutingTables(part_count)
        self.losses = Losses(self.tables, self._hops, part_count, self._send_gap)
        self.advertising = Advertising(self._broker, advertising, self.tables, self._send)
        page_bytes = self.strategies.page_bytes
        self.subscribing = Subscribing(
            self._broker, subscribing, page_bytes, self.tables, self.barrier, self._send
        )
        self.crossings = Crossings(self.subscribing, self.tables, self.barrier, part_count)

    @property
    def barrier(self) -> Barrier:
        """Return the advertisements on their way."""
        return self.advertising.barrier

    # --- links ---

    def add_link(self, link: Hop) -> None:
        """Add a neighbour to the tree; until it has synchronised, subscriptions wait."""
        self.links[link.name] = link
        self.tables.open_link(link)
        self.tables.synchronising.add(link)
        self.advertising.add_link(link)
        self.subscribing.add_link(link)
        if self.strategies.advertisements.floods:
            self.tables.add_advertisement(link, EVERYTHING.id, EVERYTHING.filter)

    def synchronised(self, link: Hop) -> None:
        """Offer subscriptions to a new link, now that the whole tree knows its advertisements."""
        self.crossings.begin(link, is_new=True)
        self._report()

    def is_joining(self, link: Hop, asker: Hop | None = None) -> bool:
        """Return whether a link synchronises, or subscriptions still cross it because it is new.

        A broker behind the asker, if there is one, may not know yet that it does no more.
        """
        neighbour = self.subscribing.neighbours[link]
        is_crossing = (neighbour.is_new and neighbour.is_crossing) or asker in neighbour.unaware
        return is_crossing or bool(neighbour.crossing) or link in self.tables.synchronising

    def is_crossing(self, link: Hop) -> bool:
        """Return whether this link is to learn more in later steps."""
        return self.subscribing.neighbours[link].is_crossing

    def continue_crossing(self) -> None:
        """Take the next part of all that is unfinished: subscriptions to offer, gaps, exposure, memory."""
        del self.remains[-1:]
        if self.tables.changes:
            self.tables.count_changes()
        self.losses.go_on()
        self.crossings.go_on()
        self._report()

    def remove_link(self, link: Hop, *, was_uplink: bool) -> None:
        """Withdraw from all other neighbours the routes that were known through a lost link (R8)."""
        self.has_ended |= not was_uplink and bool(self.tables.advertisements(link).filters)
        del self.links[link.name]
        self.tables.synchronising.discard(link)
        self.advertising.remove_link(link)
        for advertisement in list(self.tables.advertisements(link).filters):
            self.withdraw_advertisement(advertisement, link, is_lost=True)
        self.crossings.link_lost(link)
        if self.tables.entry_count > self.strategies.part_count:
            neighbour = self.subscribing.neighbours[link]
            self.remains += neighbour.offered, neighbour.announced
        self.subscribing.remove_link(link)
        self._report(self.barrier.link_lost(link))
        self.tables.close_link(link)

    def is_linked(self, link: Hop) -> bool:
        """Return whether this link is part of the tree."""
        return self.links.get(link.name) is link

    # --- advertisements (R6) ---

    def advertise(self, advertisement: str, content: Filter) -> None:
        """Add and announce a local publisher."""
        self.tables.add_local_advertisement(advertisement, content)
        self._report(self.advertising.announce(RouteFilter(advertisement, content), None, ()))

    def unadvertise(self, advertisement: str) -> None:
        """Withdraw a local publisher."""
        content = self.tables.remove_local_advertisement(advertisement)
        if content is not None:
            self.has_ended = True
            self._report(self.advertising.take_back(RouteFilter(advertisement, content), None))

    def add_advertisement(self, message: AdvertisementAdded, link: Hop) -> None:
        """Take in and forward a neighbour's advertisement."""
        self.tables.add_advertisement(link, message.id, message.filter)
        if self.crossings.is_wide(link):
            self.crossings.look_through(link)
        else:
            self._offer_overlapping(link, (message.filter,))
        on_their_way = self.subscribing.on_their_way(link, message.filter)
        route = RouteFilter(message.id, message.filter)
        self._report(self.advertising.announce(route, link, on_their_way))

    def acknowledge_advertisement(self, message: AdvertisementAcknowledged, link: Hop) -> None:
        """Record that every broker behind the neighbour knows the advertisement."""
        self._report(self.barrier.acknowledged(message.id, link))

    def _report(self, passed: Iterable[Passed] = ()) -> None:
        """Acknowledge the advertisements whose barriers are passed, and send gaps that a new link needs."""
        also, self.subscribing.passed = self.subscribing.passed, []
        crossed, self.subscribing.crossed = self.subscribing.crossed, []
        self.crossed += crossed
        for new in filter(self.is_linked, crossed):
            for content in self.tables.advertisements(new).distinct():
                self.publishers_lost(PublishersLost(content), new)
        for advertisement, link in ((p.advertisement, p.link) for p in (*passed, *also)):
            if link is None:
                self.advertised.append(advertisement)
            elif self.is_linked(link):
                self._send(link, AdvertisementAcknowledged(advertisement))

    def withdraw_advertisement(self, advertisement: str, link: Hop, *, is_lost: bool = False) -> None:
        """Withdraw a neighbour's advertisement; if it is lost, send gaps to overlapping subscriptions.

        Only a broker whose tables went wrong does not know the advertisement.
        """
        content = self.tables.remove_advertisement(link, advertisement)
        if content is None:
            self.missed_from(link, [EVERYTHING.filter])
            return
        self.has_ended |= self.is_linked(link) and not self.tables.is_uplink(link)
        if is_lost:
            self.losses.lost(advertisement, content)
        route = RouteFilter(advertisement, content)
        self._report(self.advertising.take_back(route, link, is_lost=is_lost))
        if self.is_linked(link):
            self.subscribing.retract(link, content)
            self._report()

    def found_apart(self, link: Hop) -> None:
        """Send gaps for a new link over which no advertisements are announced, since they are flooded."""
        if self.strategies.advertisements.floods:
            self.publishers_lost(PublishersLost(EVERYTHING.filter), link)

    def publishers_lost(self, message: PublishersLost, link: Hop) -> None:
        """Send gaps for publications that may be missing, here and to the other neighbours.

        A gap from the uplink goes at once, as what comes after it does (R1).
        """
        is_from_uplink = self.tables.is_uplink(link)
        self.losses.missing(message.filter, is_from_uplink=is_from_uplink)
        send = self._send_now if is_from_uplink else self._send
        for other in self.links.values():
            if other is not link:
                send(other, message)

    # --- repairs (`broker.core.leases`) ---

    def announce_anew(self, link: Hop, candidates: Mapping[str, RouteFilter]) -> None:
        """Announce to a neighbour the advertisements that follow from these candidates."""
        self._report(self.advertising.announce_anew(link, candidates))

    def wait_again(self, publishers: Mapping[str, Filter]) -> int:
        """Start the barriers of local publishers that wait for nothing any more; return how many did."""
        lost = [
            RouteFilter(each, content)
            for each, content in publishers.items()
            if each not in self.advertised and not self.barrier.is_waiting(each, None)
        ]
        for route in lost:
            self._report(self.advertising.await_others(route, None, ()))
        return len(lost)

    def report(self) -> None:
        """Send the acknowledgements that repairs have made due."""
        self._report()

    def missed_from(self, link: Hop, contents: Iterable[Filter]) -> None:
        """Send gaps for publications from behind a link that may not have come here."""
        for content in _few(contents):
            self.publishers_lost(PublishersLost(content), link)

    def missed_by(self, hop: Hop, contents: Iterable[Filter]) -> None:
        """Send gaps for publications that may not have left through a hop.

        Those from the uplink leave at once, and those from below in order: a gap is sent both ways.
        """
        for content in _few(contents):
            if hop.is_link:
                self._send_now(hop, PublishersLost(content))
                self._send(hop, PublishersLost(content))
            else:
                self.losses.missing(content, is_from_uplink=False)
                self.losses.missing(content, is_from_uplink=True)

    # --- subscriptions (R7) ---

    def subscribe(self, entry: RouteEntry) -> None:
        """Add a local subscription."""
        entry.since = self.losses.count
        self.subscribing.subscribe(entry)

    def restore(self, entry: RouteEntry) -> None:
        """Put a local subscription in the place of a wrong one, or of one that is lost; it gets a gap."""
        entry.since = self.losses.count
        self.subscribing.restore(entry)
        self._report()
        self.missed_by(entry.hop, [entry.filter])

    def unsubscribe(self, subscription: str, hop: Hop) -> None:
        """Remove a subscription of a hop."""
        self.subscribing.unsubscribe(subscription, hop)
        self._report()

    def add_subscriptions(self, message: SubscriptionAdded | SubscriptionsReplaced, link: Hop) -> None:
        """Take in subscriptions of a neighbour."""
        self._find_lost([] if isinstance(message, SubscriptionAdded) else message.withdrawn, link)
        self.subscribing.asked(message, link)
        self._report()

    def withdraw_subscription(self, message: SubscriptionWithdrawn, link: Hop) -> None:
        """Remove a subscription that a neighbour withdraws."""
        self._find_lost([message.id], link)
        self.unsubscribe(message.id, link)

    def _find_lost(self, withdrawn: Iterable[str], link: Hop) -> None:
        """Send a gap to a neighbour that withdraws an unknown route: only wrong tables have lost it."""
        if not self.tables.entries_of(link).keys() >= set(withdrawn):
            self.missed_by(link, [EVERYTHING.filter])

    def acknowledge_subscriptions(self, message: SubscriptionAcknowledged, link: Hop) -> None:
        """Record that every broker the neighbour forwarded the subscriptions to knows them."""
        self.subscribing.answered(message, link)
        self._report()

    def settle(self, message: SettleAsked, link: Hop) -> None:
        """Answer a neighbour once its routes have settled (R9)."""
        self.subscribing.settle(message, link)

    def offer_overlapping(self, link: Hop, advertisements: Announced) -> None:
        """Offer a neighbour every subscription that overlaps what it has just advertised."""
        self._offer_overlapping(link, dict.fromkeys(content for _, content in advertisements))
        self._report()

    def _offer_overlapping(self, link: Hop, contents: Collection[Filter]) -> None:
        if not contents:
            self.subscribing.flood(link)
        elif self.crossings.is_long(link):
            self.crossings.begin(link, is_new=False)
        else:
            self.subscribing.offer_overlapping(link, contents)

    def flood(self, other: Hop, advertisements: Announced, next_token: Callable[[], str]) -> None:
        """Forward a flood to a neighbour, as one flood a page (R9)."""
        difference = self.advertising.flood(other, advertisements)
        announced = {route.filter for route in difference.added}
        for _, content in advertisements if not self.strategies.advertisements.is_exact else ():
            if content not in announced:  # It is covered there, but what it published may be missing.
                self._send(other, PublishersLost(content))
        added = [(route.id, route.filter) for route in difference.added]
        for page in cut(added, self.strategies.page_bytes):
            self._send(other, Flood(next_token(), page))
        self._report(self.advertising.withdraw(other, difference.removed))

    def answer_when_known(self, advertisements: Announced, link: Hop) -> None:
        """Acknowledge what came across a new link as usual, where routes cover one another (R6)."""
        for advertisement, content in advertisements if not self.strategies.advertisements.is_exact else ():
            on_their_way = self.subscribing.on_their_way(link, content)
            self._report(
                self.advertising.await_others(RouteFilter(advertisement, content), link, on_their_way)
            )

    def rebuild(self) -> None:
        """Restore what no snapshot contains."""
        self.advertising.rebuild()
        self.subscribing.rebuild()

    def parts(self) -> tuple[object, ...]:
        """Return the parts that the constructor made, for snapshots."""
        tables, subscribing = self.tables, self.subscribing
        parts = tables, tables.demand, self.barrier, self.losses, self.advertising
        return (self, *parts, subscribing, subscribing.settling, self.crossings)

    def counts(self) -> dict[str, int]:
        """Return how much is on its way."""
        counts = {**self.subscribing.counts(), "open_barriers": len(self.barrier)}
        return {**counts, "crossing": len(self.crossings.unfinished) + bool(self.losses.owed)}


def _few(contents: Iterable[Filter]) -> list[Filter]:
    """Return each filter once, or the one that matches everything for very many."""
    distinct = list(dict.fromkeys(contents))
    return distinct if len(distinct) <= REPAIRED_MAX else [EVERYTHING.filter]
