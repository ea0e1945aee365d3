"""The times of leases: how often a broker renews, and when an entry expires.

A broker renews every `refresh_s`. An entry that a renewal leaves out is wrong; it expires when as many
renewals in a row have left it out as fit into `lease_s`. Renewals are counted and not the time between them,
so no delay of a renewal makes an entry expire; the times here only limit how soon a wrong entry is repaired
where links are as fast as `delay_max_s`.
"""

from typing import Final

from attrs import field, frozen

from broker.errors import ConcordError

SWEEPS: Final = 4
"""`missed_renewals_max` is recorded so often while a lease lasts."""

REFRESHES: Final = 4
"""A broker renews so often while a lease lasts, unless an option sets another interval."""

ROUND_TRIP: Final = 3
"""Where two brokers differ, one renews, the other asks, and the first lists: so many times over the link."""


class LeaseError(ConcordError):
    """Leases cannot work with these times."""


@frozen
class Terms:
    """The times of leases. `delay_max_s` is the longest that a message is on its way over a link.

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
        """Return how many renewals in a row leave an entry out until it expires."""
        return int(self.lease_s // self.refresh_s)

    @property
    def sweep_s(self) -> float:
        """The interval at which `missed_renewals_max` is recorded."""
        return self.lease_s / SWEEPS

    def recovery_s(self, hops: int) -> float:
        """Return when every entry is right again after the last corruption, in an overlay of that diameter.

        A wrong entry expires after a lease and the last list; the consequences travel there and back.
        """
        return self.lease_s + (ROUND_TRIP + 2 * hops) * self.delay_max_s

    def printed_s(self, hops: int) -> float:
        """Return the time that the literature gives; wrong entries that are forwarded can take longer."""
        return self.delay_max_s + hops * (self.delay_max_s - self.delay_min_s) + self.lease_s
