"""Control messages about routes: who hears of what, and when it is acknowledged (R5 to R7).

What goes to a neighbour is chosen by two strategies, one for subscriptions and one for advertisements
(`broker.routing`); whichever they are, publications reach whoever wants them.

Laws.

1. What a neighbour has been told is always what a computation from scratch would give: every advertisement
   that is known some other way than through it, and every subscription that is, if an advertisement that
   came from it overlaps, or what the strategies have stand for them.
2. A message takes its place behind what is pending for the same link (R5). The ordering plugin keeps that
   place.
3. Towards a link that is still synchronising no subscription is sent (R9); advertisements are. A
   subscription that is to be sent there waits, and its gate is closed: so neither it nor a new advertisement
   behind that link is acknowledged meanwhile.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Final

from attrs import Factory, define, field

from broker.core.advertising import Advertising
from broker.core.barrier import Barrier, Passed
from broker.core.hops import Hop
from broker.core.losses import Losses
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
"""If more filters than this were repaired at once, one gap is told for everything instead of one for each."""


@define(eq=False)
class RoutingState:
    """Keeps the tables of one broker, and its neighbours' tables, in step."""

    DERIVED: ClassVar = frozenset({"strategies"})

    _broker: str
    strategies: Strategies
    _send: SendControl
    _send_now: SendControl
    tables: RoutingTables = Factory(RoutingTables)
    losses: Losses = Factory(lambda self: Losses(self.tables, self._send, self._send_now), takes_self=True)
    links: dict[str, Hop] = Factory(dict)
    advertising: Advertising = field(init=False)
    subscribing: Subscribing = field(init=False)
    advertised: list[str] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        advertising, subscribing = self.strategies.advertisements, self.strategies.subscriptions
        self.advertising = Advertising(self._broker, advertising, self.tables, self._send)
        page_bytes = self.strategies.page_bytes
        self.subscribing = Subscribing(
            self._broker, subscribing, page_bytes, self.tables, self.barrier, self._send
        )

    @property
    def barrier(self) -> Barrier:
        """The advertisements on their way."""
        return self.advertising.barrier

    # --- links ---

    def add_link(self, link: Hop) -> None:
        """A neighbour is part of the tree from now on; until it has synchronised, subscriptions wait."""
        self.links[link.name] = link
        self.tables.open_link(link)
        self.tables.synchronising.add(link)
        self.advertising.add_link(link)
        self.subscribing.add_link(link)
        if self.strategies.advertisements.floods:
            self.tables.add_advertisement(link, EVERYTHING.id, EVERYTHING.filter)

    def synchronised(self, link: Hop) -> None:
        """The whole tree knows what came across a new link: what it wants of that may be asked for."""
        self.tables.synchronising.discard(link)
        self.subscribing.synchronised(link)
        self._report()

    def remove_link(self, link: Hop) -> None:
        """Withdraw towards everyone else what was known through a lost link (R8)."""
        del self.links[link.name]
        self.tables.synchronising.discard(link)
        self.advertising.remove_link(link)
        for advertisement in list(self.tables.advertisements(link).filters):
            self.withdraw_advertisement(advertisement, link, is_lost=True)
        self.subscribing.remove_link(link)
        self._report(self.barrier.link_lost(link))
        self.tables.close_link(link)

    def is_linked(self, link: Hop) -> bool:
        """Whether this link is part of the tree."""
        return self.links.get(link.name) is link

    # --- advertisements (R6) ---

    def advertise(self, advertisement: str, content: Filter) -> None:
        """A local publisher announces what it will publish."""
        self.tables.add_local_advertisement(advertisement, content)
        self._report(self.advertising.announce(RouteFilter(advertisement, content), None, ()))

    def unadvertise(self, advertisement: str) -> None:
        """A local publisher is gone."""
        content = self.tables.remove_local_advertisement(advertisement)
        if content is not None:
            self._report(self.advertising.take_back(RouteFilter(advertisement, content), None))

    def add_advertisement(self, message: AdvertisementAdded, link: Hop) -> None:
        """A neighbour announces a publisher behind it."""
        self.tables.add_advertisement(link, message.id, message.filter)
        self.subscribing.offer_overlapping(link, (message.filter,))
        on_their_way = self.subscribing.on_their_way(link, message.filter)
        route = RouteFilter(message.id, message.filter)
        self._report(self.advertising.announce(route, link, on_their_way))

    def acknowledge_advertisement(self, message: AdvertisementAcknowledged, link: Hop) -> None:
        """Everybody behind the neighbour knows the advertisement."""
        self._report(self.barrier.acknowledged(message.id, link))

    def _report(self, passed: Iterable[Passed] = ()) -> None:
        """Tell whoever waits for a barrier that it is passed, and gaps to those who counted on a new link."""
        also, self.subscribing.passed = self.subscribing.passed, []
        crossed, self.subscribing.crossed = self.subscribing.crossed, []
        for new in filter(self.is_linked, crossed):
            for content in self.tables.advertisements(new).distinct():
                self.publishers_lost(PublishersLost(content), new)
        for advertisement, link in ((p.advertisement, p.link) for p in (*passed, *also)):
            if link is None:
                self.advertised.append(advertisement)
            elif self.is_linked(link):
                self._send(link, AdvertisementAcknowledged(advertisement))

    def withdraw_advertisement(self, advertisement: str, link: Hop, *, is_lost: bool = False) -> None:
        """A publisher behind a neighbour is gone; if it is lost, who listened may have missed something.

        Only a broker whose tables went wrong does not know it.
        """
        content = self.tables.remove_advertisement(link, advertisement)
        if content is None:
            self.missed_from(link, [EVERYTHING.filter])
            return
        if is_lost:
            self.losses.lost(advertisement, content)
        route = RouteFilter(advertisement, content)
        self._report(self.advertising.take_back(route, link, is_lost=is_lost))
        if self.is_linked(link):
            self.subscribing.retract(link, content)
            self._report()

    def found_apart(self, link: Hop) -> None:
        """Nothing is said of the publishers behind a new link: tell that what they published is missing."""
        if self.strategies.advertisements.floods:
            self.publishers_lost(PublishersLost(EVERYTHING.filter), link)

    def publishers_lost(self, message: PublishersLost, link: Hop) -> None:
        """Publications may be missing of somebody for whom something else stands: it is told, and told on.

        From above it goes at once, as what comes after it does (R1).
        """
        is_from_uplink = self.tables.is_uplink(link)
        self.losses.missing(message.filter, is_from_uplink=is_from_uplink)
        send = self._send_now if is_from_uplink else self._send
        for other in self.links.values():
            if other is not link:
                send(other, message)

    # --- repairs (`broker.core.leases`) ---

    def announce_anew(self, link: Hop, candidates: Mapping[str, RouteFilter]) -> None:
        """Make what a neighbour has been told of advertisements what follows from these."""
        self._report(self.advertising.announce_anew(link, candidates))

    def report(self) -> None:
        """Answer whoever waits for what repairs have completed."""
        self._report()

    def missed_from(self, link: Hop, contents: Iterable[Filter]) -> None:
        """Publications from behind a link may not have come here: all who want them are told a gap."""
        for content in _few(contents):
            self.publishers_lost(PublishersLost(content), link)

    def missed_by(self, hop: Hop, contents: Iterable[Filter]) -> None:
        """Publications may not have left through a hop: all who want them there are told a gap.

        Those from above leave at once, and those from below in their place: the gap does both.
        """
        for content in _few(contents):
            if hop.is_link:
                self._send_now(hop, PublishersLost(content))
                self._send(hop, PublishersLost(content))
            else:
                self.losses.missing(content, is_from_uplink=True)
                self.losses.missing(content, is_from_uplink=False)

    # --- subscriptions (R7) ---

    def subscribe(self, entry: RouteEntry) -> None:
        """A local client subscribes."""
        entry.since = self.losses.count
        self.subscribing.subscribe(entry)

    def unsubscribe(self, subscription: str, hop: Hop) -> None:
        """A subscriber is gone."""
        self.subscribing.unsubscribe(subscription, hop)
        self._report()

    def add_subscriptions(self, message: SubscriptionAdded | SubscriptionsReplaced, link: Hop) -> None:
        """A neighbour asks for what a subscriber behind it wants."""
        self._find_lost([] if isinstance(message, SubscriptionAdded) else message.withdrawn, link)
        self.subscribing.asked(message, link)
        self._report()

    def withdraw_subscription(self, message: SubscriptionWithdrawn, link: Hop) -> None:
        """A subscriber behind a neighbour is gone."""
        self._find_lost([message.id], link)
        self.unsubscribe(message.id, link)

    def _find_lost(self, withdrawn: Iterable[str], link: Hop) -> None:
        """Tell a gap to a neighbour that withdraws what is not known: only wrong tables have lost it."""
        if not self.tables.entries_of(link).keys() >= set(withdrawn):
            self.missed_by(link, [EVERYTHING.filter])

    def acknowledge_subscriptions(self, message: SubscriptionAcknowledged, link: Hop) -> None:
        """Everybody the neighbour forwarded the subscription to knows it."""
        self.subscribing.answered(message, link)
        self._report()

    def settle(self, message: SettleAsked, link: Hop) -> None:
        """A neighbour asks whether routes have settled (R9)."""
        self.subscribing.settle(message, link)

    def offer_overlapping(self, link: Hop, advertisements: Announced) -> None:
        """Tell a neighbour of every subscription that overlaps what it has just advertised."""
        self.subscribing.offer_overlapping(link, dict.fromkeys(content for _, content in advertisements))
        self._report()

    def flood(self, other: Hop, advertisements: Announced, next_token: Callable[[], str]) -> None:
        """Pass a flood on to a neighbour, as one flood a page (R9)."""
        difference = self.advertising.flood(other, advertisements)
        told = {route.filter for route in difference.added}
        for _, content in advertisements if not self.strategies.advertisements.is_exact else ():
            if content not in told:  # Something stands for it there, but what it published may be missing.
                self._send(other, PublishersLost(content))
        added = [(route.id, route.filter) for route in difference.added]
        for page in cut(added, self.strategies.page_bytes):
            self._send(other, Flood(next_token(), page))
        self._report(self.advertising.withdraw(other, difference.removed))

    def answer_when_known(self, advertisements: Announced, link: Hop) -> None:
        """Where one stands for another, what came across a new link is answered like everything else (R6)."""
        for advertisement, content in advertisements if not self.strategies.advertisements.is_exact else ():
            on_their_way = self.subscribing.on_their_way(link, content)
            self._report(
                self.advertising.await_others(RouteFilter(advertisement, content), link, on_their_way)
            )

    def rebuild(self) -> None:
        """Make again what is in no picture."""
        self.advertising.rebuild()
        self.subscribing.rebuild()

    def counts(self) -> dict[str, int]:
        """How much is on its way."""
        return {**self.subscribing.counts(), "open_barriers": len(self.barrier)}


def _few(contents: Iterable[Filter]) -> list[Filter]:
    """Return each filter once, or the one that matches everything for very many."""
    distinct = list(dict.fromkeys(contents))
    return distinct if len(distinct) <= REPAIRED_MAX else [EVERYTHING.filter]
