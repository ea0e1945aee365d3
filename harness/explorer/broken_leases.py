"""Leases with one rule broken per function: what the mutants put in the place of a method of the product."""

from collections.abc import Iterable
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

_announced, _told, _renewed = Leases._announced, Leases.listed, Leases.renewed

_SILENT: Final[WeakKeyDictionary[Leases, dict[Hop, int]]] = WeakKeyDictionary()
"""How many sweeps there were on each link since the last renewal."""


def renews_nothing(self: Leases, message: LeaseRenewed, link: Hop) -> None:
    """Ask for the list although the digests agree, and take every entry for left out."""
    del message
    _told(self, LeaseListed(0, (), ()), link)


def announces_no_subscriptions(self: Leases, link: Hop) -> tuple[list[tuple[str, Filter]], list[RouteFilter]]:
    """Renew only advertisements."""
    return _announced(self, link)[0], []


def says_nothing(self: Leases) -> None:
    """Never renew what was announced."""
    del self


def expires_by_time(self: Leases, patience: int) -> None:
    """Let expire what no renewal has come for since the sweeps before, although the link only stalls."""
    self.expire_after = patience
    for link in self._routing.links.values():
        _told(self, LeaseListed(0, (), ()), link)


def expires_early(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Let an entry expire one list too early."""
    self.expire_after -= 1
    _told(self, message, link)
    self.expire_after += 1


def expires_what_was_listed(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Take what the list has for left out as well."""
    _told(self, message, link)
    _told(self, LeaseListed(0, (), ()), link)


def forgets_what_was_left_out(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Begin to count anew with every list, so that nothing expires."""
    self._left_out.pop(link, None)
    _told(self, message, link)


def takes_in_nothing(self: Leases, message: LeaseListed, link: Hop) -> None:
    """Leave what is missing missing, although the list has it."""
    del self, message, link


def asks_for_nothing(self: Leases, message: LeaseRenewed, link: Hop) -> None:
    """Never ask for the list."""
    del self, message, link


def mends_nothing(self: Repairs) -> None:
    """Renew whatever was announced, right or wrong."""
    del self


def tells_no_gap(self: RoutingState, hop: Hop, contents: Iterable[Filter]) -> None:
    """Repair what was wrong and tell nobody who may have missed something."""
    del self, hop, contents


def breaks_what_is_announced_again(self: Subscribing, wish: RouteFilter, link: Hop) -> bool:
    """Withdraw an entry that is announced again, and begin with it anew."""
    del self, wish, link
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
    return advertised, [wish for wish in wanted if len(hops[wish.filter]) < 2]  # noqa: PLR2004 - two are equal


def counts_time(self: Leases, patience: int) -> None:
    """Let expire what was not renewed for a lease, although the renewal waits behind credit (V1)."""
    self.expire_after = patience
    silent = _SILENT.setdefault(self, {})
    for link in list(self._routing.links.values()):
        silent[link] = silent.get(link, 0) + 1
        if silent[link] > SWEEPS:
            for _ in range(patience):
                _told(self, LeaseListed(0, (), ()), link)


def hears_a_renewal(self: Leases, message: LeaseRenewed, link: Hop) -> None:
    """Begin to count anew."""
    _SILENT.setdefault(self, {})[link] = 0
    _renewed(self, message, link)
