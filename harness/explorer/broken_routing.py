"""One rule broken per function, of those that matter where routes cover one another."""

from collections.abc import Iterable

from broker.core.attachment import Attachments, Send
from broker.core.barrier import Barrier, Passed
from broker.core.gates import Arrivals, Gates
from broker.core.hops import Hop
from broker.core.subscribing import Neighbour, Subscribing
from broker.core.tables import RouteEntry
from broker.messages import AttachRequest

_route_replaced = Barrier.route_replaced
_ask = Attachments._ask


def breaks_before_it_makes(self: Subscribing, withdrawn: str, link: Hop, arrivals: Arrivals) -> None:
    """Withdraw a replaced route at once, although its replacement is not open yet (R7)."""
    del arrivals
    self.unsubscribe(withdrawn, link)


def rides_at_once(self: Subscribing, link: Hop, neighbour: Neighbour, entry: RouteEntry, number: int) -> None:
    """Open the gate of a moved subscription before the routes that it depends on have settled (R9)."""
    del self, link, neighbour, entry, number


def forgets_who_moved(self: Gates, announced: str) -> bool:
    """Forget that the announcement replaces one that has moved (R9)."""
    del self, announced
    return False


def says_nothing_of_ends(self: Attachments) -> list[Send]:
    """Ask to become a child without a word of publishers that have left."""
    self.has_ended = False
    return _ask(self)


def trusts_every_name(self: Attachments, request: AttachRequest) -> bool:
    """Grant a request that names brokers of which news are on their way (R9)."""
    del self, request
    return False


def forgets_what_was_replaced(
    self: Barrier, subscription: str, link: Hop, instead: Iterable[str]
) -> list[Passed]:
    """Count a replaced subscription as acknowledged (R6)."""
    del instead
    return _route_replaced(self, subscription, link, ())


def sends_no_crossing_gap(self: Subscribing, link: Hop, neighbour: Neighbour) -> None:
    """Send no gap to subscriptions whose cover had not crossed a new link when they began."""
    del self, link, neighbour
