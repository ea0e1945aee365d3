"""One formal promise broken per function: what clients are told too early, and what comes too late."""

from collections.abc import Sequence

from broker.core.broker import BrokerCore
from broker.core.gates import Asker, Gates
from broker.core.hops import Hop
from broker.messages import LinkMessage

_due = Gates.due
_receive = BrokerCore.receive
_unsubscribe = BrokerCore.unsubscribe


def acknowledges_its_own_at_once(self: Gates, subscription: str) -> list[Asker]:
    """Tell local clients that a subscription is complete before any neighbour has acknowledged it (R7)."""
    own = [asker for asker in self._askers.get(subscription, ()) if asker.link is None]
    for asker in own:
        self.forget(subscription, asker.link)
    return [*own, *_due(self, subscription)]


def lets_them_leave_later(self: BrokerCore, subscription: str) -> None:
    """Go on delivering to a client that has unsubscribed until a neighbour has sent something more."""
    vars(self).setdefault("_leaving", []).append(subscription)


def lets_them_leave_now(self: BrokerCore, link: Hop, messages: Sequence[LinkMessage]) -> None:
    """Take what comes, and then let those go that have unsubscribed."""
    _receive(self, link, messages)
    for subscription in vars(self).pop("_leaving", ()):
        _unsubscribe(self, subscription)
