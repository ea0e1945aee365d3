"""One formal promise broken per function: acknowledgements come too early, or deliveries too late."""

from collections.abc import Sequence

from broker.core.broker import BrokerCore
from broker.core.hops import Hop
from broker.core.subscribing import Neighbour, Subscribing
from broker.core.tables import RouteEntry, route_filter_of
from broker.messages import LinkMessage

_complete_if_open = Subscribing._complete_if_open
_wait = Subscribing.wait
_receive = BrokerCore.receive
_unsubscribe = BrokerCore.unsubscribe


def acknowledges_its_own_at_once(self: Subscribing, entry: RouteEntry) -> None:
    """Acknowledge a local subscription before any neighbour has acknowledged it (R7)."""
    if entry.hop.is_link or entry.is_answered:
        _complete_if_open(self, entry)
    else:
        entry.is_answered = True
        self.subscribed.append(entry.id)


def opens_under_a_closed_cover(self: Subscribing, neighbour: Neighbour, entry: RouteEntry) -> list[str]:
    """Open the gate of a covered subscription before its cover is acknowledged (R7)."""
    route = route_filter_of(entry)
    covers = [neighbour.announced.routes[each] for each in neighbour.announced.covers_of(route)]
    if covers and all(each.item != route.item for each in covers):
        return []
    return _wait(self, neighbour, entry)


def lets_them_leave_later(self: BrokerCore, subscription: str) -> None:
    """Go on delivering to a client that has unsubscribed until a neighbour sends another message."""
    vars(self).setdefault("_leaving", []).append(subscription)


def lets_them_leave_now(self: BrokerCore, link: Hop, messages: Sequence[LinkMessage]) -> None:
    """Receive the messages, and then withdraw the subscriptions that were unsubscribed."""
    _receive(self, link, messages)
    for subscription in vars(self).pop("_leaving", ()):
        _unsubscribe(self, subscription)
