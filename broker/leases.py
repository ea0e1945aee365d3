"""The times of leases: how often a broker renews, and how patient it is.

A broker renews every `refresh_s`. Something is wrong if a renewal leaves it out, and expires when so many
renewals in a row have done so as fit into `lease_s`. Renewals are counted and not the time between them, so
how long one is on its way makes nothing expire; the times here say only how soon what is wrong is right again
where links are as fast as `delay_max_s` says.
"""

from typing import Final

from attrs import field, frozen

from broker.errors import ConcordError

SWEEPS: Final = 4
"""The missed_renewals_max is written down so often while a lease lasts."""

REFRESHES: Final = 4
"""A broker renews so often while a lease lasts, unless something else is asked for."""

ROUND_TRIP: Final = 3
"""Where two brokers differ, one renews, the other asks, and the first lists: so many times over the link."""


class LeaseError(ConcordError):
    """Leases cannot work with these times."""


@frozen
class Terms:
    """What was agreed on. `delay_max_s` is the longest that a message is on its way over a link.

    Raises:
        LeaseError: a lease does not last for one renewal.
    """

    lease_s: float
    delay_max_s: float
    delay_min_s: float = 0.0
    refresh_s: float = field()

    @refresh_s.default
    def _refresh_s(self) -> float:
        return self.lease_s / REFRESHES

    def __attrs_post_init__(self) -> None:
        if self.lease_s < self.refresh_s:
            raise LeaseError(
                f"--lease {self.lease_s:g}: a lease must last for at least one renewal, and --lease-refresh "
                f"asks for one every {self.refresh_s:g} s: make the lease longer, or renew more often"
            )

    @property
    def missed_renewals_max(self) -> int:
        """How many renewals in a row have to leave something out before it expires."""
        return int(self.lease_s // self.refresh_s)

    @property
    def sweep_s(self) -> float:
        """How often the missed_renewals_max is written down."""
        return self.lease_s / SWEEPS

    def recovery_s(self, hops: int) -> float:
        """When everything is right again after the last corruption, in an overlay of that diameter.

        What is wrong expires after a lease and the last list; what follows from that travels there and back.
        """
        return self.lease_s + (ROUND_TRIP + 2 * hops) * self.delay_max_s

    def printed_s(self, hops: int) -> float:
        """The time that the literature gives for it; garbage that travels on can take longer."""
        return self.delay_max_s + hops * (self.delay_max_s - self.delay_min_s) + self.lease_s
