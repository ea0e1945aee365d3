"""Two broker cores joined in memory: what one announces arrives at the other at once, in its order."""

from collections.abc import Iterable
from typing import Final

from attrs import define

from broker.core import BrokerCore, Hop
from broker.messages import LinkMessage
from broker.routing import DEFAULT, Routing
from ordering.pairwise import Pairwise

ROOM_BYTES: Final = 256 * 1024
"""The bytes that a replay may deliver at once."""


@define(eq=False)
class Pair:
    """A broker and the neighbour above it."""

    lower: BrokerCore
    upper: BrokerCore
    up: Hop
    down: Hop

    @classmethod
    def joined(cls, routing: Routing = DEFAULT) -> "Pair":
        """Two brokers that are attached to each other."""
        upper, lower = (BrokerCore(each, Pairwise, routing=routing) for each in ("U", "L"))
        pair = cls(lower, upper, lower.open_link("U", uplink=True), upper.open_link("L", uplink=False))
        pair.settle()
        return pair

    def settle(self, sent: Iterable[LinkMessage] = ()) -> int:
        """Let everything arrive; `sent` is on its way from the lower one already.

        Return how many publications local subscriptions got.
        """
        delivered, upwards = 0, list(sent)
        while True:
            below, said, is_busy = self._taken(self.lower)
            upwards += said
            if upwards:
                self.upper.receive(self.down, upwards)
            above, downwards, is_above_busy = self._taken(self.upper)
            if downwards:
                self.lower.receive(self.up, downwards)
            delivered += below + above
            if not (upwards or downwards or is_busy or is_above_busy):
                return delivered
            upwards = []

    def _taken(self, core: BrokerCore) -> tuple[int, list[LinkMessage], bool]:
        """Take what a core has to say: deliveries, messages for the other, and whether it has more to do."""
        effects, delivered, messages = core.take(), 0, list[LinkMessage]()
        for hop, said in effects.outgoing:
            if hop.is_link:
                messages += said
            else:
                delivered += len(said)
        for name in effects.replaying:
            core.replay_more(name, ROOM_BYTES)
        if effects.is_unfinished:
            core.continue_crossing()
        return delivered, messages, bool(effects.replaying or effects.is_unfinished)
