"""Several cores joined by FIFO links in memory, for tests: any interleaving of the links may be chosen."""

from collections import deque
from itertools import pairwise
from random import Random

from attrs import Factory, define

from broker.core import BrokerCore, Hop
from broker.filters import parse
from broker.messages import LinkMessage, Publication, WayTold
from broker.routing import SIMPLE
from ordering.interface import OrderingFactory

End = tuple[str, str]
"""One direction of a link: from one broker to another."""


@define(eq=False)
class Network:
    ordering: OrderingFactory
    random: Random = Factory(lambda: Random(0))
    cores: dict[str, BrokerCore] = Factory(dict)
    hops: dict[End, Hop] = Factory(dict)
    in_flight: dict[End, deque[LinkMessage]] = Factory(dict)
    delivered: dict[str, list[Publication]] = Factory(dict)
    advertised: list[str] = Factory(list)
    subscribed: list[str] = Factory(list)
    wanted: set[str] = Factory(set)
    rejected: list[tuple[str, str, str]] = Factory(list)
    attached: list[End] = Factory(list)
    explained: list[WayTold] = Factory(list)
    sequences: dict[str, int] = Factory(dict)

    def add(self, *names: str) -> None:
        for name in names:
            self.cores[name] = BrokerCore(name, self.ordering, routing=SIMPLE)

    def dial(self, child: str, parent: str) -> None:
        self.in_flight[child, parent] = deque()
        self.in_flight[parent, child] = deque()
        self.hops[parent, child] = self.cores[parent].open_link(child, uplink=False)
        self.hops[child, parent] = self.cores[child].open_link(parent, uplink=True)
        self.collect(parent)
        self.collect(child)

    def chain(self, *names: str) -> None:
        """Each broker's uplink is the one before it; everything settled."""
        self.add(*names)
        for parent, child in pairwise(names):
            self.dial(child, parent)
            self.settle()

    def cut(self, child: str, parent: str) -> None:
        for end in ((child, parent), (parent, child)):
            self.in_flight.pop(end)
            self.cores[end[0]].close_link(self.hops.pop(end))
            self.collect(end[0])

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
        for hop, messages in effects.outgoing:
            if hop.is_link:
                self.in_flight[broker, hop.name].extend(messages)
            else:
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
        source, target = end
        message = self.in_flight[end].popleft()
        self.cores[target].receive(self.hops[target, source], [message])
        self.collect(target)
        return message

    def step_any(self) -> bool:
        """Let one message arrive, over a link of the random source's choice."""
        waiting = [end for end, messages in self.in_flight.items() if messages]
        if waiting:
            self.step(self.random.choice(waiting))
        return bool(waiting)

    def settle(self) -> None:
        while self.step_any():
            pass

    def got(self, subscription: str) -> list[tuple[str, int]]:
        return [(p.publisher, p.sequence) for p in self.delivered[subscription]]
