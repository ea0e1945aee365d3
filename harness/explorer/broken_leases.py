"""Leases with one rule broken per function: each replaces a method of the product in a mutant."""

from collections.abc import Iterable, Mapping
from typing import Final
from weakref import WeakKeyDictionary

from broker.core.hops import Hop
from broker.core.leases import Leases, Repairs
from broker.core.routing import RoutingState
from broker.core.subscribing import Subscribing
from broker.filters import Filter
from broker.leases import SWEEPS
from broker.messages import LeaseListed, LeaseRenewed
from broker.routing import RouteFilter
from broker.routing.grouped import Grouped

_announced, _listed, _renewed = Leases._announced, Leases.listed, Leases.renewed

_SILENT: Final[WeakKeyDictionary[Leases, dict[Hop, int]]] = WeakKeyDictionary()
"""The sweeps on each link since the last renewal."""


def renews_nothing(self: Leases, message: LeaseRenewed, link: Hop) -> None:
    """Count every entry as left out when a renewal comes, although the digests agree."""
    del message
    _listed(self, LeaseListed(0, (), ()), link)


def announces_no_subscriptions(self: Leases, link: Hop) -> tuple[list[tuple[str, Filter]], list[RouteFilter]]:
    """Renew only advertisements."""
    return _announced(self, link)[0], []


def says_nothing(self: Leases) -> None:
    """Never renew announcements."""
    del self


def expires_by_time(self: Leases, expire_after: int) -> None:
    """Let an entry expire that was not renewed since earlier sweeps, although the link only stalls."""
    self.expire_after = expire_after
    for link in self._routing.links.values():
        _listed(self, LeaseListed(0, (), ()), link)


def expires_early(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Let an entry expire one list too early."""
    self.expire_after -= 1
    _listed(self, message, link)
    self.expire_after += 1


def expires_what_was_listed(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Count the listed entries as left out as well."""
    _listed(self, message, link)
    _listed(self, LeaseListed(0, (), ()), link)


def forgets_what_was_left_out(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Count from zero with every list, so that nothing expires."""
    self._left_out.pop(link, None)
    _listed(self, message, link)


def takes_in_nothing(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Add no entry that is missing, although the list has it."""
    del self, message, link


def asks_for_nothing(self: Leases, message: LeaseRenewed, link: Hop) -> None:
    """Never ask for the list."""
    del self, message, link


def repairs_nothing(self: Repairs) -> None:
    """Renew every announcement, right or wrong."""
    del self


def sends_no_gap(self: RoutingState, hop: Hop, contents: Iterable[Filter]) -> None:
    """Repair tables and send no gap to subscribers that may have missed events."""
    del self, hop, contents


def believes_its_candidates(self: Grouped, candidates: Mapping[str, RouteFilter]) -> bool:
    """Take what was chosen from for right, whatever it is."""
    del self, candidates
    return True


def breaks_what_is_announced_again(self: Subscribing, route: RouteFilter, link: Hop) -> bool:
    """Withdraw an entry that is announced again, and add it anew."""
    del self, route, link
    return False


def refreshes_like_the_thesis(self: Leases, link: Hop) -> tuple[list[tuple[str, Filter]], list[RouteFilter]]:
    """Renew a subscription only if no other hop has one like it.

    Each of two equal ones meets the other on its way and is suppressed, as new subscriptions are.
    """
    advertised, wanted = _announced(self, link)
    offered = self._routing.subscribing.neighbours[link].offered.values()
    hops: dict[Filter, set[Hop]] = {}
    for entry in offered:
        hops.setdefault(entry.filter, set()).add(entry.hop)
    return advertised, [route for route in wanted if len(hops[route.filter]) < 2]  # noqa: PLR2004 - two are equal


def counts_time(self: Leases, expire_after: int) -> None:
    """Let an entry expire that was not renewed for a lease, although its renewal waits for credit (V1)."""
    self.expire_after = expire_after
    silent = _SILENT.setdefault(self, {})
    for link in list(self._routing.links.values()):
        silent[link] = silent.get(link, 0) + 1
        if silent[link] > SWEEPS:
            for _ in range(expire_after):
                _listed(self, LeaseListed(0, (), ()), link)


def counts_a_renewal(self: Leases, message: LeaseRenewed, link: Hop) -> None:
    """Count the sweeps of a link from zero after a renewal."""
    _SILENT.setdefault(self, {})[link] = 0
    _renewed(self, message, link)
