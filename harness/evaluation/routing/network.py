"""An overlay of the simulator's cores that counts the messages on links.

What is left out of the product is what has no part in tables and messages: frames, connections, time. All
that is on its way arrives before the next thing happens.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from attrs import Factory, define

from broker import routing as strategies
from broker.core import BrokerCore
from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.messages import (
    Publication,
    SubscriptionAcknowledged,
    SubscriptionAdded,
    SubscriptionsReplaced,
    SubscriptionWithdrawn,
)
from harness.evaluation.routing.thesis import ROOT, Tree
from harness.simulator import network as links
from harness.simulator.network import Site
from ordering.fifo import Fifo

ALIKE: Final = (1.0, 1.0)
"""Both directions of every link deliver as eagerly."""

CHANGES: Final = (SubscriptionAdded, SubscriptionsReplaced, SubscriptionWithdrawn)
"""What the thesis counts: messages by which one broker changes what another has in its table."""

ACKNOWLEDGEMENTS: Final = (SubscriptionAcknowledged,)

EVERYTHING: Final = parse("True")
SOURCE: Final = "source"


@define
class Sent:
    """Messages over links by kind, and deliveries to clients, since they were counted last."""

    changes: int = 0
    acknowledgements: int = 0
    publications: int = 0
    deliveries: int = 0


@define(eq=False)
class CountedNetwork:
    """A tree of cores. `_built_in` counts the entries that a strategy has made from the beginning."""

    tree: Tree
    sites: dict[str, Site] = Factory(dict)
    _links: links.Network = Factory(links.Network)
    _sent: Counter[type] = Factory(Counter)
    _delivered: int = 0
    _published: int = 0
    _built_in: dict[str, int] = Factory(dict)

    @classmethod
    def of(cls, tree: Tree, routing: str, source: str = ROOT) -> "CountedNetwork":
        """Start every broker, attach it to the one above, and let the source advertise everything."""
        network = cls(tree)
        chosen = strategies.parse(routing)
        for place in tree.places:
            site = network.sites[place.name] = Site(place.name, BrokerCore(place.name, Fifo, routing=chosen))
            if place.uplink:
                above = network.sites[place.uplink]
                network._links.connect(site, above, ALIKE)
                network._settle(site, above)
        network.sites[source].core.advertise(SOURCE, EVERYTHING)
        network._settle(network.sites[source])
        network.take()
        network._built_in = {name: network._entries(name) for name in network.sites}
        return network

    def _settle(self, *sites: Site) -> None:
        """Carry everything to where it belongs, until nothing is on its way."""
        for site in sites:
            self._collect(site)
        ready = self._links.ready.ports
        while ready:
            port = ready[0]
            messages, _ = self._links.take(port, len(port.queue))
            port.site.core.receive(port.hop, messages)
            self._collect(port.site)

    def _collect(self, site: Site) -> None:
        effects, sent = site.core.take(), self._sent
        for hop, messages in effects.outgoing:
            if hop.is_link:
                for message in messages:
                    sent[message.__class__] += 1
        self._delivered += sum(len(messages) for _, messages in self._links.carry(site, effects))

    # --- what happens ---

    def subscribe(self, broker: str, subscription: str, content: Filter) -> None:
        """A client of a broker subscribes."""
        site = self.sites[broker]
        site.core.subscribe(subscription, content, ordered=True)
        self._settle(site)

    def unsubscribe(self, broker: str, subscription: str) -> None:
        """A client's subscription ends."""
        site = self.sites[broker]
        site.core.unsubscribe(subscription)
        self._settle(site)

    def publish(self, broker: str, attributes: Mapping[str, Value]) -> None:
        """The source publishes one event."""
        self._published += 1
        site = self.sites[broker]
        site.core.publish(SOURCE, [Publication(SOURCE, self._published, attributes, ordered=True, frame=b"")])
        self._settle(site)

    # --- what it came to ---

    def take(self) -> Sent:
        """Return the messages on links since the last call."""
        sent, self._sent = self._sent, Counter()
        delivered, self._delivered = self._delivered, 0
        return Sent(
            sum(sent[kind] for kind in CHANGES),
            sum(sent[kind] for kind in ACKNOWLEDGEMENTS),
            sent[Publication],
            delivered,
        )

    def remote_entries(self, broker: str) -> int:
        """Return how many subscriptions a broker has in its table that came over links."""
        return self._entries(broker) - self._built_in[broker]

    def _entries(self, broker: str) -> int:
        core = self.sites[broker].core
        return sum(len(core.tables.entries_of(link)) for link in core.neighbours.values())
