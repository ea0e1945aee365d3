"""One rule broken per function of what holds where routes stand for one another."""

from collections.abc import Iterable

from broker.core.attachment import Attachments
from broker.core.barrier import Barrier, Passed
from broker.core.gates import Arrivals, Gates
from broker.core.hops import Hop
from broker.core.subscribing import Neighbour, Subscribing
from broker.core.tables import RouteEntry
from broker.messages import AttachRequest

_route_replaced = Barrier.route_replaced


def breaks_before_it_makes(self: Subscribing, withdrawn: str, link: Hop, arrivals: Arrivals) -> None:
    """Withdraw what is replaced at once, although what serves in its place is not open yet (R7)."""
    del arrivals
    self.unsubscribe(withdrawn, link)


def rides_at_once(self: Subscribing, link: Hop, neighbour: Neighbour, entry: RouteEntry, number: int) -> None:
    """Open the gate of a subscription that has moved before the routes that it rides on have settled (R9)."""
    del self, link, neighbour, entry, number


def forgets_who_moved(self: Gates, told: str) -> bool:
    """Take what is told instead of something that has moved for something new (R9)."""
    del self, told
    return False


def trusts_every_name(self: Attachments, request: AttachRequest) -> bool:
    """Grant a request that names brokers of which news are on their way (R9)."""
    del self, request
    return False


def forgets_what_was_replaced(
    self: Barrier, subscription: str, link: Hop, instead: Iterable[str]
) -> list[Passed]:
    """Take a subscription that is replaced for one that is acknowledged (R6)."""
    del instead
    return _route_replaced(self, subscription, link, ())


def tells_no_crossing(self: Subscribing, link: Hop, neighbour: Neighbour) -> None:
    """Do not tell those who subscribed while what stands for them was still to cross a new link."""
    del self, link, neighbour
