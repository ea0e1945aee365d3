"""What one change of a subscription costs a whole broker core: its tables and gates, and what it tells.

A broker has one neighbour, which advertises everything, and clients of its own that subscribe. Their changes
are timed until what is to be sent is known; what the neighbour does with it, and its answer, are not.
"""

from collections.abc import Callable, Iterable
from time import process_time_ns
from typing import Final

from attrs import define

from broker.core import BrokerCore, Hop
from broker.filters import parse
from broker.messages import LinkMessage, SubscriptionAdded, SubscriptionsReplaced, SubscriptionWithdrawn
from broker.routing import parse as routing_named
from ordering.pairwise import Pairwise

EVERYTHING: Final = parse("True")


@define(eq=False)
class Pair:
    """A broker and the neighbour above it, joined in memory."""

    lower: BrokerCore
    upper: BrokerCore
    up: Hop
    down: Hop
    told: int = 0
    """Subscriptions that the lower one has told the upper one, and taken back."""

    @classmethod
    def joined(cls, name: str) -> "Pair":
        """Two brokers with this routing; the upper one has a publisher of everything."""
        upper, lower = (BrokerCore(each, Pairwise, routing=routing_named(name)) for each in ("U", "L"))
        pair = cls(lower, upper, lower.open_link("U", uplink=True), upper.open_link("L", uplink=False))
        pair.settle()
        upper.advertise("U.p", EVERYTHING)
        pair.settle()
        return pair

    def settle(self, sent: Iterable[LinkMessage] = ()) -> None:
        """Let both say all they have to say; `sent` is on its way from the lower one already."""
        upwards = [*sent, *_sent(self.lower, self.up)]
        while True:
            if upwards:
                self.upper.receive(self.down, upwards)
            downwards = _sent(self.upper, self.down)
            if downwards:
                self.lower.receive(self.up, downwards)
            upwards = _sent(self.lower, self.up)
            if not upwards and not downwards:
                return

    def timed_us(self, change: Callable[[], object]) -> float:
        """How long a change of the lower one takes."""
        start = process_time_ns()
        change()
        sent = _sent(self.lower, self.up)
        time_us = (process_time_ns() - start) / 1000
        self.told += sum(map(_told, sent))
        self.settle(sent)
        return time_us


def _sent(core: BrokerCore, link: Hop) -> list[LinkMessage]:
    return [each for hop, messages in core.take().outgoing if hop is link for each in messages]


def _told(message: LinkMessage) -> int:
    match message:
        case SubscriptionAdded() | SubscriptionWithdrawn():
            return 1
        case SubscriptionsReplaced():
            return len(message.added) + len(message.withdrawn)
        case _:
            return 0
