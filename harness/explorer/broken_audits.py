"""Audits with one rule broken, for mutants."""

from collections.abc import Mapping, Sequence

from broker.core.audit import LocalClients, StateAudit
from broker.core.hops import Hop
from broker.core.leases import Repairs
from broker.core.routing import RoutingState
from broker.core.subscribing import Neighbour
from broker.core.tables import RouteEntry, RoutingTables
from broker.filters import Filter
from ordering.interface import Emission, Hops, Note
from ordering.pairwise import Pairwise

_audit = Pairwise.audit
_questioned = Pairwise._questioned


def looks_at_nothing(
    self: Pairwise, uplink: Hops, links: Hops, hops: Hops
) -> tuple[bool, Sequence[Emission]]:
    """Take the state for right, whatever it is."""
    del self, uplink, links, hops
    return False, ()


def looks_at_no_item(self: Pairwise, links: Hops, hops: Hops) -> None:
    """Take all items, and the queue of those that await, for right."""


def asks_nothing(self: Pairwise, uplink: Hops, links: Hops, hops: Hops) -> tuple[bool, Sequence[Emission]]:
    """Make the state agree with itself, and not with the uplink's."""
    is_wrong, emissions = _audit(self, uplink, links, hops)
    self._since = None
    return is_wrong, [each for each in emissions if not isinstance(each.item, Note) or each.targets != uplink]


def answers_at_once(self: Pairwise, origin: Hops, content: tuple[int, ...]) -> Sequence[Emission]:
    """Answer a question past all acknowledgements that are pending."""
    if origin != self._uplink:
        return (Emission(Note(content), origin, 0),)
    return _questioned(self, origin, content)


def looks_at_no_client(self: StateAudit, clients: LocalClients, hops: Mapping[str, Hop]) -> None:
    """Take local entries for right, whatever they are."""


def looks_at_no_publisher(self: RoutingTables, publishers: Mapping[str, Filter]) -> int:
    """Take local advertisements for right, whatever they are."""
    del self, publishers
    return 0


def starts_no_barrier(self: RoutingState, publishers: Mapping[str, Filter]) -> int:
    """Let publishers wait for barriers that memory has lost."""
    del self, publishers
    return 0


def owes_nothing(self: Repairs, link: Hop, neighbour: Neighbour) -> list[RouteEntry]:
    """Take every acknowledgement for sent that an entry says was sent."""
    del self, link, neighbour
    return []


def sends_no_gap(self: RoutingState, entry: RouteEntry) -> None:
    """Restore a local subscription as if nothing could have been missed."""
    self.subscribing.restore(entry)
    self.report()


def notifies_nobody(self: StateAudit, entry: RouteEntry, *, is_notified: bool) -> None:
    """Believe what an entry says about its client's notification."""
    del self, entry, is_notified
