"""Control messages about routes: what is forwarded to whom, and when it is acknowledged (R5 to R7).

Laws.

1. What a neighbour has been told is always what a computation from scratch would give: every advertisement
   that is known some other way than through it, and every subscription that is, if an advertisement that
   came from it overlaps. A broker that has moved is for a moment known two ways (R9); since the tree has no
   cycles, this law alone brings all tables to the truth again.
2. A message takes its place behind what is pending for the same link (R5). The ordering plugin keeps that
   place.
3. Towards a link that is still synchronising no subscription is sent (R9); advertisements are. A
   subscription that is to be sent there waits, and its gate is closed: so neither it nor a new advertisement
   behind that link is acknowledged meanwhile.
"""

from collections.abc import Callable

from attrs import Factory, define, field

from broker.core.barrier import Barrier, Passed
from broker.core.gates import Asker, Gates
from broker.core.hops import Hop
from broker.core.losses import Losses
from broker.core.tables import Entry, RoutingTables
from broker.filters import Filter
from broker.messages import (
    AdvertisementAcknowledged,
    AdvertisementAdded,
    AdvertisementWithdrawn,
    Control,
    PublicationsLost,
    SubscriptionAcknowledged,
    SubscriptionAdded,
    SubscriptionWithdrawn,
)

SendControl = Callable[[Hop, Control | PublicationsLost], None]
"""Send a message to a link."""


@define(eq=False)
class Routing:
    """Keeps the tables of one broker, and its neighbours' tables, in step."""

    _send: SendControl
    tables: RoutingTables = Factory(RoutingTables)
    gates: Gates = Factory(Gates)
    barrier: Barrier = Factory(Barrier)
    losses: Losses = Factory(lambda self: Losses(self.tables, self._send), takes_self=True)
    links: dict[str, Hop] = Factory(dict)
    synchronising: set[Hop] = Factory(set)
    _forwarded: dict[Hop, dict[str, Filter]] = Factory(dict)
    _unsent: dict[Hop, dict[str, None]] = Factory(dict)
    advertised: list[str] = field(factory=list, init=False)
    subscribed: list[str] = field(factory=list, init=False)

    # --- links ---

    def add_link(self, link: Hop) -> None:
        """A neighbour is part of the tree from now on."""
        self.links[link.name] = link
        self._forwarded[link] = {}
        self._unsent[link] = {}
        self.tables.open_link(link)

    def synchronised(self, link: Hop) -> None:
        """Everybody on this side knows what is advertised behind the link: subscriptions may cross it."""
        self.synchronising.discard(link)
        waiting, self._unsent[link] = self._unsent[link], {}
        for subscription in waiting:
            del self._forwarded[link][subscription]
        self.forward_all(link)

    def remove_link(self, link: Hop) -> None:
        """Withdraw towards everyone else what was known through a lost link (R8)."""
        del self.links[link.name]
        self.synchronising.discard(link)
        for advertisement in list(self.tables.advertisements(link).filters):
            self.withdraw_advertisement(advertisement, link, is_lost=True)
        for subscription in list(self.tables.entries_of(link)):
            self.withdraw_subscription(subscription, link)
        del self._forwarded[link], self._unsent[link]
        self._report(self.barrier.link_lost(link))
        for subscription in self.gates.owed_by(link):
            self._open_gate(subscription, link)
        self.tables.close_link(link)

    def is_linked(self, link: Hop) -> bool:
        """Whether this link is part of the tree."""
        return self.links.get(link.name) is link

    # --- advertisements (R6) ---

    def advertise(self, advertisement: str, content: Filter) -> None:
        """A local publisher announces what it will publish."""
        told = self._untold(advertisement)
        self.tables.add_local_advertisement(advertisement, content)
        self._announce(advertisement, content, told)
        self._report(self.barrier.start(advertisement, None, told, set()))

    def unadvertise(self, advertisement: str) -> None:
        """A local publisher is gone."""
        if self.tables.remove_local_advertisement(advertisement) is not None:
            self._take_back_advertisement(advertisement, None)

    def add_advertisement(self, message: AdvertisementAdded, link: Hop) -> None:
        """A neighbour announces a publisher behind it."""
        told = [other for other in self._untold(message.id) if other is not link]
        self.tables.add_advertisement(link, message.id, message.filter)
        self._announce(message.id, message.filter, told)
        self.forward_all(link, message.filter)
        on_their_way = {
            subscription
            for subscription in self.gates.owed_by(link)
            if any(entry.filter.overlaps(message.filter) for entry in self.tables.named(subscription))
        }
        self._report(self.barrier.start(message.id, link, told, on_their_way))

    def _untold(self, advertisement: str) -> list[Hop]:
        """The links over which this advertisement has not been announced."""
        return [link for link in self.links.values() if not self.tables.is_advertised(advertisement, link)]

    def _announce(self, advertisement: str, content: Filter, links: list[Hop]) -> None:
        for link in links:
            self._send(link, AdvertisementAdded(advertisement, content))

    def acknowledge_advertisement(self, message: AdvertisementAcknowledged, link: Hop) -> None:
        """Everybody behind the neighbour knows the advertisement."""
        self._report(self.barrier.acknowledged(message.id, link))

    def _report(self, passed: list[Passed]) -> None:
        for advertisement, link in ((p.advertisement, p.link) for p in passed):
            if link is None:
                self.advertised.append(advertisement)
            elif self.is_linked(link):
                self._send(link, AdvertisementAcknowledged(advertisement))

    def withdraw_advertisement(self, advertisement: str, link: Hop, *, is_lost: bool = False) -> None:
        """A publisher behind a neighbour is gone; if it is lost, who listened may have missed something."""
        content = self.tables.remove_advertisement(link, advertisement)
        if content is None:
            return
        if is_lost:
            self.losses.lost(advertisement, content)
        self._take_back_advertisement(advertisement, link, is_lost=is_lost)
        if self.is_linked(link):
            self._withdraw_forwarded(link, content)

    def _take_back_advertisement(
        self, advertisement: str, link: Hop | None, *, is_lost: bool = False
    ) -> None:
        """Withdraw it from whoever was told because of this link, or of a local publisher."""
        for other in self._untold(advertisement):
            if other is not link:
                self._send(other, AdvertisementWithdrawn(advertisement, is_lost))
        self._report(self.barrier.withdrawn(advertisement, link))

    def _withdraw_forwarded(self, link: Hop, content: Filter) -> None:
        """Take back from a neighbour the subscriptions that nothing it advertises overlaps any more."""
        still = self.tables.advertisements(link)
        for subscription, wanted in list(self._forwarded[link].items()):
            if wanted.overlaps(content) and not still.overlap(wanted):
                self._take_back_subscription(subscription, link)

    def _take_back_subscription(self, subscription: str, link: Hop) -> None:
        del self._forwarded[link][subscription]
        if subscription in self._unsent[link]:
            del self._unsent[link][subscription]
        else:
            self._send(link, SubscriptionWithdrawn(subscription))
        self._open_gate(subscription, link)

    # --- subscriptions (R7) ---

    def subscribe(self, entry: Entry) -> None:
        """A local client subscribes."""
        entry.since = self.losses.count
        self._spread(entry, Asker(None, 0))

    def add_subscription(self, message: SubscriptionAdded, link: Hop) -> None:
        """A neighbour asks for what a subscriber behind it wants."""
        self._spread(Entry(message.id, message.filter, message.ordered, link), Asker(link, message.number))

    def _spread(self, entry: Entry, asker: Asker) -> None:
        entry.closed = self.gates.closed_hops(entry.id)
        self.tables.add_entry(entry)
        for link in self.links.values():
            self._forward(entry, link)
        self.gates.answer_to(entry.id, asker)
        self._answer(entry.id)

    def forward_all(self, link: Hop, content: Filter | None = None) -> None:
        """Send a neighbour every subscription it should have, or those that overlap this filter."""
        for entry in list(self.tables.entries()):
            if content is None or entry.filter.overlaps(content):
                self._forward(entry, link)

    def _forward(self, entry: Entry, link: Hop) -> None:
        forwarded = self._forwarded[link]
        if link is entry.hop or entry.id in forwarded:
            return
        if not self.tables.advertisements(link).overlap(entry.filter):
            return
        forwarded[entry.id] = entry.filter
        number = self.gates.close(entry.id, link)
        for same in self.tables.named(entry.id):
            self.tables.close_gate(same, link)
        if link in self.synchronising:
            self._unsent[link][entry.id] = None
        else:
            self._send(link, SubscriptionAdded(entry.id, entry.filter, entry.ordered, number))

    def acknowledge_subscription(self, message: SubscriptionAcknowledged, link: Hop) -> None:
        """Everybody the neighbour forwarded the subscription to knows it."""
        if self.gates.answered(message.id, link, message.number):
            self._opened(message.id, link)

    def _open_gate(self, subscription: str, link: Hop) -> None:
        if self.gates.is_closed(subscription, link):
            self.gates.open(subscription, link)
            self._opened(subscription, link)

    def _opened(self, subscription: str, link: Hop) -> None:
        for entry in self.tables.named(subscription):
            self.tables.open_gate(entry, link)
        self._answer(subscription)
        self._report(self.barrier.route_open(subscription, link))

    def _answer(self, subscription: str) -> None:
        for asker in self.gates.due(subscription):
            if asker.link is None:
                self.subscribed.append(subscription)
            elif self.is_linked(asker.link):
                self._send(asker.link, SubscriptionAcknowledged(subscription, asker.number))

    def withdraw_subscription(self, subscription: str, hop: Hop) -> None:
        """A subscriber is gone."""
        if self.tables.remove_entry(hop, subscription) is None:
            return
        self.gates.forget(subscription, hop if hop.is_link else None)
        for link in self.links.values():
            if subscription in self._forwarded[link] and not self.tables.is_wanted(subscription, link):
                self._take_back_subscription(subscription, link)
