"""Leases with one rule broken per function: what the mutants put in the place of a method of the product."""

from broker.core.hops import Hop
from broker.core.leases import Leases
from broker.core.mending import Mending
from broker.filters import Filter
from broker.messages import LeaseRenewed
from broker.routing import Wish

__all__ = [
    "forgets_subscriptions",
    "mends_nothing",
    "refreshes_like_the_thesis",
    "renews_nothing",
    "says_nothing",
    "sweeps_nothing",
]

_told = Leases._told


def renews_nothing(self: Leases, message: LeaseRenewed, link: Hop) -> None:
    """Let everything expire, although it is said again."""
    del message
    self._heard[link] = self._sweeps


def forgets_subscriptions(self: Leases, link: Hop) -> tuple[list[tuple[str, Filter]], list[Wish]]:
    """Say only advertisements again."""
    return _told(self, link)[0], []


def says_nothing(self: Leases) -> None:
    """Never say again what was told."""
    del self


def sweeps_nothing(self: Leases, patience: int) -> None:
    """Let nothing expire."""
    del self, patience


def mends_nothing(self: Mending) -> None:
    """Say again whatever was told, right or wrong."""
    del self


def refreshes_like_the_thesis(self: Leases, link: Hop) -> tuple[list[tuple[str, Filter]], list[Wish]]:
    """Say a subscription again only if no other hop has one like it.

    Each of two equal ones meets the other on its way and is suppressed, as new subscriptions are.
    """
    advertised, wanted = _told(self, link)
    offered = self._routing.subscribing.neighbours[link].offered.values()
    hops: dict[Filter, set[Hop]] = {}
    for entry in offered:
        hops.setdefault(entry.filter, set()).add(entry.hop)
    return advertised, [wish for wish in wanted if len(hops[wish.filter]) < 2]  # noqa: PLR2004 - two are equal
