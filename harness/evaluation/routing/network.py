"""Cores joined in one process: what one says to another arrives in the order in which it was said.

It is the product's own core, with its own tables and messages; what is left out is what has no part in
them: frames, connections, time. Everything that is on its way arrives before the next thing happens.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final

from attrs import Factory, define

from broker import routing as strategies
from broker.core import BrokerCore, Hop
from broker.filters import Filter, parse
from broker.filters.constraints import Value
from broker.messages import (
    LinkMessage,
    Publication,
    SubscriptionAcknowledged,
    SubscriptionAdded,
    SubscriptionsReplaced,
    SubscriptionWithdrawn,
)
from harness.evaluation.routing.thesis import ROOT, Tree
from ordering.fifo import Fifo

__all__ = ["Network", "Sent"]

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
class Network:
    """A tree of cores.

    `_peers` says for every end of a link which core is at the other, and as what. `_built_in` counts the
    entries that a strategy has made from the beginning, without anybody saying anything.
    """

    tree: Tree
    cores: dict[str, BrokerCore] = Factory(dict)
    _peers: dict[Hop, tuple[BrokerCore, Hop]] = Factory(dict)
    _on_their_way: deque[tuple[BrokerCore, Hop, list[LinkMessage]]] = Factory(deque)
    _sent: Counter[type] = Factory(Counter)
    _delivered: int = 0
    _published: int = 0
    _built_in: dict[str, int] = Factory(dict)

    @classmethod
    def of(cls, tree: Tree, routing: str, source: str = ROOT) -> "Network":
        """Start every broker, attach it to the one above, and let the source advertise everything."""
        network = cls(tree)
        chosen = strategies.parse(routing)
        for place in tree.places:
            core = network.cores[place.name] = BrokerCore(place.name, Fifo, routing=chosen)
            if place.uplink:
                above = network.cores[place.uplink]
                up = core.open_link(place.uplink, uplink=True)
                down = above.open_link(place.name, uplink=False)
                network._peers[up], network._peers[down] = (above, down), (core, up)
                network._settle(core, above)
        network.cores[source].advertise(SOURCE, EVERYTHING)
        network._settle(network.cores[source])
        network.take()
        network._built_in = {name: network._entries(name) for name in network.cores}
        return network

    def _settle(self, *cores: BrokerCore) -> None:
        """Carry everything to where it belongs, until nothing is on its way."""
        for core in cores:
            self._collect(core)
        waiting = self._on_their_way
        while waiting:
            core, link, messages = waiting.popleft()
            core.receive(link, messages)
            self._collect(core)

    def _collect(self, core: BrokerCore) -> None:
        peers, sent = self._peers, self._sent
        for hop, messages in core.take().outgoing:
            if not hop.is_link:
                self._delivered += len(messages)
                continue
            for message in messages:
                sent[message.__class__] += 1
            self._on_their_way.append((*peers[hop], messages))

    # --- what happens ---

    def subscribe(self, broker: str, subscription: str, content: Filter) -> None:
        """A client of a broker subscribes."""
        core = self.cores[broker]
        core.subscribe(subscription, content, ordered=True)
        self._settle(core)

    def unsubscribe(self, broker: str, subscription: str) -> None:
        """A client's subscription ends."""
        core = self.cores[broker]
        core.unsubscribe(subscription)
        self._settle(core)

    def publish(self, broker: str, attributes: Mapping[str, Value]) -> None:
        """The source publishes one event."""
        self._published += 1
        core = self.cores[broker]
        core.publish(SOURCE, [Publication(SOURCE, self._published, attributes, ordered=True, frame=b"")])
        self._settle(core)

    # --- what it came to ---

    def take(self) -> Sent:
        """Say what went over links since the last call."""
        sent, self._sent = self._sent, Counter()
        delivered, self._delivered = self._delivered, 0
        return Sent(
            sum(sent[kind] for kind in CHANGES),
            sum(sent[kind] for kind in ACKNOWLEDGEMENTS),
            sent[Publication],
            delivered,
        )

    def remote_entries(self, broker: str) -> int:
        """How many subscriptions a broker has in its table that came over links."""
        return self._entries(broker) - self._built_in[broker]

    def _entries(self, broker: str) -> int:
        core = self.cores[broker]
        return sum(len(core.tables.entries_of(link)) for link in core.neighbours.values())
