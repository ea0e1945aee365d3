"""Several cores joined by the simulator's links, for tests: any interleaving of the links may be chosen."""

from collections import deque
from itertools import pairwise
from random import Random

from attrs import Factory, define

from broker.core import BrokerCore, Hop
from broker.filters import parse
from broker.messages import LinkMessage, Publication, WayAnswer
from broker.routing import SIMPLE
from harness.simulator import network as links
from harness.simulator.network import Port, Site
from ordering.interface import OrderingFactory

End = tuple[str, str]
"""One direction of a link: from one broker to another."""


@define(eq=False)
class Network:
    ordering: OrderingFactory
    random: Random = Factory(lambda: Random(0))
    cores: dict[str, BrokerCore] = Factory(dict)
    _sites: dict[str, Site] = Factory(dict)
    _links: links.Network = Factory(links.Network)
    _ports: dict[End, Port] = Factory(dict)
    delivered: dict[str, list[Publication]] = Factory(dict)
    advertised: list[str] = Factory(list)
    subscribed: list[str] = Factory(list)
    wanted: set[str] = Factory(set)
    rejected: list[tuple[str, str, str]] = Factory(list)
    attached: list[End] = Factory(list)
    explained: list[WayAnswer] = Factory(list)
    sequences: dict[str, int] = Factory(dict)
    _unfinished: dict[str, None] = Factory(dict)

    @property
    def hops(self) -> dict[End, Hop]:
        """What each broker calls its end of each link."""
        return {(one, other): self._ports[other, one].hop for one, other in self._ports}

    @property
    def in_flight(self) -> dict[End, deque[LinkMessage]]:
        """What is on its way; no connection ends here before everything has arrived."""
        return {end: port.queue for end, port in self._ports.items()}  # type: ignore[misc]  # likewise

    def add(self, *names: str) -> None:
        for name in names:
            self.cores[name] = BrokerCore(name, self.ordering, routing=SIMPLE)

    def _site(self, name: str) -> Site:
        """Where the core of that name is now; a test may put another one in its place."""
        site = self._sites.get(name)
        if site is None or site.core is not self.cores[name]:
            site = self._sites[name] = Site(name, self.cores[name])
        return site

    def dial(self, child: str, parent: str) -> None:
        down = self._links.connect(self._site(child), self._site(parent), (1.0, 1.0))
        self._ports[parent, child], self._ports[child, parent] = down, down.back
        self.collect(parent)
        self.collect(child)

    def chain(self, *names: str) -> None:
        """Each broker's uplink is the one before it; everything settled."""
        self.add(*names)
        for parent, child in pairwise(names):
            self.dial(child, parent)
            self.settle()

    def cut(self, child: str, parent: str) -> None:
        for one, other in ((child, parent), (parent, child)):
            port = self._ports[other, one]
            self._links.abandon(port)
            del self._site(one).outgoing[port.hop]
            self.cores[one].close_link(port.hop)
            self.collect(one)
        del self._ports[child, parent], self._ports[parent, child]

    def advertise(self, broker: str, publisher: str, text: str) -> None:
        self.cores[broker].advertise(publisher, parse(text))
        self.collect(broker)

    def unadvertise(self, broker: str, publisher: str) -> None:
        self.cores[broker].unadvertise(publisher)
        self.wanted.discard(publisher)
        self.collect(broker)

    def subscribe(self, broker: str, subscription: str, text: str, *, ordered: bool = True) -> None:
        self.cores[broker].subscribe(subscription, parse(text), ordered=ordered)
        self.delivered.setdefault(subscription, [])
        self.collect(broker)

    def unsubscribe(self, broker: str, subscription: str) -> None:
        self.cores[broker].unsubscribe(subscription)
        self.collect(broker)

    def publish(
        self, broker: str, publisher: str, *, ordered: bool = True, **attributes: str | int
    ) -> Publication:
        sequence = self.sequences[publisher] = self.sequences.get(publisher, 0) + 1
        publication = Publication(publisher, sequence, attributes, ordered, b"")
        self.cores[broker].publish(publisher, [publication])
        self.collect(broker)
        return publication

    def collect(self, broker: str) -> None:
        effects = self.cores[broker].take()
        if effects.is_unfinished:
            self._unfinished[broker] = None
        for hop, messages in self._links.carry(self._site(broker), effects):
            self.delivered[hop.name].extend(m for m in messages if isinstance(m, Publication))
        self.advertised.extend(effects.advertised)
        self.subscribed.extend(effects.subscribed)
        for publisher, is_wanted in effects.wanted:
            (self.wanted.add if is_wanted else self.wanted.remove)(publisher)
        self.explained.extend(effects.explained)
        self.attached.extend((broker, hop.name) for hop in effects.attached)
        self.rejected.extend((broker, hop.name, reason) for hop, reason in effects.rejected)

    def step(self, end: End) -> LinkMessage:
        """Let one message arrive."""
        port = self._ports[end]
        (message,), _ = self._links.take(port, 1)
        port.site.core.receive(port.hop, [message])
        self.collect(port.site.name)
        return message

    def step_any(self) -> bool:
        """Let one message arrive, over a link that chance chooses; if none is there, let a core go on."""
        ready = [end for end, port in self._ports.items() if port.queue]
        if ready:
            self.step(self.random.choice(ready))
        elif self._unfinished:
            broker, _ = self._unfinished.popitem()
            self.cores[broker].continue_crossing()
            self.collect(broker)
            return True
        return bool(ready)

    def settle(self) -> None:
        while self.step_any():
            pass

    def got(self, subscription: str) -> list[tuple[str, int]]:
        return [(p.publisher, p.sequence) for p in self.delivered[subscription]]
